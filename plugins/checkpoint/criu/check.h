/* SPDX-License-Identifier: Apache-2.0 */
/* Is what criu restored what the bundle allows? The images say what a process may do; portald's own record, the bundle, decides. */
#ifndef CRIU_CHECK_H
#define CRIU_CHECK_H

#include <jansson.h>

#include "proc.h"

/* Pure. One process of a restored container against the bundle's "process" and "linux". ids: the range that may be used on the machine;
 * id_n 0 = any. -PD_E_CORRUPT names the difference. */
int check_process(
        const json_t *config, const struct parse_status *s, uint32_t id_base, uint32_t id_n, struct pd_error *err);
/* All processes of the container's cgroup: rights as above, each namespace that the bundle asks for is not this process's own. */
int check_container(const struct pd_container *c, struct pd_error *err);

#endif
