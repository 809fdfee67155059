/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc, criu's log and criu's image of groups may hold. The first byte chooses. */
#include "../../plugins/checkpoint/criu/cgimage.h"
#include "../../plugins/checkpoint/criu/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int good)
{
        if (!good)
                abort();
}

static void one_row(char kind, const char *text)
{
        struct parse_inet inet;
        struct parse_map map;
        struct parse_lock lock;

        if (kind == '4' || kind == '6')
                check(!parse_inet(text, kind == '6', &inet) || (strchr(inet.local, ':') && strchr(inet.remote, ':')));
        else if (kind == 'm')
                check(!parse_map(text, &map) || (map.name >= text && map.name <= text + strlen(text)));
        else if (parse_lock(text, &lock))
                check(*lock.kind != '\0');
}

static void one_text(char kind, const char *text)
{
        struct parse_status status;
        struct parse_link_of of;
        const char *at;

        if (kind == 's') {
                parse_status(text, &status);
        } else if (kind == 'l') {
                parse_link(text, &of);
                check(of.kind <= LINK_OTHER && strlen(of.type) < sizeof of.type);
        } else {
                check(parse_log(text, &at) <= LOG_DROPPED);
                check(at >= text && at <= text + strlen(text));
        }
}

/* What was rewritten can be rewritten again, to the same. */
static void one_image(const uint8_t *data, size_t n)
{
        uint8_t *once, *twice;
        size_t once_n, twice_n;

        if (!cgimage_rewrite(data, n, "/jobs/a/payload", &once, &once_n))
                return;
        check(cgimage_rewrite(once, once_n, "/jobs/a/payload", &twice, &twice_n));
        check(once_n == twice_n && memcmp(once, twice, once_n) == 0);
        free(once);
        free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        char *copy;

        if (n == 0)
                return 0;
        if (data[0] == 'i') {
                one_image(data + 1, n - 1);
                return 0;
        }
        copy = strndup((const char *)data + 1, n - 1); /* of its exact size, so that a byte too far is seen */
        if (!copy)
                return 0;
        if (strchr("46mk", data[0]))
                one_row((char)data[0], copy);
        else
                one_text((char)data[0], copy);
        free(copy);
        return 0;
}
