/* SPDX-License-Identifier: Apache-2.0 */
/* Did an automatic move pay? What its stay cost, as the ledger counted it, against the machine that was left. */
#include "executor/move.h"

/* The baseline of what this stay costs: see move_stay_over(). */
void move_count_from_here(struct turn *t, struct entry *en)
{
        struct job after = en->job;
        struct policy_job pj = { 0 };
        struct policy_machine pm = { 0 };
        char names[128];

        if (!after.left_rate_nano)
                return;
        money_gather(t->engine, en, &pj, &pm, names);
        if (pj.spent.currency[0])
                after.move_cost_nano -= pj.spent.nano;
        else
                after.left_rate_nano = after.move_cost_nano = 0;
        job_touch(t, en, after, NULL);
}

/* What the stay cost together with its move, against what the machine that was left would have cost in the same time. */
void move_stay_over(struct turn *t, const struct entry *en, struct job *after)
{
        struct policy_job pj = { 0 };
        struct policy_machine pm = { 0 };
        int64_t stay = t->now_wall_us - after->moved_wall_us;
        char names[128], why[200], cost[QUANTITY_MAX], kept[QUANTITY_MAX];
        struct money paid, left;

        if (!after->left_rate_nano || after->move == MOVE_HANDED || after->move == MOVE_BACK) {
                after->left_rate_nano = after->move_cost_nano = 0; /* that stay never began */
                return;
        }
        money_gather(t->engine, en, &pj, &pm, names);
        paid = left = pj.spent;
        paid.nano += after->move_cost_nano;
        left.nano = (int64_t)((__int128)after->left_rate_nano * (stay > 0 ? stay : 0) / USEC_PER_HOUR);
        if (pj.spent.currency[0] && paid.nano > left.nano) {
                after->moves_lost = (uint8_t)(after->moves_lost + (after->moves_lost < UINT8_MAX));
                (void)str_format(why, sizeof why,
                        "the last automatic move cost more than it saved: %s, against %s on the machine that it left",
                        money_format(&paid, cost), money_format(&left, kept));
                act_decision(t, after->id, "move", "lost", why, NULL, NULL);
        }
        after->left_rate_nano = after->move_cost_nano = 0;
}
