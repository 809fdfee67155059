/* SPDX-License-Identifier: Apache-2.0 */
/* The cloud's state in a file, so that it outlives its process, and two processes see the same cloud: each call locks it, reads it if
 * another has written, and replaces it in one step. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "cloud.h"

struct disk;

int disk_new(struct disk **ret, const char *path, struct pd_error *err);
void disk_free(struct disk *d);
/* Waits for whoever has it, at most 10 s. */
int disk_lock(struct disk *d, struct pd_error *err);
void disk_unlock(struct disk *d);
/* Is what lies there another state than the one that was last read or written here? */
bool disk_changed(struct disk *d);
/* Brings the cloud into the state that lies there. */
int disk_load(struct disk *d, struct cloud *c, struct pd_error *err);
/* Writes it if it is another than the last. */
int disk_save(struct disk *d, const struct cloud *c, struct pd_error *err);
/* Machines whose guests have left their last word beside the file. */
void disk_recipes(struct disk *d, struct cloud *c, int64_t now_wall_us);

#endif
