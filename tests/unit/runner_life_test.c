/* SPDX-License-Identifier: Apache-2.0 */
/* Every pair of phases, with and without a newer generation: the edges written here again by hand are the only ones. */
#include "runner/life.h"
#include "tap.h"

static const struct {
        enum phase from, to;
        const char *name;
} edges[] = {
        { PHASE_PREPARING, PHASE_RUNNING, "what was prepared runs" },
        { PHASE_PREPARING, PHASE_EXITED, "it ran and ended before anybody looked" },
        { PHASE_PREPARING, PHASE_FAILED, "it could not be started" },
        { PHASE_RUNNING, PHASE_SAVING, "a running job is saved" },
        { PHASE_RUNNING, PHASE_EXITED, "a running job ends" },
        { PHASE_SAVING, PHASE_RUNNING, "law 10: a save that is refused leaves it running" },
        { PHASE_SAVING, PHASE_HELD, "a committed save holds it until it has ended" },
        { PHASE_SAVING, PHASE_EXITED, "it ends while it is saved" },
        { PHASE_HELD, PHASE_EXITED, "law 11: what is held only ends, under its own generation" },
};

static bool listed(enum phase from, enum phase to)
{
        for (size_t i = 0; i < ARRAY_LEN(edges); i++)
                if (edges[i].from == from && edges[i].to == to)
                        return true;
        return from == to;
}

int main(void)
{
        int wrong = 0, wrong_renewed = 0;
        enum phase p;

        for (size_t i = 0; i < ARRAY_LEN(edges); i++)
                tap_ok(phase_may_go(edges[i].from, edges[i].to, false), "%s", edges[i].name);
        for (int from = 0; from < PHASE_N; from++)
                for (int to = 0; to < PHASE_N; to++) {
                        bool over = from == PHASE_EXITED || from == PHASE_FAILED;

                        wrong += phase_may_go((enum phase)from, (enum phase)to, false) !=
                                 listed((enum phase)from, (enum phase)to);
                        wrong_renewed +=
                                phase_may_go((enum phase)from, (enum phase)to, true) !=
                                ((over && to == PHASE_PREPARING) || (from == PHASE_HELD && to == PHASE_RUNNING));
                }
        tap_int(wrong, 0, "no other edge is allowed");
        tap_int(wrong_renewed, 0,
                "law 2: a newer generation begins only where the one before has ended, or runs on from what was held");
        for (int i = 0; i < PHASE_N; i++)
                tap_ok(phase_parse(phase_text((enum phase)i), &p) && p == (enum phase)i, "\"%s\" is read as written",
                        phase_text((enum phase)i));
        tap_ok(!phase_parse("asleep", &p), "another word is none");
        return tap_done();
}
