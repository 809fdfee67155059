/* SPDX-License-Identifier: Apache-2.0 */
/* From a path to a plugin that may be called: whose file it is, what its head says, which slots it has. Each refusal is a sentence.
 *
 * Includes slots and the SDK. path_check() only looks at files; plugin_load() maps the file, which already runs what a hostile one hides in
 * its constructors: portald does that in a child unless it was told `isolation = "none"`. */
#ifndef HOST_LOAD_H
#define HOST_LOAD_H

#include "host/slots.h"

/* Absolute, a regular file, it and each directory and link on the way to it owned by root or owner_uid and writable by nobody
 * else. *ret: the path without links; free it. */
int path_check(const char *path, uint32_t owner_uid, char **ret, struct pd_error *err);

/* The head and the vtable behind it, as found at the exported symbol. expect_kind 0 = any. Fills all of *ret but `library`. */
int plugin_read(
        const struct pd_head *head, uint32_t expect_kind, const char *path, struct plugin *ret, struct pd_error *err);

/* path_check, dlopen, plugin_read. */
int plugin_load(const char *path, uint32_t expect_kind, uint32_t owner_uid, struct plugin *ret, struct pd_error *err);
void plugin_unload(struct plugin *p); /* after close(); stays mapped under sanitizers */

/* {"name","version","kind","abi","size","concurrent","slots":{name: bool}} */
int plugin_info(const struct plugin *p, json_t **ret, struct pd_error *err);

/* open() and close() with a call of their own. cfg is borrowed until close. */
int plugin_open(struct plugin *p, struct slot_call *c, const struct pd_kv *cfg, struct pd_error *err);
void plugin_close(struct plugin *p);

#endif
