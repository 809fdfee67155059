/* SPDX-License-Identifier: Apache-2.0 */
#include "placement/placement.h"

#include "tap.h"

#define GIB (UINT64_C(1) << 30)
#define USD(cents_)                                   \
        {                                             \
                (int64_t)(cents_) * NANO / 100, "USD" \
        }
#define EUR(cents_)                                   \
        {                                             \
                (int64_t)(cents_) * NANO / 100, "EUR" \
        }
#define NOW (INT64_C(1000) * USEC_PER_SEC)

static const char *const all_captures[] = { "values", "command", "restart", NULL };
static const char *const only_restart[] = { "restart", NULL };

#define ROOM .cpu_milli = 4000, .memory_bytes = 16 * GIB, .usable = true
static const struct placement_offer offers[] = {
        { .connection = "aws", .zone = "b", .type = "m5", .market = PD_MARKET_ON_DEMAND, .price = USD(20), ROOM },
        { .connection = "aws", .zone = "a", .type = "m5", .market = PD_MARKET_ON_DEMAND, .price = USD(20), ROOM },
        { .connection = "aws",
                .zone = "a",
                .type = "m5",
                .market = PD_MARKET_SPOT,
                .price = USD(7),
                ROOM,
                .not_before_wall_us = NOW + 12 * USEC_PER_MIN },
        { .connection = "gpu",
                .zone = "x",
                .type = "a100",
                .market = PD_MARKET_ON_DEMAND,
                .price = EUR(300),
                .gpus = 8,
                ROOM,
                .captures = all_captures,
                .capture_why = "this runner has no CRIU" },
        { .connection = "lab",
                .zone = "here",
                .type = "host",
                .market = PD_MARKET_ON_DEMAND,
                .price = USD(0),
                .shared = true,
                .gpus = 1,
                ROOM,
                .free_cpu_milli = 1000,
                .free_memory_bytes = 2 * GIB,
                .free_gpus = 0,
                .captures = only_restart },
        { .connection = "old",
                .zone = "x",
                .type = "dead",
                .market = PD_MARKET_ON_DEMAND,
                .price = USD(1),
                .cpu_milli = 4000,
                .memory_bytes = 16 * GIB,
                .disk_bytes = 10 * GIB,
                .why = "its connection is down" },
};
#define N ARRAY_LEN(offers)

