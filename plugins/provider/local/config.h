/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a connection to this machine: rates, spans, sizes. Pure: text in, integers out; no double. */
#ifndef LOCAL_CONFIG_H
#define LOCAL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* "0 USD/h", "0.35usd/h", "USD 0.35/h": at most 9 decimals, below a million. */
bool config_rate(const char *text, int64_t *ret_nano_hour, char ret_currency[4]);
/* "2m", "90s", "1h30m": at most 30 days. */
bool config_span(const char *text, int64_t *ret_us);
/* "16GiB", "500GB", "1.5GiB" is not: whole numbers. */
bool config_size(const char *text, uint64_t *ret_bytes);
/* "4", "0.5", "1500m" cores in thousandths, > 0. */
bool config_cpus(const char *text, int32_t *ret_milli);
/* [a-z0-9-]{1,48}; [A-Za-z0-9._-]{1,64} */
bool config_zone(const char *text);
bool config_type(const char *text);

#endif
