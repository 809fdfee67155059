/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the oracle. */
#ifndef TESTS_WORLD_ORACLE_PARTS_H
#define TESTS_WORLD_ORACLE_PARTS_H

#include "world/oracle.h"

#define SLACK_US (3 * USEC_PER_MIN)

void oracle_held(struct oracle *o, int law); /* its precondition, once more */
int64_t oracle_wall_most(struct oracle *o);
const struct sim_job *oracle_placement(const struct oracle *o, const struct oracle_job *j); /* NULL = none */
int64_t oracle_running_us(const struct oracle *o, const struct sim_job *s);
/* The first column of the first row, with up to two texts bound (NULL = none); -1 = there is no row. */
int64_t oracle_disk_int(struct oracle *o, const char *sql, const char *a, const char *b);

#endif
