/* SPDX-License-Identifier: Apache-2.0 */
/* The site of a swarm: own machines, and clouds whose offers, leases, bills and faults are diced. */
#include <stdio.h>

#include "world/swarm_parts.h"

/* What goes wrong inside a cloud: a line each for its fault script. Kinds are switched per cloud, then rated. */
static const char *const cloud_faults[] = {
        "any throttle 1/%u retry=20s",
        "any transient 1/%u",
        "list auth 1/%u",
        "launch latency 20s 1/%u",
        "launch request-lost 1/%u",
        "launch answer-lost 1/%u",
        "launch duplicate 1/%u",
        "launch capacity 1/%u",
        "launch quota 1/%u",
        "launch no-stop 1/%u",
        "renew answer-lost 1/%u",
        "renew request-lost 1/%u",
        "renew earlier 10m 1/%u",
        "terminate answer-lost 1/%u",
        "terminate request-lost 1/%u",
        "terminate duplicate 1/%u",
        "terminate late 5m 1/%u",
        "list partial 1/%u",
        "offers partial 1/%u",
        "list short 1/%u",
        "list stale 30s 1/%u",
        "boot late 10m 1/%u",
        "boot never 1/%u",
        "notice missing 1/%u",
        "notice shorter 20s 1/%u",
        "notice false 1/%u",
        "end leftover 1/%u",
};

static void set(json_t *o, const char *key, const char *value)
{
        if (value)
                (void)json_object_set_new(o, key, json_string(value));
}

static const char *one(struct swarm *s, const char *const *list, size_t n)
{
        return list[swarm_dice(s, n)];
}

#define ONE(s_, ...) one(s_, (const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

static void set_faults(struct swarm *s, json_t *o)
{
        static const unsigned int rates[] = { 4, 10, 30, 200 };
        char script[1600] = "", line[64];
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(cloud_faults); i++) {
                bool on = world_chance(&s->w, 100) < 25;
                unsigned int rate = rates[world_chance(&s->w, ARRAY_LEN(rates))];

                if (!on || !s->run->faults)
                        continue;
                if (i < 3)
                        rate *= 5; /* at every call */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                (void)snprintf(line, sizeof line, cloud_faults[i], rate);
#pragma GCC diagnostic pop
                n += (size_t)snprintf(script + n, sizeof script - n, "%s%s", n ? "; " : "", line);
        }
        if (n)
                set(o, "faults", script);
}

static json_t *cloud_options(struct swarm *s, char *secret, size_t secret_n)
{
        json_t *o = json_object();

        (void)snprintf(secret, secret_n, "7%011llu", (unsigned long long)swarm_dice(s, UINT64_C(100000000000)));
        set(o, "seed", secret);
        set(o, "types", ONE(s, "small", "small medium", "small gpu", "medium"));
        set(o, "zones", ONE(s, "1", "2", "3"));
        set(o, "lease", ONE(s, "native", "native", "external", "guest", "fixed"));
        set(o, "settle", ONE(s, NULL, "0", "30s", "90s"));
        set(o, "stop_lag", ONE(s, NULL, "0", "2m"));
        set(o, "minimum", ONE(s, NULL, "0", "10m", "1h"));
        set(o, "step", ONE(s, NULL, "0", "1m", "1h"));
        set(o, "boot", ONE(s, NULL, "5s", "3m"));
        set(o, "life", ONE(s, NULL, "3h", "24h", "0"));
        set(o, "notice", ONE(s, NULL, NULL, "30s", "10m", "0"));
        set(o, "notice_in", ONE(s, "api", "guest"));
        set(o, "lifetime", ONE(s, NULL, NULL, "24h", "5h"));
        set(o, "price_every", ONE(s, NULL, "2h", "6h"));
        set(o, "up", ONE(s, NULL, "1h", "24h"));
        set(o, "down", ONE(s, NULL, "10m", "6h"));
        set(o, "stock", ONE(s, NULL, "1", "3", "-1"));
        set(o, "foreign", ONE(s, "0", "2"));
        set(o, "min_poll", ONE(s, NULL, NULL, "30s"));
        set(o, "remember", ONE(s, NULL, "1h", "30s"));
        set(o, "page", ONE(s, NULL, "1", "3"));
        set(o, "horizon", ONE(s, NULL, NULL, NULL, "40m"));
        if (swarm_percent(s, 25))
                set(o, "quota", ONE(s, "sim-machines limit=2 of=machines", "sim-cores limit=6 of=cpus market=spot"));
        set(o, "off", "ends");
        set_faults(s, o);
        return o;
}

/* The middle of a month's use of a machine or two, at times next to nothing. */
static void set_cap(struct swarm *s, struct world_connection *c)
{
        static const int64_t usd[] = { 0, 0, 1, 3, 10, 40 };

        world_set_cap(c, usd[swarm_dice(s, ARRAY_LEN(usd))] * INT64_C(1000000000), "USD");
}

static bool add_cloud(struct swarm *s, size_t at)
{
        static const char *const names[] = { "east", "west", "north" };
        struct world_connection *c;
        struct pd_error err;
        js_owned *o = cloud_options(s, s->o.secret, sizeof s->o.secret);

        c = world_add_sim(&s->w, names[at], o, &err);
        if (!c) {
                (void)fprintf(stderr, "# %s: %s\n", err.subject, err.text);
                return false;
        }
        c->boot_max_us = USEC_PER_SEC * (int64_t)(30 + swarm_dice(s, 300));
        set_cap(s, c);
        return true;
}

bool swarm_site(struct swarm *s)
{
        uint64_t clouds = swarm_dice(s, 8);

        clouds = clouds < 1 || s->run->own_only ? 0 : clouds < 4 ? 1 : clouds < 7 ? 2 : 3;
        if (swarm_percent(s, 35))
                (void)world_add_own(&s->w, "lab2", 4000, UINT64_C(8) << 30, 0);
        for (size_t i = 0; i < clouds; i++)
                if (!add_cloud(s, i))
                        return false;
        s->w.save_bytes_second = INT64_C(100) << 20;
        return true;
}

/* --- caps, lowered below what is used --- */
void swarm_lower_cap(struct swarm *s)
{
        size_t n = s->w.connections.n, from = world_chance(&s->w, n);
        struct pd_error err;

        for (size_t i = 0; i < n; i++) {
                struct world_connection *c = s->w.connections.at[(from + i) % n];

                if (c->own || !s->w.engine || s->w.dying)
                        continue;
                world_set_cap(c,
                        c->cap_nano > 1 && world_chance(&s->w, 3) ? c->cap_nano / 2
                                                                  : INT64_C(1000000) << world_chance(&s->w, 16),
                        "USD");
                oracle_log(&s->o, "   the cap of %s is %lld nano", c->name, (long long)c->cap_nano);
                if (world_reload(&s->w, &err) < 0)
                        oracle_broken(&s->o, 21, "a lower cap was refused: %s", err.text);
                return;
        }
}
