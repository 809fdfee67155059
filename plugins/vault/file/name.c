/* SPDX-License-Identifier: Apache-2.0 */
#include "name.h"

#include <stdio.h>
#include <string.h>

#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

bool name_ok(const char *name)
{
        size_t n = name ? strlen(name) : 0;

        if (n == 0 || n > NAME_BYTES_MAX || strspn(name, ALPHABET "/") != n)
                return false;
        for (const char *part = name;; part += strcspn(part, "/") + 1) {
                size_t len = strcspn(part, "/");

                if (len == 0 || strspn(part, ".") >= len)
                        return false;
                if (part[len] == '\0')
                        return true;
        }
}

void name_to_path(const char *name, char ret[NAME_PATH_MAX])
{
        const char *begins = ""; /* "=" after a part that was cut */
        size_t at = 0;

        for (;;) {
                size_t len = strcspn(name, "/");
                const char *ends = len > NAME_CHUNK ? "+/" : name[len] ? "~/" : "";

                if (len > NAME_CHUNK)
                        len = NAME_CHUNK;
                at += (size_t)snprintf(ret + at, NAME_PATH_MAX - at, "%s%.*s%s", begins, (int)len, name, ends);
                if (!*ends)
                        return;
                begins = *ends == '+' ? "=" : "";
                name += len + (*ends == '~');
        }
}

bool name_append(char name[NAME_BYTES_MAX + 2], const char *entry, bool *ret_folder)
{
        size_t at = strlen(name), n = strlen(entry);
        char last = n ? entry[n - 1] : '\0';

        if (*entry == '=')
                entry++, n--;
        *ret_folder = last == '~' || last == '+';
        n -= *ret_folder;
        if (n == 0 || at + n > NAME_BYTES_MAX || strspn(entry, ALPHABET) != n)
                return false;
        (void)snprintf(name + at, NAME_BYTES_MAX + 2 - at, "%.*s%s", (int)n, entry, last == '~' ? "/" : "");
        return true;
}
