/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds in processes of their own, two at a time: a crash, or a seed that never ends, is one bad result among others. */
#ifndef TESTS_WORLD_POOL_H
#define TESTS_WORLD_POOL_H

#include "world/swarm.h"

/* Until the first that is not good, where first_bad; the rest then keeps SWARM_OK. Returns how many were run. */
size_t pool_run_until(const struct swarm_run *runs, struct swarm_result *results, size_t n, bool first_bad);
void pool_run(const struct swarm_run *runs, struct swarm_result *results, size_t n);
struct swarm_result pool_run_one(const struct swarm_run *run);
const char *swarm_end_name(enum swarm_end end);

#endif
