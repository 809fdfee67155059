/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the oracle. */
#ifndef TESTS_WORLD_ORACLE_PARTS_H
#define TESTS_WORLD_ORACLE_PARTS_H

#include "world/oracle.h"

#define SLACK_US (3 * USEC_PER_MIN)

void oracle_held(struct oracle *o, int law); /* its precondition, once more */
int64_t oracle_wall_most(struct oracle *o);
const struct sim_job *oracle_placement(const struct oracle *o, const struct oracle_job *j); /* NULL = none */
/* In this term, as far as anybody can know. */
int64_t oracle_ran_us(const struct oracle *o, const struct oracle_job *j);
bool oracle_lives(const struct oracle_job *j); /* is a placement of it not over? */
void oracle_held_ends(struct oracle *o, const struct sim_job *s, const char *by);
int64_t oracle_running_us(const struct oracle *o, const struct sim_job *s);
/* Has its cloud said that it takes this machine away? The runner may hear of it later than portald. */
bool oracle_cloud_noticed(const struct oracle *o, const struct sim_machine *m);
void oracle_clouds_settled(struct oracle *o);
void oracle_secret(struct oracle *o);
void oracle_money(struct oracle *o);
void oracle_decisions(struct oracle *o);
/* The first column of the first row, with up to two texts bound (NULL = none); -1 = there is no row. */
int64_t oracle_disk_int(struct oracle *o, const char *sql, const char *a, const char *b);

#endif
