/* SPDX-License-Identifier: Apache-2.0 */
/* The one symbol of the shared object; programs that link the provider go by sim.h. */
#include "sim.h"

PD_EXPORT const struct pd_head *const portald_plugin = &sim_provider.head;
