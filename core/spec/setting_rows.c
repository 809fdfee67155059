/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies go by: one row a key (P-23). A new key is a row here and a member of struct settings. */
#include "spec/spec.h"

#define MEMBER(member_) .offset = offsetof(struct settings, member_)
#define YEAR (365 * USEC_PER_DAY)

const struct setting_row setting_rows[] = {
        { .key = "ttl",
                .type = SPEC_DURATION,
                .fallback = "72h",
                .may_be_off = true,
                .flag = "--ttl",
                MEMBER(ttl_us),
                .min = USEC_PER_SEC,
                .max = YEAR,
                .help = "Running time after which the job is stopped; a suspended job ends this long after its term "
                        "began." },
        { .key = "ttl.keep",
                .type = SPEC_DURATION,
                .fallback = "7d",
                MEMBER(ttl_keep_us),
                .min = USEC_PER_SEC,
                .max = YEAR,
                .help = "How long the checkpoint is kept after ttl ended the job." },
        { .key = "spot",
                .type = SPEC_BOOL,
                .fallback = "on",
                MEMBER(spot),
                .help = "On a notice that the machine will be taken away: save and suspend." },
        { .key = "spot.use",
                .type = SPEC_BOOL,
                .fallback = "on",
                .flag = "--spot",
                MEMBER(spot_use),
                .help = "The job may run on spot machines; off: it is never placed on or moved to one." },
        { .key = "spot.move_when_over",
                .type = SPEC_BOOL,
                .fallback = "on",
                MEMBER(spot_move_when_over),
                .help = "Move off a spot machine when the state is larger than a notice can save." },
        { .key = "budget",
                .type = SPEC_MONEY,
                .fallback = "off",
                .may_be_off = true,
                .flag = "--budget",
                MEMBER(budget),
                .min = 1,
                .max = INT64_MAX,
                .help = "The most that the job may cost." },
        { .key = "budget.action",
                .type = SPEC_CHOICE,
                .fallback = "suspend",
                .choices = "suspend|stop",
                .flag = "--budget-action",
                MEMBER(budget_stop),
                .help = "What happens a little before the budget is spent." },
        { .key = "oom",
                .type = SPEC_BOOL,
                .fallback = "on",
                MEMBER(oom),
                .help = "On a recoverable out-of-memory error: save and suspend." },
        { .key = "idle",
                .type = SPEC_BOOL,
                .fallback = "on",
                .flag = "--idle",
                MEMBER(idle),
                .help = "Save and suspend a job that makes no progress and uses hardly any CPU." },
        { .key = "idle.after",
                .type = SPEC_DURATION,
                .fallback = "30m",
                MEMBER(idle_after_us),
                .min = USEC_PER_SEC,
                .max = 30 * USEC_PER_DAY,
                .help = "How long it must have been so." },
        { .key = "idle.cpu",
                .type = SPEC_PERCENT,
                .fallback = "5%",
                MEMBER(idle_cpu_percent),
                .min = 1,
                .max = 10000,
                .help = "Below this share of one core, on average, a job counts as idle." },
        { .key = "lifetime.before",
                .type = SPEC_DURATION,
                .fallback = "30m",
                .may_be_off = true,
                MEMBER(lifetime_before_us),
                .min = USEC_PER_SEC,
                .max = USEC_PER_DAY,
                .help = "How long before a provider's fixed limit on a machine's life the job is saved and "
                        "suspended." },
        { .key = "lease.horizon",
                .type = SPEC_DURATION,
                .fallback = "1h",
                MEMBER(lease_horizon_us),
                .min = 5 * USEC_PER_SEC,
                .max = USEC_PER_DAY,
                .help = "How far ahead each machine's hard stop is kept." },
        { .key = "lease.renew",
                .type = SPEC_DURATION,
                .fallback = "10m",
                MEMBER(lease_renew_us),
                .min = USEC_PER_SEC,
                .max = 12 * USEC_PER_HOUR,
                .help = "How often it is moved ahead; less than lease.horizon." },
        { .key = "return",
                .type = SPEC_BOOL,
                .fallback = "on",
                .flag = "--return",
                MEMBER(ret),
                .help = "Off spot, look for a spot offer to move back to." },
        { .key = "cheaper",
                .type = SPEC_BOOL,
                .fallback = "on",
                .flag = "--cheaper",
                MEMBER(cheaper),
                .help = "Look for a cheaper offer to move to." },
        { .key = "rightsize",
                .type = SPEC_BOOL,
                .fallback = "on",
                MEMBER(rightsize),
                .help = "On a move, choose CPU and memory by what the job was measured to use." },
        { .key = "look.every",
                .type = SPEC_DURATION,
                .fallback = "10m",
                MEMBER(look_every_us),
                .min = USEC_PER_SEC,
                .max = USEC_PER_DAY,
                .help = "How often return and cheaper look." },
        { .key = "move.cooldown",
                .type = SPEC_DURATION,
                .fallback = "30m",
                MEMBER(move_cooldown_us),
                .min = 0,
                .max = 7 * USEC_PER_DAY,
                .help = "How long after a move they do not look." },
        { .key = "pool.cooldown",
                .type = SPEC_DURATION,
                .fallback = "30m",
                MEMBER(pool_cooldown_us),
                .min = 0,
                .max = 7 * USEC_PER_DAY,
                .help = "How long a reclaimed spot pool is left out." },
        { .key = "check.every",
                .type = SPEC_DURATION,
                .fallback = "60s",
                MEMBER(check_every_us),
                .min = USEC_PER_SEC,
                .max = USEC_PER_HOUR,
                .help = "How often the policies look at a running job." },
        { .key = "expect",
                .type = SPEC_DURATION,
                .fallback = "off",
                .may_be_off = true,
                .flag = "--expect",
                MEMBER(expect_us),
                .min = USEC_PER_SEC,
                .max = YEAR,
                .help = "The total running time that you expect: moves are weighed with it." },
        { .key = "checkpoint.keep",
                .type = SPEC_DURATION,
                .fallback = "3d",
                MEMBER(keep_us),
                .min = USEC_PER_SEC,
                .max = YEAR,
                .help = "How long the checkpoint of a suspended job is kept; then the job fails." },
        { .key = "save.deadline",
                .type = SPEC_DURATION,
                .fallback = "10m",
                MEMBER(save_deadline_us),
                .min = USEC_PER_SEC,
                .max = USEC_PER_DAY,
                .help = "How long a save may take; on a notice, the notice's own time is the limit." },
        { .key = "stop.grace",
                .type = SPEC_DURATION,
                .fallback = "20s",
                MEMBER(stop_grace_us),
                .min = 0,
                .max = 10 * USEC_PER_MIN,
                .help = "Time between SIGTERM and SIGKILL when a job is stopped." },
};
const size_t setting_rows_n = ARRAY_LEN(setting_rows);

