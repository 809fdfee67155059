/* SPDX-License-Identifier: Apache-2.0 */
/* What may name an object (portald/vault.h). Pure. */
#ifndef VAULT_NAME_H
#define VAULT_NAME_H

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_BYTES 512

static inline bool name_ok(const char *name)
{
        size_t n = name ? strlen(name) : 0;

        if (n == 0 || n > NAME_MAX_BYTES ||
                strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-") != n)
                return false;
        for (const char *part = name;; part += strcspn(part, "/") + 1) {
                size_t len = strcspn(part, "/");

                if (len == 0 || strspn(part, ".") >= len || len > 255)
                        return false;
                if (part[len] == '\0')
                        return true;
        }
}

#endif
