/* SPDX-License-Identifier: Apache-2.0 */
/* What portald and portald-plugin-host say to each other, over one socketpair, in frames (frame/frame.h).
 *
 *   load   {"path", "kind": n (0 = any), "owner_uid", "timeout_us"}, blob = open()'s configuration as a JSON object
 *          -> plugin_info(). Once.
 *   check  {"path", "kind", "owner_uid"} -> plugin_info(): maps the file, calls nothing.
 *   call   {"call": n, "slot", "token", "timeout_us"}, blob = the arguments; descriptors beside
 *          -> {"n": bytes of the outcome}, blob = the outcome or its beginning
 *   more   {"call": n, "at": offset} -> blob = how the outcome goes on
 *   log    (event from the child) {"level", "text"}
 *
 * The outcome is JSON text: {"error": {..} | null, "ret": {..} | null, "items": [..], "text": {..}}. Configuration, arguments and
 * outcome travel as raw text because a frame's own JSON has its keys sorted, and a kv's order is the caller's. */
#ifndef HOST_CHILD_H
#define HOST_CHILD_H

#include "base/base.h"

#define CHILD_FD 3
#define CHILD_OUTCOME_MAX (UINT32_C(64) << 20) /* bytes of one outcome's text */

/* portald-plugin-host's whole life on that socket: ends when the other end does. */
int child_run(int fd, struct pd_error *err);

#endif
