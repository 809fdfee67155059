/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include <ctype.h>

#define ON_FIX "write CONNECTION[/ZONE[/TYPE[/spot]]], for example lab or aws/us-east-1a/m5.large/spot"

/* One part, up to the next slash or the end. */
static bool take_part(const char **at, char *ret, size_t n)
{
        size_t len = strcspn(*at, "/");

        if (len == 0 || len >= n)
                return false;
        for (size_t i = 0; i < len; i++)
                if (!isalnum((unsigned char)(*at)[i]) && !strchr("._-", (*at)[i]))
                        return false;
        memcpy(ret, *at, len);
        ret[len] = '\0';
        *at += len;
        return true;
}

int spec_on_parse(const char *text, struct spec_on *ret, struct pd_error *err)
{
        struct spec_on on = { 0 };
        const struct {
                char *at;
                size_t n;
                const char *what;
        } parts[] = {
                { on.connection, sizeof on.connection, "connection" },
                { on.zone, sizeof on.zone, "zone" },
                { on.type, sizeof on.type, "type" },
        };
        const char *s = text;

        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                if (!take_part(&s, parts[i].at, parts[i].n))
                        return pd_fail(err, PD_E_INVALID,
                                "\"%.60s\" has no valid %s (1 to %zu letters, digits, dots, dashes): " ON_FIX, text,
                                parts[i].what, parts[i].n - 1);
                on.exact = i == 2;
                if (*s == '\0')
                        goto done;
                s++;
        }
        if (!streq(s, "spot"))
                return pd_fail(err, PD_E_INVALID, "\"%.60s\" has \"%.20s\" behind the type: " ON_FIX, text, s);
        on.spot = true;
done:
        *ret = on;
        return 0;
}
