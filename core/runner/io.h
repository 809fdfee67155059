/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the runner: whole-file writes that survive the loss of power, reads with a bound, directories, clocks.
 * Includes base only. Promises: disk_write() leaves the old file or the new one, never a part. */
#ifndef RUNNER_IO_H
#define RUNNER_IO_H

#include <sys/types.h>

#include "base/base.h"
#include "base/js.h"

#define DISK_READ_MAX (UINT32_C(16) << 20)

int64_t now_wall_us(void); /* CLOCK_REALTIME */
int64_t now_boot_us(void); /* CLOCK_BOOTTIME */

/* A path made by printf, to be freed; NULL = no memory. */
char *path_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* temp + fsync + rename + directory fsync. */
int disk_write(const char *path, const void *bytes, size_t n, mode_t mode, struct pd_error *err);
int disk_write_json(const char *path, const json_t *v, struct pd_error *err); /* mode 0600 */
/* *ret gets a NUL behind its n bytes; free it. -PD_E_NOT_FOUND, -PD_E_FULL beyond max. */
int disk_read(const char *path, size_t max, char **ret, size_t *ret_n, struct pd_error *err);
int disk_read_json(const char *path, json_t **ret, struct pd_error *err);
/* For kernel files: one write, no temp file. */
int disk_poke(const char *path, const char *text, struct pd_error *err);

int disk_mkdir(const char *path, mode_t mode, struct pd_error *err); /* exists already = 0, its mode is set */
bool disk_exists(const char *path);
/* Removes a tree without following links or leaving the file system; gone already = 0. May take long: call it in a worker. */
int disk_rmtree(const char *path, struct pd_error *err);
int disk_sync_tree(const char *path, struct pd_error *err); /* syncfs of its file system */

/* starttime (field 22 of /proc/PID/stat) tells a process from a later one with its number; 0 = no such process. */
uint64_t proc_start_time(pid_t pid);

#endif
