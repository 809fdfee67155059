/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/life.h"

static const char *const names[] = {
#define PHASE_NAME(name_, text_) [PHASE_##name_] = text_,
        PHASES(PHASE_NAME)
#undef PHASE_NAME
};

/* Each phase may also stay as it is: other members of the record change. */
static const uint32_t may_go[PHASE_N] = {
        [PHASE_PREPARING] = BIT(PHASE_RUNNING) | BIT(PHASE_EXITED) | BIT(PHASE_FAILED), /* exited: it was that quick */
        [PHASE_RUNNING] = BIT(PHASE_SAVING) | BIT(PHASE_EXITED),
        [PHASE_SAVING] = BIT(PHASE_RUNNING) | BIT(PHASE_HELD) | BIT(PHASE_EXITED),
        [PHASE_HELD] = BIT(PHASE_EXITED), /* and, thawed, to running: only under a newer generation */
        [PHASE_EXITED] = 0,
        [PHASE_FAILED] = 0,
};
static_assert(PHASE_N <= 32, "one bit a phase");

const char *phase_text(enum phase p)
{
        return names[p];
}

bool phase_parse(const char *text, enum phase *ret)
{
        for (int p = 0; p < PHASE_N; p++)
                if (streq(text, names[p])) {
                        *ret = (enum phase)p;
                        return true;
                }
        return false;
}

bool phase_may_begin(enum phase p)
{
        return p == PHASE_PREPARING;
}

bool phase_may_go(enum phase from, enum phase to, bool renewed)
{
        if (renewed) /* only what has ended here makes room, and it begins at the beginning; or what was held for a move is thawed */
                return (may_go[from] == 0 && phase_may_begin(to)) || (from == PHASE_HELD && to == PHASE_RUNNING);
        return from == to || (may_go[from] & BIT(to));
}
