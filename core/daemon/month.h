/* SPDX-License-Identifier: Apache-2.0 */
/* Calendar months of a time zone, for caps that are counted by the month. */
#ifndef DAEMON_MONTH_H
#define DAEMON_MONTH_H

#include "base/base.h"

/* The month that an instant is in, as date(1) of this system knows the zone: asked in a process of its own, since the C library tells the time of
 * one zone per process only. Takes milliseconds, at most 5 s; needed at a start, a reload and a month's end. */
int month_of(const char *zone, int64_t at_wall_us, int64_t *ret_from_wall_us, int64_t *ret_until_wall_us,
        struct pd_error *err);

#endif