const struct setting_row *setting_find(const char *key)
{
        for (size_t i = 0; i < setting_rows_n; i++)
                if (streq(setting_rows[i].key, key))
                        return &setting_rows[i];
        return NULL;
}

static bool is_no_flag(const struct setting_row *row, const char *flag)
{
        return row->type == SPEC_BOOL && str_starts(flag, "--no-") && streq(flag + 5, row->flag + 2);
}

const struct setting_row *setting_by_flag(const char *flag)
{
        for (size_t i = 0; i < setting_rows_n; i++)
                if (setting_rows[i].flag && (streq(setting_rows[i].flag, flag) || is_no_flag(&setting_rows[i], flag)))
                        return &setting_rows[i];
        return NULL;
}

const char *setting_flag_value(const struct setting_row *row, const char *flag)
{
        if (row->type != SPEC_BOOL)
                return NULL;
        return is_no_flag(row, flag) ? "off" : "on";
}

const char *setting_no_flag(const struct setting_row *row, char *buf)
{
        (void)str_format(buf, SETTING_FLAG_MAX, "--no-%s", row->flag + 2);
        return buf;
}

const char *setting_nearest(const char *key)
{
        const char *names[ARRAY_LEN(setting_rows) + 1] = { NULL };

        for (size_t i = 0; i < setting_rows_n; i++)
                names[i] = setting_rows[i].key;
        return str_nearest(key, names);
}
