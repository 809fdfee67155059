/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people write them: "45m", "1.5GiB", "20usd", "0.35usd/h", "250m" of a core. A unit is always needed;
 * no double is used; what does not fit exactly is refused with the value, the rule and an example.
 *
 *   duration   us s m h d w, also ms; "1h30m"; "off" only where a setting says so (not here)
 *   size       B KB MB GB TB KiB MiB GiB TiB
 *   cpu        2 or 0.5 or "500m": the one quantity whose unit may be left out ("cores")
 *   money      20usd, 20.50 USD, EUR 3: an ISO 4217 code on either side; at most 9 decimals
 *   rate       money "/h"
 *   percent    "20%", at most 2 decimals, in hundredths of a percent */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include "base/base.h"

#define NANO INT64_C(1000000000)

struct money {
        int64_t nano;     /* 1e-9 of the currency's unit */
        char currency[4]; /* ISO 4217, upper case; "" = none */
};

int duration_parse(const char *text, int64_t *ret_us, struct pd_error *err); /* >= 0 */
int size_parse(const char *text, uint64_t *ret_bytes, struct pd_error *err);
int cpu_parse(const char *text, int32_t *ret_milli, struct pd_error *err);          /* > 0 */
int money_parse(const char *text, struct money *ret, struct pd_error *err);         /* >= 0 */
int rate_parse(const char *text, struct money *ret_hour, struct pd_error *err);     /* >= 0 */
int percent_parse(const char *text, int32_t *ret_hundredths, struct pd_error *err); /* 0..100 % */

/* For people, exact for what people write: "1h30m", "72h", "90s", "0.35 USD". buf >= 48 bytes; returns buf. */
#define QUANTITY_MAX 48
char *duration_format(int64_t us, char *buf);
char *size_format(uint64_t bytes, char *buf); /* the largest binary unit with at most 1 decimal, rounded half up */
char *cpu_format(int32_t milli, char *buf);
char *money_format(const struct money *m, char *buf);   /* at least 2 decimals, as many as it has */
char *rate_format(const struct money *hour, char *buf); /* "0.35 USD/h" */

/* Cost of running for cumulative_us at a price per hour, rounded up. Saturates at INT64_MAX. Inputs >= 0. */
int64_t money_cost(int64_t price_nano_hour, int64_t cumulative_us);

/* RFC 3339 in UTC with microseconds ("2026-11-30T20:36:24.000001Z"), and as people read it in local time with offset
 * ("2026-11-30 20:36:24 +00:00"). buf >= QUANTITY_MAX. Pure: the offset is an argument. */
char *time_format_utc(int64_t wall_us, char *buf);
char *time_format_local(int64_t wall_us, int32_t offset_s, char *buf);
int time_parse_utc(const char *text, int64_t *ret_wall_us, struct pd_error *err);

#endif
