/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated cloud as a provider. For programs of this tree that link it instead of loading it: the world of the tests and portald's own
 * simulations. Its clock is the host's now_wall_us(), plus what the option `clock` says. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "cloud.h"

extern const struct pd_provider sim_provider;

/* The cloud behind an instance's self. */
struct cloud *sim_cloud(void *self);

#endif
