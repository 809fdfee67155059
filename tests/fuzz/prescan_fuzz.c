/* SPDX-License-Identifier: Apache-2.0 */
/* What the prescan passes, libconfig must read: but for keys given twice and arrays of mixed types, which are libconfig's to tell. */
#include <libconfig.h>

#include "config/prescan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct seen {
        size_t faults, items;
};

static void on_fault(void *arg, unsigned int line, const char *text, const char *fix)
{
        struct seen *s = arg;

        s->faults++;
        if (line == 0 || !*text || !*fix)
                abort();
}

static void on_item(void *arg, unsigned int key_line, unsigned int line)
{
        struct seen *s = arg;

        s->items++;
        if (line < key_line)
                abort();
}

static bool fault_of_libconfig(const char *text)
{
        return streq(text, "duplicate setting name") || streq(text, "mismatched element type in array");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
        struct seen seen = { 0 };
        struct prescan_events events = { on_fault, on_item, &seen };
        char *text;
        config_t c;

        if (prescan((const char *)bytes, n, &events) > 0) {
                if (seen.faults == 0)
                        abort();
                return 0;
        }
        text = malloc(n + 2);
        if (!text)
                return 0;
        if (n)
                memcpy(text, bytes, n);
        memcpy(text + n, "\n", 2);
        config_init(&c);
        if (config_read_string(&c, text) != CONFIG_TRUE && !fault_of_libconfig(config_error_text(&c)))
                abort();
        config_destroy(&c);
        free(text);
        return 0;
}
