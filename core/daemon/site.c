/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/site.h"

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
                .version = PORTALD_VERSION };
        if (!s->engine.captures || !s->engine.vaults)
                return pd_fail(err, PD_E_NOMEM, "no memory for the site");
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
