/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <string.h>

#include "words.h"

#define AT_NAME(name_, word_) [FAULT_AT_##name_] = (word_),
const char *const fault_at_names[FAULT_AT_N] = { FAULT_PLACES(AT_NAME) };
#undef AT_NAME
#define KIND_NAME(name_, word_, ...) [FAULT_##name_] = (word_),
const char *const fault_kind_names[FAULT_KIND_N] = { FAULT_KINDS(KIND_NAME) };
#undef KIND_NAME

#define KIND_ROW(name_, word_, span_, places_) [FAULT_##name_] = { (span_), (places_) },
static const struct {
        bool span;
        uint32_t places;
} kinds[FAULT_KIND_N] = { FAULT_KINDS(KIND_ROW) };
#undef KIND_ROW

static int index_of(const char *const *names, int n, const char *word)
{
        for (int i = 0; i < n; i++)
                if (strcmp(names[i], word) == 0)
                        return i;
        return -1;
}

static int read_rule(const char *at, const char *end, long line, struct fault_rule *ret, struct pd_error *err)
{
        struct fault_rule r = { 0 };
        char word[64];
        int place, kind;

        if (!word_next(&at, end, word, sizeof word) || (place = index_of(fault_at_names, FAULT_AT_N, word)) < 0)
                return pd_fail(err, PD_E_INVALID,
                        "fault %ld: %.40s is no place for one: any, offers, launch, find, describe, list, renew, "
                        "terminate, notice, cost, boot, end",
                        line, word);
        if (!word_next(&at, end, word, sizeof word) || (kind = index_of(fault_kind_names, FAULT_KIND_N, word)) < 0 ||
                !(kinds[kind].places & 1u << place))
                return pd_fail(err, PD_E_INVALID, "fault %ld: %.40s is no fault of %s (see the plugin's README)", line,
                        word, fault_at_names[place]);
        r.at = (enum fault_at)place;
        r.kind = (enum fault_kind)kind;
        if (kinds[kind].span && (!word_next(&at, end, word, sizeof word) || !word_span(word, &r.span_us)))
                return pd_fail(err, PD_E_INVALID, "fault %ld: %s needs a span: 60s, 5m", line, fault_kind_names[kind]);
        if (!word_next(&at, end, word, sizeof word) || !word_odds(word, &r.num, &r.den, &r.nth))
                return pd_fail(err, PD_E_INVALID,
                        "fault %ld: %.40s is no odds: 1/20 (one in twenty), #3 (only the third time), always", line,
                        word);
        if (word_next(&at, end, word, sizeof word) &&
                (strncmp(word, "retry=", 6) != 0 || kind != FAULT_THROTTLE || !word_span(word + 6, &r.retry_us)))
                return pd_fail(err, PD_E_INVALID, "fault %ld: %.40s is one word too many", line, word);
        if (word_next(&at, end, word, sizeof word) || at != end)
                return pd_fail(err, PD_E_INVALID, "fault %ld: %.40s is one word too many", line, word);
        *ret = r;
        return 0;
}

int faults_read(const char *text, size_t n, struct sim_faults *ret, struct pd_error *err)
{
        const char *end = text + n, *stop;
        struct sim_faults f = { 0 };

        for (long line = 1; text < end; line++, text = stop + 1) {
                const char *at = text;
                int r;

                for (stop = text; stop < end && *stop != '\n' && *stop != ';'; stop++)
                        ;
                while (at < stop && (*at == ' ' || *at == '\t'))
                        at++;
                if (at == stop || *at == '#')
                        continue;
                if (f.n == FAULTS_MAX)
                        return pd_fail(err, PD_E_INVALID, "fault %ld: more than %u faults", line, FAULTS_MAX);
                r = read_rule(at, stop, line, &f.rules[f.n], err);
                if (r < 0)
                        return r;
                f.n++;
        }
        *ret = f;
        return 0;
}

const struct fault_rule *faults_strike(
        struct sim_faults *f, enum fault_at at, enum fault_kind kind, uint64_t (*dice)(void *arg), void *arg)
{
        const struct fault_rule *hit = NULL;

        for (size_t i = 0; i < f->n; i++) {
                struct fault_rule *r = &f->rules[i];

                if (r->kind != kind || (r->at != at && (r->at != FAULT_AT_ANY || !(kinds[kind].places & 1u << at))))
                        continue;
                r->asked++;
                if (hit || (r->nth ? r->asked != r->nth : dice(arg) % r->den >= r->num))
                        continue;
                r->struck++;
                hit = r;
        }
        return hit;
}
