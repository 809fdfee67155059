/* SPDX-License-Identifier: Apache-2.0 */
/* The cloud as text: a line each for itself, for each fault, machine, tag and price. Offers are named, so that a state outlives a change of
 * the trace's order; of the market only the time is kept, since the same trace or seed leads to the same market again. */
#include "cloud_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "portald-sim-state 1"
#define LINE_MAX_ 8192

#define T struct cloud_machine
#define NUMBER(name_, member_)                                           \
        {                                                                \
                (name_), offsetof(T, member_), sizeof(((T *)0)->member_) \
        }
static const struct {
        const char *name;
        size_t offset, size;
} rows[] = {
        NUMBER("foreign", foreign),
        NUMBER("state", state),
        NUMBER("reason", reason),
        NUMBER("created", created_wall_us),
        NUMBER("lag", lag_us),
        NUMBER("ready", ready_wall_us),
        NUMBER("stop", stop_wall_us),
        NUMBER("lifetime", lifetime_wall_us),
        NUMBER("life", life_wall_us),
        NUMBER("notice", notice_wall_us),
        NUMBER("said", said_wall_us),
        NUMBER("false", false_wall_us),
        NUMBER("reclaim", reclaim_wall_us),
        NUMBER("stopping", stopping_wall_us),
        NUMBER("gone_due", gone_due_wall_us),
        NUMBER("gone", gone_wall_us),
        NUMBER("bill_end", bill_end_wall_us),
        NUMBER("ceiling", ceiling_nano_hour),
        NUMBER("noticed", noticed),
        NUMBER("leftover", leftover),
};
#undef NUMBER
#undef T
#define ROWS_N (sizeof rows / sizeof *rows)

static int64_t get(const struct cloud_machine *m, size_t row)
{
        const char *at = (const char *)m + rows[row].offset;
        bool yes;
        int n;
        int64_t v;

        if (rows[row].size == sizeof yes)
                return memcpy(&yes, at, sizeof yes), yes;
        if (rows[row].size == sizeof n)
                return memcpy(&n, at, sizeof n), n;
        return memcpy(&v, at, sizeof v), v;
}

static void set(struct cloud_machine *m, size_t row, int64_t v)
{
        char *at = (char *)m + rows[row].offset;
        bool yes = v != 0;
        int n = (int)v;

        if (rows[row].size == sizeof yes)
                memcpy(at, &yes, sizeof yes);
        else if (rows[row].size == sizeof n)
                memcpy(at, &n, sizeof n);
        else
                memcpy(at, &v, sizeof v);
}

/* ---- out ---- */

/* Bytes that would end a word become %XX. */
static void put_text(FILE *f, const char *s)
{
        for (; *s; s++) {
                if (*s <= ' ' || *s == '%' || *s == 0x7f)
                        (void)fprintf(f, "%%%02x", (unsigned char)*s);
                else
                        (void)fputc(*s, f);
        }
}

static void put_machine(FILE *f, const struct cloud *c, const struct cloud_machine *m)
{
        char offer[128];

        trace_offer_name(&c->market.t.offers[m->offer], offer, sizeof offer);
        (void)fprintf(f, "machine id=%s token=%s offer=%s", m->id, m->token, offer);
        for (size_t i = 0; i < ROWS_N; i++)
                (void)fprintf(f, " %s=%" PRId64, rows[i].name, get(m, i));
        (void)fputc('\n', f);
        for (uint32_t i = 0; i < m->tags_n; i++) {
                (void)fputs("tag ", f);
                put_text(f, m->tags[i].key);
                (void)fputc('=', f);
                put_text(f, m->tags[i].value);
                (void)fputc('\n', f);
        }
        for (size_t i = 0; i < m->segments_n; i++)
                (void)fprintf(f, "price from=%" PRId64 " nano=%" PRId64 "\n", m->segments[i].from_wall_us,
                        m->segments[i].price_nano_hour);
}

