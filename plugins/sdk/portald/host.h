/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin may ask of its host during a call, and only then. */
#ifndef PORTALD_HOST_H
#define PORTALD_HOST_H

#include <stddef.h>

#include <portald/plugin.h>

enum pd_log_level { PD_LOG_ERROR = 3, PD_LOG_WARNING = 4, PD_LOG_INFO = 6, PD_LOG_DEBUG = 7 };

struct pd_host {
        uint32_t size;
        uint32_t abi_minor; /* of the host */

        /* A line for the host's journal, named with the plugin. Never a secret. */
        void (*log)(struct pd_call *call, enum pd_log_level level, const char *text);
        /* Text that goes back with the answer, copied at once. Same key again replaces. 0, or -PD_E_INVALID for a key
         * that the slot does not name, or -PD_E_FULL past 1 MiB an answer. */
        int (*put)(struct pd_call *call, const char *key, const char *value);
        /* Not 0 when nobody waits for the answer any more: stop soon, leave nothing half done, return -PD_E_CANCELLED. */
        int (*cancelled)(struct pd_call *call);
        int64_t (*now_wall_us)(struct pd_call *call);             /* CLOCK_REALTIME */
        int64_t (*now_boot_us)(struct pd_call *call);             /* CLOCK_BOOTTIME */
        int (*random)(struct pd_call *call, void *ret, size_t n); /* n <= 256 bytes from the kernel */
};

#endif
