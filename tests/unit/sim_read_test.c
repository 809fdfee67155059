/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated cloud's words: traces and fault scripts, and every way in which a line of them can be wrong. */
#include "faults.h"
#include "tap.h"
#include "trace.h"
#include "words.h"

#define HEAD                                                                                              \
        "portald-trace 1\ntype t cpu=2 memory=8GiB\nzone z\noffer z/t price=1\noffer z/t/spot price=0.3 " \
        "notice=2m\nquota q limit=4\n"

static const struct {
        const char *name, *text, *want; /* want NULL = it is read */
} traces[] = {
        { "the smallest", "portald-trace 1\ntype t cpu=1 memory=1GiB\nzone z\noffer z/t price=0", NULL },
        { "blanks and comments",
                HEAD "\n   \n\t# a comment that is longer than any word of a line could ever be allowed to be in this "
                     "format\n1h z/t price 2\n",
                NULL },
        { "all there is",
                HEAD "0 z/t price 2\n1s z/t/spot capacity 0 notice=30s\n1s z/t/spot reclaim all\n2s z/t/spot reclaim 1 "
                     "notice=0\n3s z/t listed no\n4s quota q 0\n5s latency 3s\n6s outage 5m",
                NULL },
        { "nothing", "", "line 1: it is no trace" },
        { "another version", "portald-trace 2\n", "line 1: it is a trace of version 2" },
        { "another file", "hello\n", "line 1: it is no trace" },
        { "no offer", "portald-trace 1\n", "no offer was in it" },
        { "a word that begins no line", HEAD "price 3\n", "line 7: price begins no line" },
        { "a type without memory", "portald-trace 1\ntype t cpu=1\n", "line 2: the type t needs cpu= and memory=" },
        { "a type twice", "portald-trace 1\ntype t cpu=1 memory=1GiB\ntype t cpu=1 memory=1GiB\n",
                "line 3: the type t stands here twice" },
        { "a type with a bad name", "portald-trace 1\ntype a/b cpu=1 memory=1GiB\n", "line 2: a type needs a name" },
        { "a member of no type", "portald-trace 1\ntype t cpu=1 speed=3\n", "line 2: speed is no member of a type" },
        { "a size without a unit", "portald-trace 1\ntype t memory=8\n", "line 2: memory is no member of a type" },
        { "a zone in capitals", "portald-trace 1\nzone Z\n", "line 2: a zone needs a name" },
        { "a zone twice", "portald-trace 1\nzone z\nzone z\n", "line 3: the zone z stands here twice" },
        { "an offer of no zone", "portald-trace 1\ntype t cpu=1 memory=1GiB\noffer z/t price=1\n",
                "line 3: there is no zone z above" },
        { "an offer of no type", "portald-trace 1\nzone z\noffer z/t price=1\n", "line 3: there is no type t above" },
        { "an offer without a price", "portald-trace 1\ntype t cpu=1 memory=1GiB\nzone z\noffer z/t\n",
                "line 4: an offer needs price=" },
        { "an offer twice", HEAD "offer z/t price=2\n", "line 7: the offer z/t stands here twice" },
        { "an offer of a third market", HEAD "offer z/t/bid price=2\n", "line 7: an offer is ZONE/TYPE" },
        { "a price below 0", HEAD "1s z/t price -1\n", "line 7: an event needs a value that fits" },
        { "a price of a million", HEAD "1s z/t price 1000000\n", "line 7: an event needs a value" },
        { "a price with ten decimals", HEAD "1s z/t price 0.0000000001\n", "line 7: an event needs a value" },
        { "an event of no offer", HEAD "1s z/u price 1\n", "line 7: there is no offer z/u" },
        { "an event that is none", HEAD "1s z/t power 1\n", "line 7: power is no event" },
        { "an event before the last", HEAD "2s z/t price 1\n1s z/t price 1\n",
                "line 8: 1s lies before the line above" },
        { "a time without a unit", HEAD "12 z/t price 1\n", "line 7: 12 is no time" },
        { "a time beyond all", HEAD "99999999999999d z/t price 1\n", "line 7: 99999999999999d is no time" },
        { "a head below an event", HEAD "1s z/t price 1\nzone y\n", "line 8: zone stands below an event" },
        { "a notice of a price", HEAD "1s z/t price 1 notice=3s\n", "only capacity and reclaim may be followed" },
        { "one word more", HEAD "1s z/t listed no no\n", "line 7: no: only capacity" },
        { "a word more in the head", HEAD "currency EUR USD\n", "line 7: USD is one word too many" },
        { "a currency of two letters", HEAD "currency EU\n", "line 7: a currency is three capitals" },
        { "a start that is no day", HEAD "start 2023-02-30T00:00:00Z\n", "line 7: a start is an instant" },
        { "a quota without a limit", HEAD "quota r of=gpus\n", "line 7: the quota r needs limit=" },
        { "an event of no quota", HEAD "1s quota r 3\n", "line 7: there is no quota r" },
        { "a word that never ends",
                HEAD
                "1s "
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx price 1\n",
                "line 7: an event is TIME OFFER WORD VALUE" },
};

