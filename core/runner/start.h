/* SPDX-License-Identifier: Apache-2.0 */
/* What start.c and restore.c share: one start on its way. Includes chain.h and image.h. */
#ifndef RUNNER_START_H
#define RUNNER_START_H

#include "runner/chain.h"
#include "runner/image.h"

struct start {
        struct chain c; /* first: a chain is its start */
        struct image image;
        json_t *manifest; /* of the checkpoint, NULL = a fresh start */
        int fd;           /* the descriptor lent to the call that goes on */
        int sync_fd;      /* the supervisor's pipe */
        sd_event_source *sync;
        char sync_text[8192];
        size_t sync_n;
        struct pd_error sync_error;
        bool spawned, sync_done;
        int64_t verify_until_boot_us;
        bool verify_pause;
        json_t *by_runtime; /* what the capture said of how the runtime restores it; NULL = it is created and started */
};

/* launch.c */
#define START_STEPS 15
#define START_CONTAINER 12 /* index of the step that starts the container */
extern const struct chain_step start_steps[START_STEPS];
int start_own_dir(struct job *j, char *path_owned, mode_t mode, uint32_t uid, uint32_t gid, struct pd_error *err);

/* restore.c: steps; each is nothing where the order has no "restore" */
int restore_fetch_manifest(struct chain *c, struct pd_error *err);
int restore_manifest_here(struct chain *c, const struct pd_error *why, struct pd_error *err);
int restore_fetch_layer(struct chain *c, struct pd_error *err);
int restore_fetch_payload(struct chain *c, struct pd_error *err);
int restore_object_here(struct chain *c, const struct pd_error *why, struct pd_error *err);
int restore_unpack(struct chain *c, struct pd_error *err);
int restore_unpacked(struct chain *c, const struct pd_error *why, struct pd_error *err);
int restore_capture(struct chain *c, struct pd_error *err);
int restore_captured(struct chain *c, const struct pd_error *why, struct pd_error *err);
int restore_verify(struct chain *c, struct pd_error *err);
int restore_verified(struct chain *c, const struct pd_error *why, struct pd_error *err);
int restore_let_go(struct chain *c, struct pd_error *err);
/* The first error of the log that a runtime's restore wrote; false = it names none. */
bool restore_log_said(const json_t *by_runtime, struct pd_error *ret);
const char *restore_checkpoint(const struct job *j); /* NULL = none asked for */

/* prestart.c: the bundle's process first runs a capture's command (a JSON array of words), then becomes the job's. */
int prestart_into_bundle(struct job *j, const char *text, struct pd_error *err);

#endif