static const struct {
        const char *name;
        struct placement_need need;
        const char *fit[N + 1];  /* names, in order; the rest does not fit                             */
        const char *loser, *why; /* one offer of interest, and what is said of it                     */
        bool later;
} rows[] = {
        { "the cheapest comes first, ties by name", { .cpu_milli = 1000, .memory_bytes = GIB },
                { "lab/here/host", "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "old/x/dead", "its connection is down",
                true },
        { "P-17: a reclaimed pool is left out, and it is said how long", { .cpu_milli = 1000, .memory_bytes = GIB },
                { "lab/here/host", "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "aws/a/m5/spot", "left out for 12m more",
                true },
        { "P-12: --no-spot leaves spot offers out for ever",
                { .cpu_milli = 1000, .memory_bytes = GIB, .no_spot = true },
                { "lab/here/host", "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "aws/a/m5/spot", "spot.use = off", false },
        { "two currencies are not compared", { .cpu_milli = 2000, .memory_bytes = GIB },
                { "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "aws/a/m5", "not compared with EUR: no exchange rate",
                false },
        { "a full machine of one's own is waited for", { .cpu_milli = 2000, .memory_bytes = GIB },
                { "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "lab/here/host", "has 1 cores free, 2 asked", true },
        { "... also for its memory", { .cpu_milli = 1000, .memory_bytes = 3 * GIB },
                { "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "lab/here/host", "has 2GiB of memory free, 3GiB asked",
                true },
        { "... and its GPUs", { .cpu_milli = 1000, .memory_bytes = GIB, .gpus = 1 }, { "gpu/x/a100" }, "lab/here/host",
                "has 0 GPUs free, 1 asked", true },
        { "too few GPUs is for ever", { .cpu_milli = 1000, .memory_bytes = GIB, .gpus = 8 }, { "gpu/x/a100" },
                "lab/here/host", "has 1 GPUs, 8 asked: 7 too few", false },
        { "too few cores is for ever", { .cpu_milli = 4001, .memory_bytes = GIB }, { NULL }, "aws/a/m5",
                "has 4 cores, 4.001 asked: 0.001 too few", false },
        { "exactly all cores and all memory fit", { .cpu_milli = 4000, .memory_bytes = 16 * GIB },
                { "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "gpu/x/a100", "3.00 EUR/h, the cheapest that fits", false },
        { "a byte too little memory is for ever", { .cpu_milli = 4000, .memory_bytes = 16 * GIB + 1 }, { NULL },
                "aws/a/m5", "has 16GiB of memory, 16GiB asked: 1B too little", false },
        { "too little disk is for ever, where it is known",
                { .cpu_milli = 1000, .memory_bytes = GIB, .disk_bytes = 11 * GIB },
                { "lab/here/host", "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "old/x/dead",
                "has 10GiB of disk, 11GiB asked: 1GiB too little", false },
        { "a capture that does not work there rejects it",
                { .cpu_milli = 1000, .memory_bytes = GIB, .capture = "values" },
                { "gpu/x/a100", "aws/a/m5", "aws/b/m5" }, "lab/here/host", "cannot checkpoint with \"values\"", false },
        { "... and says why, where that is known", { .cpu_milli = 1000, .memory_bytes = GIB, .capture = "criu" },
                { "aws/a/m5", "aws/b/m5" }, "gpu/x/a100", "cannot be moved by criu here: this runner has no CRIU",
                false },
        { "--on a connection narrows", { .cpu_milli = 1000, .memory_bytes = GIB, .on = "aws" },
                { "aws/a/m5", "aws/b/m5" }, "lab/here/host", "is not what --on aws asks for", false },
        { "--on a zone narrows", { .cpu_milli = 1000, .memory_bytes = GIB, .on = "aws/b" }, { "aws/b/m5" }, "aws/a/m5",
                "--on aws/b", false },
        { "P-19: --on another type of that place is none", { .cpu_milli = 1000, .memory_bytes = GIB, .on = "aws/a/m6" },
                { NULL }, "aws/a/m5", "--on aws/a/m6", false },
        { "P-19: --on an exact offer is that one, without /spot on demand",
                { .cpu_milli = 1000, .memory_bytes = GIB, .on = "aws/a/m5" }, { "aws/a/m5" }, "aws/a/m5/spot",
                "--on aws/a/m5", false },
        { "P-19, P-17: pinned to a reclaimed pool waits for it",
                { .cpu_milli = 1000, .memory_bytes = GIB, .on = "aws/a/m5/spot" }, { NULL }, "aws/a/m5/spot",
                "left out for 12m more", true },
        { "what costs as much as the first says so", { .cpu_milli = 1000, .memory_bytes = GIB, .on = "aws" },
                { "aws/a/m5", "aws/b/m5" }, "aws/b/m5", "0.20 USD/h, as much as the first", false },
};

static const struct placement_choice *choice_of(
        const struct placement_choice *c, const struct placement_offer *o, const char *name)
{
        char buf[PLACEMENT_NAME_MAX];

        for (size_t i = 0; i < N; i++)
                if (streq(placement_offer_name(&o[c[i].offer], buf), name))
                        return &c[i];
        return NULL;
}

static void test_row(size_t i)
{
        struct placement_choice c[N];
        const struct placement_choice *loser;
        char buf[PLACEMENT_NAME_MAX];
        struct pd_error e = { 0 };
        size_t ok = 0, want = 0;
        bool same = true;
        int r = placement_rank(&rows[i].need, offers, N, NOW, c, &ok, &e);

        while (rows[i].fit[want])
                want++;
        for (size_t k = 0; k < want && k < ok; k++)
                same &= streq(placement_offer_name(&offers[c[k].offer], buf), rows[i].fit[k]);
        if (!tap_ok(r == 0 && ok == want && same, "%s", rows[i].name))
                for (size_t k = 0; k < N; k++)
                        tap_note("%s fits %d later %d: %s", placement_offer_name(&offers[c[k].offer], buf), c[k].fits,
                                c[k].later, c[k].why);
        loser = choice_of(c, offers, rows[i].loser);
        (void)tap_has(loser ? loser->why : NULL, rows[i].why, "P-22 ... and the loser is told why, and by how much");
        (void)tap_ok(loser && loser->later == rows[i].later, "... and whether waiting helps");
        for (size_t k = 0; k < N; k++)
                same &= c[k].why[0] != '\0' && c[k].fits == (k < ok) &&
                        (k == 0 || k <= ok || c[k - 1].later >= c[k].later);
        (void)tap_ok(same, "... each has a sentence; what fits stands first, then what may later");
}

/* Whatever the order of the offers, the ranking is the same. */
static void test_order(void)
{
        const struct placement_need need = { .cpu_milli = 1000, .memory_bytes = GIB };
        struct placement_choice first[N], c[N];
        struct placement_offer turned[N];
        char a[PLACEMENT_NAME_MAX], b[PLACEMENT_NAME_MAX];
        size_t ok_first, ok;
        bool same = true;

        (void)placement_rank(&need, offers, N, NOW, first, &ok_first, NULL);
        for (size_t turn = 0; turn < N; turn++) {
                for (size_t i = 0; i < N; i++)
                        turned[i] = offers[(i + turn) % N];
                (void)placement_rank(&need, turned, N, NOW, c, &ok, NULL);
                for (size_t i = 0; i < N; i++)
                        same &= ok == ok_first &&
                                streq(placement_offer_name(&offers[first[i].offer], a),
                                        placement_offer_name(&turned[c[i].offer], b)) &&
                                streq(first[i].why, c[i].why);
        }
        (void)tap_ok(same, "law 22: the order of the offers does not matter");
}

static void test_edges(void)
{
        struct placement_need need = { .cpu_milli = 1000, .memory_bytes = GIB, .on = "lab//x" };
        struct placement_offer twins[2] = { offers[0], offers[0] };
        struct placement_choice c[N];
        struct pd_error e = { 0 };
        size_t ok = 7;

        (void)tap_ok(placement_rank(&need, offers, N, NOW, c, &ok, &e) == -PD_E_INVALID && ok == 7,
                "a malformed --on is refused, nothing written");
        (void)tap_has(e.text, "\"lab//x\"", "... with its value");
        need.on = NULL;
        (void)tap_ok(placement_rank(&need, offers, 0, NOW, c, &ok, &e) == 0 && ok == 0, "no offer is no choice");
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && ok == 2 && c[0].offer == 0,
                "two machines of one offer: as they came");
        twins[1].usable = false;
        twins[1].why = NULL;
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && streq(c[1].why, "cannot be used now"),
                "no reason given is still a sentence");
        twins[1].why = "";
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && streq(c[1].why, "cannot be used now"),
                "... nor is an empty one");
        twins[0] = twins[1] = offers[0];
        twins[0].price.nano = twins[1].price.nano = 0;
        twins[0].connection = "b";
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && c[0].offer == 1,
                "of two free ones, the first by name");
        twins[0] = twins[1] = offers[0];
        twins[1].price.nano -= 1;
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && c[0].offer == 1,
                "a billionth cheaper is cheaper");
        (void)tap_has(c[1].why, "0.000000001 USD/h more than the first", "... and that is what is said");
        twins[0].not_before_wall_us = NOW;
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && ok == 2,
                "P-17: the pool is back at that very microsecond");
        twins[0].not_before_wall_us = NOW + 1;
        (void)tap_ok(placement_rank(&need, twins, 2, NOW, c, &ok, &e) == 0 && ok == 1, "P-17: and not one before");
        twins[0] = twins[1] = offers[0];
        twins[0].shared = true;
        twins[0].free_cpu_milli = need.cpu_milli;
        twins[0].free_memory_bytes = need.memory_bytes;
        (void)tap_ok(
                placement_rank(&need, twins, 1, NOW, c, &ok, &e) == 0 && ok == 1, "room that is just enough is enough");
        twins[0].free_memory_bytes--;
        (void)tap_ok(placement_rank(&need, twins, 1, NOW, c, &ok, &e) == 0 && ok == 0 && c[0].later,
                "... a byte less is not");
        (void)tap_ok(placement_pinned("a/b/c") && placement_pinned("a/b/c/spot") && !placement_pinned("a/b") &&
                             !placement_pinned(NULL) && !placement_pinned("a//c"),
                "P-19: only an exact --on pins");
}

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                test_row(i);
        test_order();
        test_edges();
        return tap_done();
}
