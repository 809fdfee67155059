/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the simulated cloud's configuration, traces and fault scripts: text in, integers out. Pure; no double. */
#ifndef SIM_WORDS_H
#define SIM_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_SPAN_MAX (INT64_C(36500) * 86400 * 1000000)
#define NANO INT64_C(1000000000)

/* "2m", "90s", "1h30m", "250ms", "40us", "0": at most 100 years. */
bool word_span(const char *text, int64_t *ret_us);
/* "3.06": at most 9 decimals, below a million. */
bool word_money(const char *text, int64_t *ret_nano);
/* "3.06 USD/h" or "3.06usd/h" */
bool word_rate(const char *text, int64_t *ret_nano_hour, char ret_currency[4]);
/* "61GiB", "100GB": whole numbers. */
bool word_size(const char *text, uint64_t *ret_bytes);
/* "8", "0.5": cores in thousandths, > 0 */
bool word_cpus(const char *text, int32_t *ret_milli);
/* A whole number from low to high. */
bool word_int(const char *text, int64_t low, int64_t high, int64_t *ret);
/* "1/20" (of so many), "#3" (only the third time), "always" = 1/1. */
bool word_odds(const char *text, uint32_t *ret_num, uint32_t *ret_den, uint32_t *ret_nth);
/* "2023-02-15T00:00:00Z", to the second, 1970..2200. */
bool word_instant(const char *text, int64_t *ret_wall_us);
bool word_zone(const char *text);     /* [a-z0-9-]{1,48}        */
bool word_type(const char *text);     /* [A-Za-z0-9._-]{1,64}   */
bool word_currency(const char *text); /* three capitals         */

/* The next word of *at up to `end`, blanks passed over, copied into buf; false = none, or it is longer than buf. */
bool word_next(const char **at, const char *end, char *buf, size_t n);

#endif