static void test_traces(void)
{
        struct trace t;
        struct pd_error err;

        for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
                int r = trace_read(traces[i].text, strlen(traces[i].text), &t, &err);

                if (!tap_ok(traces[i].want ? r < 0 && strstr(err.text, traces[i].want) : r == 0, "a trace: %s",
                            traces[i].name))
                        tap_note("%s", r < 0 ? err.text : "it was read");
                if (r == 0)
                        trace_clear(&t);
        }
        tap_ok(trace_read(HEAD "1s z/t pri\0ce 1\n", sizeof HEAD "1s z/t pri\0ce 1\n" - 1, &t, &err) < 0,
                "a trace: with a NUL in it");
        tap_ok(trace_read(HEAD "1s z/t/spot capacity 0 notice=30s\n", sizeof HEAD + 33, &t, &err) == 0 &&
                        t.offers_n == 2 && t.events_n == 1 && t.events[0].at_us == 1000000 && t.events[0].offer == 1 &&
                        t.events[0].gone_us == 30000000 && t.offers[1].notice_us == 120000000 &&
                        t.offers[0].price_nano_hour == 1000000000 && t.quotas[0].limit == 4,
                "... and what is read is what stands there");
        trace_clear(&t);
}

static const struct {
        const char *text, *want;
} scripts[] = {
        { "", NULL },
        { "# nothing\n\n", NULL },
        { "launch answer-lost 1/20; list stale 60s 1/10\nany throttle 1/30 retry=10s", NULL },
        { "boot never #3; end leftover always; notice shorter 20s 1/4", NULL },
        { "start capacity 1/2", "fault 1: start is no place for one" },
        { "\nlaunch explode 1/2", "fault 2: explode is no fault of launch" },
        { "list capacity 1/2", "fault 1: capacity is no fault of list" },
        { "list stale 1/10", "fault 1: stale needs a span" },
        { "launch capacity", "fault 1:  is no odds" },
        { "launch capacity 2/1", "fault 1: 2/1 is no odds" },
        { "launch capacity 1/0", "fault 1: 1/0 is no odds" },
        { "launch capacity #0", "fault 1: #0 is no odds" },
        { "launch capacity 1/2 retry=3s", "fault 1: retry=3s is one word too many" },
        { "any throttle 1/2 retry=3s now", "fault 1: now is one word too many" },
};

static uint64_t counted(void *arg)
{
        return (*(uint64_t *)arg)++;
}

static void test_scripts(void)
{
        struct sim_faults f;
        struct pd_error err;
        uint64_t n = 0;
        int hits = 0;
        char many[FAULTS_MAX * 32] = "";

        for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
                int r = faults_read(scripts[i].text, strlen(scripts[i].text), &f, &err);

                if (!tap_ok(scripts[i].want ? r < 0 && strstr(err.text, scripts[i].want) : r == 0, "a fault script: %s",
                            scripts[i].want ? scripts[i].want : "is read"))
                        tap_note("%s", r < 0 ? err.text : "it was read");
        }
        for (unsigned int i = 0; i <= FAULTS_MAX; i++)
                (void)strcat(many, "launch quota 1/2;");
        tap_ok(faults_read(many, strlen(many), &f, &err) < 0 && strstr(err.text, "more than 64 faults"),
                "a fault script: too long");
        (void)faults_read("launch capacity 3/10; launch quota #2; any transient always", 60 - 1, &f, &err);
        for (int i = 0; i < 100; i++)
                hits += faults_strike(&f, FAULT_AT_LAUNCH, FAULT_CAPACITY, counted, &n) != NULL;
        tap_int(hits, 30, "three in ten strike three times in ten");
        hits = 0;
        for (int i = 0; i < 100; i++)
                hits += (i + 1) * (faults_strike(&f, FAULT_AT_LAUNCH, FAULT_QUOTA, counted, &n) != NULL);
        tap_int(hits, 2, "#2 strikes the second time, and only then");
        tap_ok(faults_strike(&f, FAULT_AT_COST, FAULT_TRANSIENT, counted, &n), "any strikes everywhere");
        tap_ok(!faults_strike(&f, FAULT_AT_LIST, FAULT_CAPACITY, counted, &n), "a fault of another call does not");
}

static void test_words(void)
{
        int64_t v = 0;
        char currency[4];

        tap_ok(word_span("1d2h3m4s5ms6us", &v) && v == ((26 * 60 + 3) * 60 + 4) * INT64_C(1000000) + 5006,
                "a span of all units");
        tap_ok(!word_span("", &v) && !word_span("5", &v) && !word_span("s", &v) && !word_span("-1s", &v) &&
                        !word_span("1.5s", &v) && !word_span("36501d", &v) && !word_span("9223372036854775807s", &v),
                "spans that are none");
        tap_ok(word_rate("0.35 usd/h", &v, currency) && v == 350000000 && strcmp(currency, "USD") == 0, "a rate");
        tap_ok(word_instant("2024-02-29T23:59:59Z", &v) && v == INT64_C(1709251199000000), "an instant in a leap year");
        tap_ok(word_instant("1970-01-01T00:00:00Z", &v) && v == 0, "the first instant");
        tap_ok(!word_instant("2023-02-29T00:00:00Z", &v) && !word_instant("2023-01-01", &v) &&
                        !word_instant("2023-01-01T00:00:00Zx", &v),
                "instants that are none");
        tap_ok(!word_money("1e3", &v) && !word_money("1.", &v) && !word_money(".5", &v) &&
                        word_money("999999.999999999", &v),
                "money that is none, and the most there is");
}

int main(void)
{
        test_traces();
        test_scripts();
        test_words();
        return tap_done();
}
