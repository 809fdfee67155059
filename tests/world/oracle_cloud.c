/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle at the clouds: what portald asks of them, and what is truly there; a bill of its own, in integers of 128 bits. */
#include <sqlite3.h>
#include <string.h>

#include "world/oracle_parts.h"

#define CALLS_AN_HOUR 3000  /* of one connection: lists, looks, notices */
#define CHANGES_AN_HOUR 600 /* creates, ends and renewals */
#define CALL_MAX_US (5 * USEC_PER_MIN)
#define STOP_MAX_US (26 * USEC_PER_HOUR)
#define DEAD_MAX_US (27 * USEC_PER_HOUR)
#define CENT_NANO INT64_C(10000000)

static struct world_connection *connection_of(const struct oracle *o, const char *name)
{
        vec_foreach (c, &o->w->connections)
                if (streq((*c)->name, name))
                        return *c;
        return NULL;
}

static struct sim_machine *runner_of(const struct oracle *o, const struct world_connection *c, const char *id)
{
        vec_foreach (m, &o->w->machines)
                if ((*m)->connection == c && streq((*m)->name, id))
                        return *m;
        return NULL;
}

/* --- the bill --- */
static __int128 hours(int64_t nano_hour, int64_t us)
{
        const __int128 hour = USEC_PER_HOUR;

        return us > 0 ? ((__int128)nano_hour * us + hour - 1) / hour : 0;
}

/* All of it up to an instant, at no price above the ceiling; from its last price on, that one. */
static __int128 bill(const struct cloud_machine *m, const struct cloud_params *p, int64_t until, int64_t ceiling)
{
        __int128 sum = 0;
        int64_t least = m->created_wall_us + p->minimum_us, price = 0, from = m->created_wall_us;

        if (until < least)
                until = least;
        if (p->step_us)
                until += (p->step_us - (until - m->created_wall_us) % p->step_us) % p->step_us;
        for (size_t i = 0; i < m->segments_n; i++) {
                int64_t end = i + 1 < m->segments_n ? m->segments[i + 1].from_wall_us : until;

                from = m->segments[i].from_wall_us;
                price = m->segments[i].price_nano_hour < ceiling ? m->segments[i].price_nano_hour : ceiling;
                if (from < until)
                        sum += hours(price, (end < until ? end : until) - from);
        }
        return sum;
}

/* What a machine of it costs at worst: spot costs as much as on demand, and no more counts as foreseen. */
static int64_t ceiling_of(struct cloud *c, const struct cloud_machine *m)
{
        struct pd_offer its, other;
        int64_t most;

        if (!cloud_offer(c, m->offer, &its))
                return INT64_MAX;
        most = m->ceiling_nano_hour ? m->ceiling_nano_hour : its.price_nano_hour;
        for (uint32_t i = 0; !m->ceiling_nano_hour && cloud_offer(c, i, &other); i++)
                if (streq(other.zone, its.zone) && streq(other.type, its.type) && other.price_nano_hour > most &&
                        other.market == PD_MARKET_ON_DEMAND)
                        most = other.price_nano_hour;
        return most;
}

/* Law 6: what was spent there, and what is there at worst, right after an act that changed it. */
struct sum {
        struct oracle *o;
        const struct world_connection *c;
        struct cloud *cloud;
        int64_t now;
        __int128 nano;
};

static int add_worst(void *arg, const struct cloud_machine *m)
{
        struct sum *s = arg;
        const struct cloud_params *p = cloud_params(s->cloud);
        const struct sim_machine *runner = runner_of(s->o, s->c, m->id);
        int64_t until = m->bill_end_wall_us, stop = m->stop_wall_us;

        if (m->foreign || m->leftover)
                return 0;
        if (stop == CLOUD_NEVER)
                stop = runner && runner->stop_wall_us ? runner->stop_wall_us
                                                      : js_int(s->c->first_stops, m->token, s->now);
        if (until == CLOUD_NEVER)
                until = (stop > s->now ? stop : s->now) + p->stop_lag_us;
        s->nano += bill(m, p, until, ceiling_of(s->cloud, m));
        return 0;
}