int cloud_save(const struct cloud *c, char **ret, size_t *ret_n, struct pd_error *err)
{
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        bool bad;

        if (!f)
                return pd_fail(err, PD_E_NOMEM, "no memory for the state");
        (void)fprintf(f,
                HEAD "\ncloud dice=%" PRIu64 " start=%" PRId64 " latency=%" PRId64 " outage=%" PRId64 " serial=%" PRIu64
                     "\n",
                c->dice, c->start_wall_us, c->base_latency_us, c->outage_until_wall_us, c->serial);
        for (size_t i = 0; i < c->p.faults.n; i++)
                (void)fprintf(f, "fault n=%zu asked=%" PRIu64 " struck=%" PRIu64 "\n", i, c->p.faults.rules[i].asked,
                        c->p.faults.rules[i].struck);
        for (size_t i = 0; i < c->machines_n; i++)
                put_machine(f, c, c->machines[i]);
        /* the last line, so that a state in which only time has passed can be told from another */
        (void)fprintf(f, "now at=%" PRId64 "\n", c->now_wall_us);
        bad = ferror(f);
        if (fclose(f) != 0 || bad) {
                free(text);
                return pd_fail(err, PD_E_NOMEM, "no memory for the state");
        }
        *ret = text;
        *ret_n = n;
        return 0;
}

/* ---- in ---- */

struct line {
        const char *word; /* its first */
        char *at;         /* the rest of it */
        long number;
};

static int corrupt(const struct line *l, struct pd_error *err)
{
        return pd_fail(
                err, PD_E_CORRUPT, "line %ld of the simulated cloud's state does not hold: %.40s", l->number, l->word);
}

/* The value of the next `key=value`, which must be this key. */
static const char *value(struct line *l, const char *key)
{
        char *word = l->at, *end = strchr(word, ' ');
        size_t n = strlen(key);

        if (strncmp(word, key, n) != 0 || word[n] != '=')
                return NULL;
        l->at = end ? end + 1 : word + strlen(word);
        if (end)
                *end = '\0';
        return word + n + 1;
}

static bool number(struct line *l, const char *key, int64_t *ret)
{
        const char *text = value(l, key);
        char *end;

        if (!text || !*text)
                return false;
        errno = 0;
        *ret = strtoll(text, &end, 10);
        return !errno && !*end;
}

static bool count(struct line *l, const char *key, uint64_t *ret)
{
        const char *text = value(l, key);
        char *end;

        if (!text || *text < '0' || *text > '9')
                return false;
        errno = 0;
        *ret = strtoull(text, &end, 10);
        return !errno && !*end;
}

static bool take_offer(const struct cloud *c, const char *name, uint32_t *ret)
{
        char have[128];

        for (uint32_t i = 0; i < c->market.t.offers_n; i++) {
                trace_offer_name(&c->market.t.offers[i], have, sizeof have);
                if (strcmp(have, name) == 0) {
                        *ret = i;
                        return true;
                }
        }
        return false;
}

static bool take_machine(struct cloud *c, struct line *l)
{
        struct cloud_machine *m = cloud_add(c);
        const char *id = value(l, "id"), *token = id ? value(l, "token") : NULL,
                   *offer = token ? value(l, "offer") : NULL;
        int64_t v;

        if (!m || !offer || strlen(id) >= sizeof m->id || strlen(token) >= sizeof m->token ||
                !take_offer(c, offer, &m->offer))
                return false;
        (void)snprintf(m->id, sizeof m->id, "%s", id);
        (void)snprintf(m->token, sizeof m->token, "%s", token);
        for (size_t i = 0; i < ROWS_N; i++) {
                if (!number(l, rows[i].name, &v))
                        return false;
                set(m, i, v);
        }
        if (m->state < PD_MACHINE_PENDING || m->state > PD_MACHINE_GONE || m->reason < PD_REASON_NONE ||
                m->reason > PD_REASON_LEASE)
                return false;
        if (m->state == PD_MACHINE_GONE)
                c->live_n--; /* it was added as the last */
        return true;
}

static bool decode(char *s)
{
        char *to = s;
        unsigned int byte;

        for (; *s; s++, to++) {
                *to = *s;
                if (*s != '%')
                        continue;
                if (sscanf(s + 1, "%2x", &byte) != 1 || !s[1] || !s[2] || !byte)
                        return false;
                *to = (char)byte;
                s += 2;
        }
        *to = '\0';
        return true;
}

