/* SPDX-License-Identifier: Apache-2.0 */
/* What the shipped captures have in common: waiting by the call's deadline, files of a directory that belongs to the job, and
 * the cgroup's freezer.
 *
 * Includes the SDK and the C library only. Promises: no wait outlasts the call's deadline or its cancellation; nothing that the job
 * put into its directory is trusted: no symbolic link is followed, no fifo is waited for, sizes are read once and held to. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <portald/checkpoint.h>

#define CAPTURE_SLICE_US INT64_C(100000) /* a cancelled call is seen within this                     */
#define CAPTURE_DEPTH_MAX 64             /* folders below the job's directory                        */

/* wait.c */
int64_t capture_now(struct pd_call *call);  /* CLOCK_BOOTTIME, us */
int64_t capture_left(struct pd_call *call); /* us to the call's deadline, never negative */
/* The earlier of the call's deadline and now + span. */
int64_t capture_until(struct pd_call *call, int64_t span_us);
/* 1 = fd has one of `events` (or an error to read), 0 = `until` has come before the call's own deadline; else -PD_E_DEADLINE or
 * -PD_E_CANCELLED. fd -1 only waits. Returns 0 after a slice too when fd is -1. */
int capture_wait(struct pd_call *call, int fd, short events, int64_t until_boot_us, struct pd_error *err);
/* Fails with the call's deadline or cancellation, if there is one. */
int capture_check(struct pd_call *call, struct pd_error *err);
/* Frees descriptors: pd_cleanup(capture_closep) int fd = -1; */
void capture_closep(const int *fd);
/* Hands one value to the caller; what the host would not take (control characters, length) is made to fit. */
int capture_value(pd_value_fn each, void *arg, const char *path, const char *type, const char *reason, const char *fix);
/* ... of one process (0 = none) and one descriptor (-1 = none). */
int capture_value_at(pd_value_fn each, void *arg, const char *path, const char *type, const char *reason,
        const char *fix, int32_t pid, int32_t fd);
/* text into ret: control characters become spaces, cut between characters, never empty (`fallback` instead). */
void capture_text(char *ret, size_t n, const char *text, const char *fallback);

/* files.c. owner NULL = root's, as it is made. */
struct capture_owner {
        uid_t uid;
        gid_t gid;
};
int capture_open_dir(const char *path, int *ret_fd, struct pd_error *err);
/* One regular file, durable in the end. size UINT64_MAX = whatever it is; else -PD_E_CORRUPT when it is not that long. ret_crc may be NULL. */
int capture_copy(struct pd_call *call, int from_dir, int to_dir, const char *name, uint64_t size,
        const struct capture_owner *owner, uint32_t *ret_crc, struct pd_error *err);
/* Everything below; symbolic links as links. What is neither file, folder nor link is -PD_E_REFUSED with its path as subject. */
int capture_copy_tree(
        struct pd_call *call, int from_dir, int to_dir, const struct capture_owner *owner, struct pd_error *err);
/* Removes everything in it. */
int capture_clear(int dir, struct pd_error *err);
/* Was any regular file below changed at or after that time (CLOCK_REALTIME, us)? *ret_files = how many there are. */
int capture_changed_since(struct pd_call *call, int dir, int64_t since_wall_us, bool *ret_changed, uint64_t *ret_files,
        struct pd_error *err);
int capture_sync(int fd, const char *what, struct pd_error *err);
uint32_t capture_crc(uint32_t crc, const void *data, size_t n); /* CRC-32 as in zlib; 0 to begin */

/* freeze.c */
bool capture_can_freeze(const struct pd_container *c);
/* Returns when the kernel says that every process stands still (or runs again). Twice = once. */
int capture_freeze(struct pd_call *call, const struct pd_container *c, bool frozen, struct pd_error *err);

#endif