void oracle_money(struct oracle *o)
{
        const struct world_connection *c = o->money_due;
        struct sum s = { .o = o, .c = c, .cloud = world_cloud_of(c), .now = world_cloud_wall_us(o->w) };

        o->money_due = NULL;
        if (!o->money_cap_nano || o->skewed)
                return;
        oracle_held(o, 6);
        (void)cloud_each(s.cloud, add_worst, &s);
        if (s.nano > o->money_cap_nano + CENT_NANO / 1000)
                oracle_broken(o, 6, "%s: spent and at worst %lld nano, and the cap is %lld", c->name, (long long)s.nano,
                        (long long)o->money_cap_nano);
}

/* --- calls, before they have an effect --- */
static void count(struct oracle *o, const struct world_connection *c, const char *slot)
{
        size_t at = 0;
        int64_t hour = o->w->boot_us / USEC_PER_HOUR;
        bool change = streq(slot, "launch") || streq(slot, "terminate") || streq(slot, "renew");

        while (o->w->connections.at[at] != c)
                at++;
        if (at >= ARRAY_LEN(o->calls))
                return;
        if (o->calls[at].hour != hour)
                o->calls[at].all = o->calls[at].changes = 0;
        o->calls[at].hour = hour;
        o->calls[at].all++;
        o->calls[at].changes += change;
        oracle_held(o, 26);
        if (o->calls[at].all > CALLS_AN_HOUR || o->calls[at].changes > CHANGES_AN_HOUR)
                oracle_broken(o, 26, "%u calls of %s in an hour, %u of them changes, the last is \"%s\"",
                        o->calls[at].all, c->name, o->calls[at].changes, slot);
}

static void check_launch(struct oracle *o, const struct world_connection *c, const json_t *args, const char *token)
{
        int64_t stop = js_int(args, "stop_wall_us", 0), now = o->w->wall_us;

        /* a call that was under way when the clock stepped back was made by what it had shown before */
        if (o->w->boot_us - o->stepped_boot_us < CALL_MAX_US && o->stepped_from_wall_us > now)
                now = o->stepped_from_wall_us;
        oracle_held(o, 8);
        oracle_held(o, 4);
        if (stop <= 0 || stop > now + STOP_MAX_US)
                oracle_broken(o, 8, "N-05 a machine of %s is to have its hard stop in %lld s", c->name,
                        (long long)((stop - now) / USEC_PER_SEC));
        if (!*js_str(json_object_get(args, "tags"), "portald-installation", ""))
                oracle_broken(o, 9, "N-06 a machine of %s is to be made without our tag", c->name);
        if (!token || oracle_disk_int(o,
                              "SELECT count(*) FROM intent WHERE closed_wall_us=0 AND kind='launch' AND body LIKE "
                              "'%\"connection\":\"' || ?1 || '\"%'",
                              c->name, NULL) < 1)
                oracle_broken(o, 4, "a launch reached %s and no open intent on disk says so", c->name);
        oracle_held(o, 7);
        if (c->cap_nano && oracle_disk_int(o, "SELECT count(*) FROM ledger_hold WHERE state='open'", NULL, NULL) < 1)
                oracle_broken(o, 6, "a launch reached %s and nothing is reserved", c->name);
}

static void check_end(struct oracle *o, const struct world_connection *c, const char *id)
{
        const struct cloud_machine *of = cloud_machine(world_cloud_of(c), id);
        const struct sim_machine *m = runner_of(o, c, id);
        int64_t now = world_cloud_wall_us(o->w);

        for (size_t i = 0; m && i < m->jobs.n; i++) {
                const struct sim_job *s = m->jobs.at[i];
                const struct oracle_job *j = oracle_job(o, s->job);

                if (!s->used || !j)
                        continue;
                oracle_held_ends(o, s, "the end of its machine");
                oracle_held(o, 11);
                if (streq(s->phase, "running") && streq(j->state, "running") &&
                        j->generation == (int64_t)s->generation && !o->skewed && of->stop_wall_us != CLOUD_NEVER &&
                        of->stop_wall_us > now)
                        oracle_broken(o, 11, "%s is ended, and %s runs there", m->endpoint, j->id);
        }
}