static bool take_tag(struct cloud *c, struct line *l)
{
        struct cloud_machine *m = c->machines_n ? c->machines[c->machines_n - 1] : NULL;
        char *key = l->at, *text = strchr(key, '=');
        struct pd_pair *p;

        if (!m || !text)
                return false;
        *text++ = '\0';
        if (!decode(key) || !decode(text))
                return false;
        p = reallocarray(m->tags, m->tags_n + 1, sizeof *p);
        if (!p)
                return false;
        m->tags = p;
        p[m->tags_n] = (struct pd_pair){ strdup(key), strdup(text) };
        m->tags_n++;
        return p[m->tags_n - 1].key && p[m->tags_n - 1].value;
}

static bool take_price(struct cloud *c, struct line *l)
{
        struct cloud_machine *m = c->machines_n ? c->machines[c->machines_n - 1] : NULL;
        int64_t from, nano;

        if (!m || !number(l, "from", &from) || !number(l, "nano", &nano) || nano < 0)
                return false;
        cloud_price(m, from, nano);
        return true;
}

static bool take_cloud(struct cloud *c, struct line *l)
{
        return count(l, "dice", &c->dice) && number(l, "start", &c->start_wall_us) &&
               number(l, "latency", &c->base_latency_us) && number(l, "outage", &c->outage_until_wall_us) &&
               count(l, "serial", &c->serial);
}

static bool take_fault(struct cloud *c, struct line *l)
{
        uint64_t n, asked, struck;

        if (!count(l, "n", &n) || !count(l, "asked", &asked) || !count(l, "struck", &struck))
                return false;
        if (n < c->p.faults.n) { /* else the script is shorter by now */
                c->p.faults.rules[n].asked = asked;
                c->p.faults.rules[n].struck = struck;
        }
        return true;
}

static bool take_now(struct cloud *c, struct line *l)
{
        return number(l, "at", &c->now_wall_us);
}

static const struct {
        const char *word;
        bool (*take)(struct cloud *c, struct line *l);
} words[] = { { "cloud", take_cloud }, { "fault", take_fault }, { "machine", take_machine }, { "tag", take_tag },
        { "price", take_price }, { "now", take_now } };

static int take_line(struct cloud *c, char *text, long n, struct pd_error *err)
{
        char *rest = strchr(text, ' ');
        struct line l = { .word = text, .number = n };

        if (!rest)
                return corrupt(&l, err);
        *rest = '\0';
        l.at = rest + 1;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcmp(words[i].word, text) == 0)
                        return words[i].take(c, &l) ? 0 : corrupt(&l, err);
        return corrupt(&l, err);
}

static void forget_machines(struct cloud *c)
{
        for (size_t i = 0; i < c->machines_n; i++)
                cloud_machine_free(c->machines[i]);
        c->machines_n = c->live_n = 0;
}

/* The market again as far as it had come; what its events did to machines stands with the machines. */
static void catch_up(struct cloud *c)
{
        const struct trace_event *ev;

        sim_market_rewind(&c->market);
        while (c->start_wall_us && sim_market_next_us(&c->market) <= c->now_wall_us - c->start_wall_us)
                (void)sim_market_take(&c->market, &ev);
        cloud_changed(c, NULL);
}

int cloud_load(struct cloud *c, const char *text, size_t n, struct pd_error *err)
{
        const char *end = text + n;
        uint64_t serial;
        char line[LINE_MAX_];
        int r = 0;

        if (n < sizeof HEAD || strncmp(text, HEAD "\n", sizeof HEAD) != 0)
                return pd_fail(
                        err, PD_E_CORRUPT, "it is no state of a simulated cloud: its first line is \"" HEAD "\"");
        forget_machines(c);
        serial = 0;
        for (long number = 1; r == 0 && text < end; number++) {
                const char *nl = memchr(text, '\n', (size_t)(end - text));
                size_t k = nl ? (size_t)(nl - text) : 0;

                if (!nl || k >= sizeof line)
                        return pd_fail(err, PD_E_CORRUPT, "line %ld of the simulated cloud's state is cut off", number);
                memcpy(line, text, k);
                line[k] = '\0';
                if (number > 1)
                        r = take_line(c, line, number, err);
                if (number == 2)
                        serial = c->serial;
                text = nl + 1;
        }
        if (r == 0 && strncmp(line, "now", 4) != 0)
                return pd_fail(err, PD_E_CORRUPT, "the simulated cloud's state is cut off");
        c->serial = serial; /* cloud_add() counts on */
        if (r == 0)
                catch_up(c);
        return r;
}
