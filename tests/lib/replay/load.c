/* SPDX-License-Identifier: Apache-2.0 */
/* Windows from files of real availability. */
#include "replay/replay.h"

#include <libgen.h>
#include <stdio.h>

#include "base/js.h"

void replay_clear(struct replay_window *w)
{
        free(w->up);
        free(w->price);
        *w = (struct replay_window){ 0 };
}

/* "us-west-2a_v100_1" of the file's name or, where that is a number, of its directory's. */
static void name_of(const char *path, char *ret, size_t n)
{
        char a[512], b[512];
        const char *name;

        (void)snprintf(a, sizeof a, "%s", path);
        (void)snprintf(b, sizeof b, "%s", path);
        name = basename(a);
        if (name[0] >= '0' && name[0] <= '9')
                name = basename(dirname(b));
        (void)snprintf(ret, n, "%.*s", (int)strcspn(name, "."), name);
}

/* A price in the file is a number of dollars with four decimals at most; made nano by way of its hundredths of a cent. */
static int64_t nano_of(const json_t *price)
{
        return (int64_t)(json_number_value(price) * 10000 + 0.5) * 100000;
}

static int zone(
        const struct replay_source *s, const json_t *file, int32_t z, struct replay_window *w, struct pd_error *err)
{
        const json_t *data = json_object_get(file, "data"), *prices = json_object_get(file, "prices");
        int64_t gap = json_integer_value(json_object_get(json_object_get(file, "metadata"), "gap_seconds"));
        int32_t n = (int32_t)json_array_size(data) - s->first;

        n = n > s->most ? s->most : n;
        if (gap <= 0 || n <= 0)
                return pd_fail(err, PD_E_INVALID, "%s: no \"gap_seconds\", or \"data\" is too short", s->paths[z]);
        if (z == 0) {
                size_t cells = (size_t)n * (size_t)s->split * s->paths_n;

                *w = (struct replay_window){ .zones = (int32_t)s->paths_n,
                        .ticks = n * s->split,
                        .tick_us = gap * USEC_PER_SEC / s->split,
                        .on_demand = s->on_demand_nano };
                w->up = calloc(cells, sizeof *w->up);
                w->price = calloc(cells, sizeof *w->price);
                if (!w->up || !w->price)
                        return pd_fail(err, PD_E_NOMEM, "a window of %zu cells", cells);
        }
        if (n * s->split != w->ticks || gap * USEC_PER_SEC / s->split != w->tick_us)
                return pd_fail(err, PD_E_INVALID, "%s is not aligned with %s", s->paths[z], s->paths[0]);
        name_of(s->paths[z], w->names[z], sizeof w->names[z]);
        for (int32_t t = 0; t < w->ticks; t++) {
                size_t i = (size_t)(s->first + t / s->split), at = (size_t)t * s->paths_n + (size_t)z;

                w->up[at] = json_number_value(json_array_get(data, i)) >= 1;
                w->price[at] = prices && s->spot_nano <= 0 ? nano_of(json_array_get(prices, i)) : s->spot_nano;
        }
        return 0;
}

int replay_load(const struct replay_source *s, struct replay_window *ret, struct pd_error *err)
{
        struct replay_window w = { 0 };
        int r = 0;

        if (s->paths_n == 0 || s->paths_n > REPLAY_ZONES_MAX || s->split < 1)
                return pd_fail(err, PD_E_INVALID, "%zu zones: there may be 1 to %d", s->paths_n, REPLAY_ZONES_MAX);
        for (size_t z = 0; z < s->paths_n && r == 0; z++) {
                js_owned *file = json_load_file(s->paths[z], 0, NULL);

                r = file ? zone(s, file, (int32_t)z, &w, err)
                         : pd_fail(err, PD_E_INVALID, "%s cannot be read as JSON", s->paths[z]);
        }
        if (r < 0) {
                replay_clear(&w);
                return r;
        }
        *ret = w;
        return 0;
}