static void check_ours(struct oracle *o, const struct world_connection *c, const char *slot, const json_t *args)
{
        const struct cloud_machine *m = cloud_machine(world_cloud_of(c), js_str(args, "id", ""));

        oracle_held(o, 9);
        if (!*js_str(json_object_get(args, "expect_tags"), "portald-installation", ""))
                oracle_broken(o, 9, "N-06 \"%s\" of %s does not say whose machine it must be", slot, c->name);
        if (m && m->foreign)
                oracle_broken(o, 9, "N-06 \"%s\" of %s, which is not ours", slot, m->id);
}

void oracle_plugin(struct oracle *o, const char *connection, const char *slot, const json_t *args, const char *token)
{
        const struct world_connection *c = connection_of(o, connection);
        bool changes = streq(slot, "terminate") || streq(slot, "renew");

        if (!c)
                return;
        count(o, c, slot);
        if (streq(slot, "launch") || changes)
                oracle_log(o, "=> %s %s %s", c->name, slot, js_str(args, "id", js_str(args, "type", "")));
        if (c->own) {
                oracle_held(o, 17);
                if (streq(slot, "terminate"))
                        oracle_broken(o, 17, "an own machine was ended");
                return;
        }
        if (streq(slot, "launch"))
                check_launch(o, c, args, token);
        if (changes)
                check_ours(o, c, slot, args);
        if (streq(slot, "terminate"))
                check_end(o, c, js_str(args, "id", ""));
        if (streq(slot, "launch") || streq(slot, "renew"))
                o->money_due = c, o->money_cap_nano = c->cap_nano;
        if (streq(slot, "renew"))
                o->renewals++;
}

void oracle_machine(struct oracle *o, const struct sim_machine *m)
{
        const struct cloud_machine *of =
                m->connection->cloud ? cloud_machine(world_cloud_of(m->connection), m->name) : NULL;

        if (!m->gone)
                o->machines++;
        else if (of && of->reason == PD_REASON_RECLAIM)
                o->reclaims++;
        oracle_log(o, "   %s is %s %d", m->endpoint + 4, m->gone ? "gone" : "up", of ? (int)of->reason : 0);
}

bool oracle_cloud_noticed(const struct oracle *o, const struct sim_machine *m)
{
        const struct cloud_machine *of =
                m->connection && m->connection->cloud ? cloud_machine(world_cloud_of(m->connection), m->name) : NULL;

        return of && of->said_wall_us && of->notice_wall_us <= world_cloud_wall_us(o->w);
}

/* --- at the end --- */
static int is_there(void *arg, const struct cloud_machine *m)
{
        struct sum *s = arg;

        if (m->foreign)
                return 0;
        oracle_held(s->o, 24);
        oracle_held(s->o, 9);
        if (m->gone_wall_us == CLOUD_NEVER)
                oracle_broken(s->o, 24, "%s at %s is still %d after a quiet week, made %lld h ago", m->id, s->c->name,
                        (int)m->state, (long long)((s->now - m->created_wall_us) / USEC_PER_HOUR));
        return 0;
}

static int foreign_is_there(void *arg, const struct cloud_machine *m)
{
        struct sum *s = arg;

        if (m->foreign && (m->state == PD_MACHINE_GONE || m->reason == PD_REASON_USER))
                oracle_broken(s->o, 9, "N-06 a machine of somebody else is gone at %s", s->c->name);
        return 0;
}

/* Law 7: the ledger's lines, counted anew: time at one price is rounded up once, however it was sliced. A price that changed and came back while the
 * clock stood behind what is posted makes a segment that no line shows: one nano more for each step back, and none without. */
static void count_lines(struct oracle *o)
{
        sqlite3_stmt *st = NULL;
        char what[80] = "", now[80];
        int64_t price = -1, us = 0, steps = (int64_t)o->w->struck[WORLD_FAULT_CLOCK_BACK];
        __int128 posted = 0;

        if (sqlite3_prepare_v2(o->db,
                    "SELECT hex(what), kind, price_nano_hour, us, nano FROM ledger_line ORDER BY what, seq", -1, &st,
                    NULL) != SQLITE_OK)
                return;
        while (sqlite3_step(st) == SQLITE_ROW && !o->law) {
                if (!streq((const char *)sqlite3_column_text(st, 1), "time") || sqlite3_column_int64(st, 4) < 0) {
                        price = -1;
                        continue;
                }
                (void)str_format(now, sizeof now, "%s", (const char *)sqlite3_column_text(st, 0));
                if (!streq(now, what) || sqlite3_column_int64(st, 2) != price)
                        us = 0, posted = 0;
                memcpy(what, now, sizeof what);
                price = sqlite3_column_int64(st, 2);
                us += sqlite3_column_int64(st, 3);
                posted += sqlite3_column_int64(st, 4);
                oracle_held(o, 7);
                if (posted < hours(price, us) || posted > hours(price, us) + steps)
                        oracle_broken(o, 7, "%lld us at %lld nano an hour are posted as %lld nano", (long long)us,
                                (long long)price, (long long)posted);
        }
        (void)sqlite3_finalize(st);
}

