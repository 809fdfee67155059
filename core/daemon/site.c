/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/site.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spec/spec.h"

static struct engine_backend *backends(const struct config_backend *from, size_t n)
{
        struct engine_backend *b = calloc(n + 1, sizeof *b);

        for (size_t i = 0; b && i < n; i++)
                b[i] = (struct engine_backend){
                        .name = from[i].name, .plugin = from[i].plugin, .options = from[i].options
                };
        return b;
}

/* "EUR 1.08USD 2026-11-01" */
static int rate_parse_text(const char *text, struct market_rate *ret, struct pd_error *err)
{
        char from[8] = "", worth[48] = "", day[16] = "", at[40], left;
        struct pd_error why;
        struct money m;

        if (sscanf(text, "%7s %47s %15s %c", from, worth, day, &left) != 3 || strlen(from) != 3 || strlen(day) != 10)
                return pd_fail(err, PD_E_INVALID,
                        "daemon.exchange_rates: \"%s\" is no rate: write \"EUR 1.08USD 2026-11-01\", what one EUR was "
                        "worth "
                        "on that day",
                        text);
        (void)str_format(at, sizeof at, "%sT00:00:00Z", day);
        if (money_parse(worth, &m, &why) < 0 || time_parse_utc(at, &ret->at_wall_us, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "daemon.exchange_rates: %s", why.text);
        for (char *c = from; *c; c++)
                *c = (char)toupper((unsigned char)*c);
        if (m.nano <= 0)
                return pd_fail(
                        err, PD_E_INVALID, "daemon.exchange_rates: \"%s\": a currency is worth more than 0", text);
        ret->nano = m.nano;
        (void)str_format(ret->from, sizeof ret->from, "%s", from);
        (void)str_format(ret->to, sizeof ret->to, "%s", m.currency);
        return 0;
}

static int rates_of(struct site *s, const struct config_daemon *d, struct pd_error *err)
{
        struct market_rate *rates = calloc(d->exchange_rates.n + 1, sizeof *rates);
        int r = rates ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the site");

        for (size_t i = 0; r >= 0 && i < d->exchange_rates.n; i++)
                r = rate_parse_text(d->exchange_rates.at[i], &rates[i], err);
        s->engine.rates = (struct market_rates){
                .rates = rates, .n = d->exchange_rates.n, .max_age_us = d->exchange_rates_max_age_us
        };
        return r;
}

int site_new(struct site **ret, struct config *config, struct pd_error *err)
{
        pd_cleanup(site_freep) struct site *s = calloc(1, sizeof *s);
        struct engine_connection *c = calloc(config->connections_n + 1, sizeof *c);

        if (!s || !c) {
                free(c);
                return pd_fail(err, PD_E_NOMEM, "no memory for the site");
        }
        for (size_t i = 0; i < config->connections_n; i++) {
                const struct config_connection *from = &config->connections[i];

                c[i] = (struct engine_connection){ .name = from->name,
                        .provider = from->provider,
                        .plugin = from->plugin,
                        .options = from->options,
                        .in_process = from->isolation == CONFIG_NONE,
                        .price_max_age_us = from->price_max_age_us,
                        .price_low_percent = (int32_t)from->price_low,
                        .price_high_percent = (int32_t)from->price_high };
                if (from->cap.set)
                        c[i].cap = (struct engine_cap){ .amount = from->cap.amount,
                                .month = from->cap.period == CONFIG_MONTH,
                                .timezone = from->cap.timezone };
        }
        s->engine = (struct engine_site){ .connections = c,
                .connections_n = config->connections_n,
                .captures = backends(config->captures, config->captures_n),
                .captures_n = config->captures_n,
                .vaults = backends(config->vaults, config->vaults_n),
                .vaults_n = config->vaults_n,
                .default_vault = config->daemon.default_vault,
                .settings = config->settings,
                .history_us = config->daemon.history_us,
                .prices_us = config->daemon.price_history_us,
                .version = PORTALD_VERSION };
        if (!s->engine.captures || !s->engine.vaults)
                return pd_fail(err, PD_E_NOMEM, "no memory for the site");
        if (rates_of(s, &config->daemon, err) < 0)
                return -(int)PD_E_INVALID;
        s->config = config;
        *ret = pd_steal(s);
        return 0;
}

struct site *site_free(struct site *s)
{
        if (!s)
                return NULL;
        free((void *)(uintptr_t)s->engine.connections);
        free((void *)(uintptr_t)s->engine.captures);
        free((void *)(uintptr_t)s->engine.vaults);
        free((void *)(uintptr_t)s->engine.rates.rates);
        config_free(s->config);
        free(s);
        return NULL;
}

int site_load(struct site **ret, const char *path, bool keep_secrets, json_t **ret_faults, struct pd_error *err)
{
        const struct config_params params = {
                .path = path, .keep_secrets = keep_secrets, .owner_uid = geteuid(), .check_setting = setting_check
        };
        pd_cleanup(config_freep) struct config *c = NULL;
        int r = config_load(&c, &params, ret_faults, err);

        if (r < 0)
                return r;
        r = site_new(ret, c, err);
        if (r >= 0)
                (void)pd_steal(c);
        return r;
}
