/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a config file over before libconfig does. libconfig 1.5 wraps 3000000000, reads 1e400 as infinite, follows @include to any file
 * and leaks on what it cannot parse; so the whole grammar is checked here, narrower, and libconfig only ever sees what it reads
 * as it is written:
 *
 *   file    = settings                      settings = { NAME ("=" | ":") value [";" | ","] }
 *   value   = STRING {STRING} | true | false | INTEGER | "{" settings "}" | "[" [scalar {"," scalar}] "]" | "(" [value {"," value}] ")"
 *   INTEGER = ["+" | "-"] 1 to 9 decimal digits     comments: # and // to the end of the line, and those of C
 *
 * Pure: bytes in, faults out. */
#ifndef CONFIG_PRESCAN_H
#define CONFIG_PRESCAN_H

#include "base/base.h"

#define PRESCAN_BYTES_MAX (UINT32_C(1) << 20)
#define PRESCAN_DEPTH_MAX 16
#define PRESCAN_INT_DIGITS 9

struct prescan_events {
        /* text: what is wrong, with the value; fix: what to write. Both valid for the call only. */
        void (*fault)(void *arg, unsigned int line, const char *text, const char *fix);
        /* A value in a list: its line and that of the list's key. libconfig 1.5 gives such values the line of the token behind. NULL = not wanted. */
        void (*item)(void *arg, unsigned int key_line, unsigned int line);
        void *arg;
};

/* How many faults there were; 0 = libconfig may see it. Faults of the tokens are told all (CONFIG_FAULTS_MAX at most), of the grammar the first. */
size_t prescan(const char *bytes, size_t n, const struct prescan_events *events);

#endif
