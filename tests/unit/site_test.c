/* SPDX-License-Identifier: Apache-2.0 */
/* The site as the engine gets it: what no room but the daemon turns from text into values. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/site.h"
#include "tap.h"

#define CONFIG                                                                          \
        "daemon: { exchange_rates = [ \"%s\" ]; exchange_rates_max_age = \"10d\"; };\n" \
        "connections: { cloud: { provider = \"sim\"; price_max_age = \"5m\"; price_low = 20; }; };\n"

/* One config with this rate, loaded. */
static int load(const char *rate, struct site **ret, struct pd_error *err)
{
        char path[] = "/tmp/portald-site-XXXXXX", text[400];
        int fd = mkstemp(path), r;
        size_t n;

        (void)str_format(text, sizeof text, CONFIG, rate);
        n = strlen(text);
        if (fd < 0 || write(fd, text, n) != (ssize_t)n || fchmod(fd, 0644) < 0)
                abort();
        (void)close(fd);
        r = site_load(ret, path, true, NULL, err);
        (void)unlink(path);
        return r;
}

static void good(void)
{
        pd_cleanup(site_freep) struct site *s = NULL;
        const struct market_rate *rate;
        struct pd_error err = { 0 };

        if (!tap_ok(load("eur 1.08usd 2026-11-01", &s, &err) == 0, "a rate of a day is read"))
                return;
        rate = s->engine.rates.rates;
        tap_ok(s->engine.rates.n == 1 && streq(rate->from, "EUR") && streq(rate->to, "USD"),
                "P-13 between its currencies");
        tap_int(rate->nano, 1080000000, "P-13 exactly");
        tap_int(rate->at_wall_us, INT64_C(1793491200000000), "P-13 from the start of its day");
        tap_int(s->engine.rates.max_age_us, 10 * USEC_PER_DAY, "P-13 for so long");
        tap_int(s->engine.connections[0].price_max_age_us, 5 * USEC_PER_MIN, "how old a price may be");
        tap_ok(s->engine.connections[0].price_low_percent == 20 && s->engine.connections[0].price_high_percent == 1000,
                "within what a spot price is believed");
}

static void bad(void)
{
        static const struct {
                const char *rate, *says;
        } rows[] = {
                { "EUR 1.08 2026-11-01", "has no currency" },
                { "EUR -1USD 2026-11-01", "negative" },
                { "EUR 0USD 2026-11-01", "more than 0" },
                { "EUR 1.08USD 2026-13-01", "no day" },
                { "EUR 1.08USD", "is no rate" },
                { "EURO 1.08USD 2026-11-01", "is no rate" },
                { "EUR 1.08USD 2026-11-01 noon", "is no rate" },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct site *s = NULL;
                struct pd_error err = { 0 };

                tap_ok(load(rows[i].rate, &s, &err) < 0 && strstr(err.text, rows[i].says) &&
                                strstr(err.text, "daemon.exchange_rates"),
                        "\"%s\" is refused by its key: %s", rows[i].rate, err.text);
                site_free(s);
        }
}

int main(void)
{
        good();
        bad();
        return tap_done();
}
