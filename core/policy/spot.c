/* SPDX-License-Identifier: Apache-2.0 */
/* spot: on any notice that the machine will be taken away, save and suspend (P-04). The runner's standing orders do the same by themselves; this
 * row is for a runner that has not, and for the record. Without a notice: a job whose state has outgrown what a notice can save moves to
 * on-demand (P-05). */
#include "policy/words.h"

static struct policy_decision noticed(
        const struct policy_job *j, const struct policy_machine *m, const struct settings *s, int64_t now_wall_us)
{
        static const char what[] = "its machine will be taken away";
        struct policy_decision d;
        char at[QUANTITY_MAX];

        if (!s->spot)
                return policy_keep("spot", INT64_MAX, "%s, but spot is off", what);
        if (!policy_runs(j))
                return policy_keep("spot", INT64_MAX,
                        "%s, but there is nothing to save: its container does not run, or is being ended", what);
        (void)time_format_utc(m->notice_wall_us, at);
        if (policy_outranks(j, CAUSE_NOTICE) && policy_last_word(j, s, CAUSE_NOTICE, m->notice_wall_us, now_wall_us))
                return policy_acts(
                        "spot", POLICY_TERM, CAUSE_NOTICE, now_wall_us, "%s at %s, and the save was refused", what, at);
        if (policy_held("spot", j, CAUSE_NOTICE, now_wall_us, what, &d)) {
                policy_review_last_word(&d, j, s, CAUSE_NOTICE, m->notice_wall_us, now_wall_us);
                return d;
        }
        return policy_acts("spot", POLICY_SUSPEND, CAUSE_NOTICE, now_wall_us, "%s at %s", what, at);
}

static struct policy_decision warned(int64_t review_wall_us, const char *why)
{
        struct policy_decision d =
                policy_keep("spot", review_wall_us, "its state is more than a notice of its machine can save, %s", why);

        d.warn = true;
        return d;
}

/* P-05: more than the notice can save; can: how much that is. The first on-demand offer in placement's order. */
static struct policy_decision over(const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us, uint64_t can)
{
        char state[QUANTITY_MAX], saves[QUANTITY_MAX], rate[QUANTITY_MAX];
        struct policy_decision d;

        if (!s->spot_move_when_over)
                return warned(INT64_MAX, "and spot.move_when_over is off");
        if (j->pinned)
                return warned(INT64_MAX, "and it is pinned to one offer by --on");
        if (policy_held(
                    "spot", j, CAUSE_MOVE, now_wall_us, "its state is more than a notice of its machine can save", &d))
                return d;
        for (size_t i = 0; i < j->offers_n; i++) {
                const struct policy_offer *o = &j->offers[i];

                if (o->spot || policy_barred(j, m, x, o, now_wall_us))
                        continue;
                return policy_move("spot", j, i, now_wall_us,
                        "its state of %s is more than the %s that a notice can save: to %.48s, on demand, at %s",
                        size_format(x->state_bytes, state), size_format(can, saves), o->name,
                        rate_format(&o->rate, rate));
        }
        return warned(policy_later(now_wall_us, s->look_every_us), "and no on-demand offer may be chosen");
}

static struct policy_decision of_state(const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us)
{
        struct policy_decision d;
        char most[QUANTITY_MAX];
        uint64_t can;

        if (!market_can_save(&m->notice, &can)) {
                d = policy_keep("spot", INT64_MAX,
                        "no notice on its spot machine; how much of its state one could save was not learned yet");
                d.warn = true;
                return d;
        }
        if (x->state_bytes > can)
                return over(j, m, x, s, now_wall_us, can);
        d = policy_keep("spot", INT64_MAX, "no notice on its spot machine, and one could save its state");
        policy_would(&d, "on a notice, or with a state over %s", size_format(can, most));
        return d;
}

struct policy_decision policy_spot(POLICY_ARGS)
{
        if (m && m->notice_wall_us != 0)
                return noticed(j, m, s, now_wall_us);
        if (!m || !m->spot)
                return policy_keep("spot", INT64_MAX, "no notice on its machine");
        if (!s->spot || !policy_runs(j) || !x || x->state_bytes == 0)
                return policy_keep("spot", INT64_MAX, "no notice on its spot machine");
        return of_state(j, m, x, s, now_wall_us);
}