/* Was anything in the way of asking the provider for its bill? */
static bool bill_was_to_be_had(const struct oracle *o, const struct world_connection *c)
{
        static const enum world_fault ways[] = { WORLD_FAULT_PLUGIN_FAILS, WORLD_FAULT_CALL_LOST,
                WORLD_FAULT_CALL_UNANSWERED, WORLD_FAULT_CALL_THROTTLED, WORLD_FAULT_CALL_SLOW, WORLD_FAULT_RELOAD,
                WORLD_FAULT_CAP_LOWERED };
        const char *faults = js_str(c->options, "faults", "");

        for (size_t i = 0; i < ARRAY_LEN(ways); i++)
                if (o->w->struck[ways[i]])
                        return false;
        return !o->skewed && !strstr(faults, "any ") && !strstr(faults, "leftover") &&
               !streq(js_str(c->options, "remember", ""), "30s");
}

/* Law 7: what the ledger says that a machine cost is what it truly did, to the nano. */
static int billed(void *arg, const struct cloud_machine *m)
{
        struct sum *s = arg;
        struct oracle *o = s->o;
        int64_t ledger, truth;

        if (m->foreign || m->bill_end_wall_us == CLOUD_NEVER)
                return 0;
        ledger = oracle_disk_int(o,
                "SELECT sum(l.nano) FROM machine m JOIN bill b ON b.machine=m.id JOIN ledger_line l ON l.what=b.what "
                "WHERE m.connection=?1 AND m.provider_id=?2",
                s->c->name, m->id);
        truth = (int64_t)bill(m, cloud_params(s->cloud), m->bill_end_wall_us, INT64_MAX);
        oracle_held(o, 7);
        o->bills++;
        o->bills_equal += ledger == truth;
        if (ledger != truth && bill_was_to_be_had(o, s->c))
                oracle_broken(o, 7, "%s of %s cost %lld nano, and the ledger says %lld", m->id, s->c->name,
                        (long long)truth, (long long)ledger);
        return 0;
}

static void holds_closed(struct oracle *o)
{
        int64_t open = oracle_disk_int(
                o, "SELECT count(*) FROM ledger_hold WHERE kind='machine' AND state IN ('open','leaving')", NULL, NULL);

        oracle_held(o, 25);
        if (open > 0)
                oracle_broken(o, 25, "%lld reservations are open after a quiet week", (long long)open);
}

void oracle_clouds_settled(struct oracle *o)
{
        vec_foreach (c, &o->w->connections) {
                struct sum s = { .o = o, .c = *c, .now = world_cloud_wall_us(o->w) };

                if (!(*c)->cloud)
                        continue;
                s.cloud = world_cloud_of(*c);
                (void)cloud_each(s.cloud, is_there, &s);
                (void)cloud_each(s.cloud, foreign_is_there, &s);
                (void)cloud_each(s.cloud, billed, &s);
        }
        holds_closed(o);
        count_lines(o);
}

/* Law 8: nobody has renewed anything for longer than any hard stop lies ahead. */
static int outlives(void *arg, const struct cloud_machine *m)
{
        struct sum *s = arg;

        if (m->foreign || m->leftover)
                return 0;
        oracle_held(s->o, 8);
        if (m->gone_wall_us == CLOUD_NEVER && m->state != PD_MACHINE_STOPPED)
                oracle_broken(s->o, 8, "N-05 %s at %s lives, and portald is dead since %lld h", m->id, s->c->name,
                        (long long)((s->o->w->boot_us - s->o->dead_since_us) / USEC_PER_HOUR));
        return 0;
}

void oracle_dead(struct oracle *o)
{
        vec_foreach (c, &o->w->connections) {
                struct sum s = { .o = o, .c = *c };

                if (!(*c)->cloud)
                        continue;
                s.cloud = world_cloud_of(*c);
                (void)cloud_each(s.cloud, outlives, &s);
        }
        world_each_job(o->w, s)
        {
                oracle_held(o, 8);
                if (world_live(s))
                        oracle_broken(o, 8, "%s is %s on %s, and portald is dead since %lld h", s->job, s->phase,
                                s->machine->endpoint, (long long)((o->w->boot_us - o->dead_since_us) / USEC_PER_HOUR));
        }
}

/* Law 19: a connection's option is in the config and with the plugin, and nowhere on disk. */
void oracle_secret(struct oracle *o)
{
        sqlite3_int64 n = 0;
        unsigned char *all = *o->secret ? sqlite3_serialize(o->db, "main", &n, 0) : NULL;

        if (!all)
                return;
        oracle_held(o, 19);
        if (memmem(all, (size_t)n, o->secret, strlen(o->secret)))
                oracle_broken(o, 19, "an option of a connection is written in the store");
        sqlite3_free(all);
}

/* --- decisions --- */
enum { LEASE = 6, RIGHTSIZE = 9 }; /* in the list below */
const char *const oracle_policies[ORACLE_POLICY_N] = { "ttl", "spot", "budget", "oom", "idle", "lifetime", "lease",
        "return", "cheaper", "rightsize" };

/* Law 14: at most one decision of portald a check that changes where a job runs. */
void oracle_decisions(struct oracle *o)
{
        oracle_held(o, 14);
        if (oracle_disk_int(o,
                    "SELECT count(*) FROM decision WHERE user='' AND act IN ('suspend','stop','move') AND policy IN "
                    "('ttl','spot','budget','oom','idle','lifetime','lease','return','cheaper') "
                    "GROUP BY job, at_wall_us HAVING count(*)>1",
                    NULL, NULL) > 0 &&
                !o->skewed)
                oracle_broken(o, 14, "two decisions at one instant change where a job runs");
}

static bool acts(const char *act)
{
        static const char *const words[] = { "suspend", "stop", "move", "renew", "end", "resize", "place", "save" };

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (streq(act, words[i]))
                        return true;
        return false;
}

static void of_policy(struct oracle *o, const char *sql, bool interval)
{
        sqlite3_stmt *st = NULL;

        if (sqlite3_prepare_v2(o->db, sql, -1, &st, NULL) != SQLITE_OK)
                return;
        while (sqlite3_step(st) == SQLITE_ROW)
                for (size_t i = 0; i < ORACLE_POLICY_N; i++) {
                        uint64_t n = (uint64_t)sqlite3_column_int64(st, 2);

                        if (!streq(oracle_policies[i], (const char *)sqlite3_column_text(st, 0)))
                                continue;
                        if (interval)
                                o->kept[i] += n;
                        else if (acts((const char *)sqlite3_column_text(st, 1)))
                                o->acted[i] += n;
                        else
                                o->refused[i] += n;
                }
        (void)sqlite3_finalize(st);
}

void oracle_sums(struct oracle *o)
{
        int64_t sized;

        of_policy(o, "SELECT policy, act, count(*) FROM decision GROUP BY policy, act", false);
        of_policy(o, "SELECT policy, '', count(*) FROM interval GROUP BY policy", true);
        o->acted[LEASE] += o->leases + o->renewals;
        /* every job asks for 1 GiB: more was chosen by what it was measured to use (P-14) */
        sized = oracle_disk_int(o,
                "SELECT count(*) FROM decision WHERE policy='placement' AND act='place' AND "
                "json_extract(evidence, '$.memory_bytes') > 1073741824",
                NULL, NULL);
        o->acted[RIGHTSIZE] += sized > 0 ? (uint64_t)sized : 0;
        vec_foreach (c, &o->w->connections)
                for (enum fault_kind k = 0; (*c)->cloud && k < FAULT_KIND_N; k++)
                        o->cloud_struck[k] += cloud_struck(world_cloud_of(*c), k);
}
