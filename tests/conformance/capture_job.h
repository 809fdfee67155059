/* SPDX-License-Identifier: Apache-2.0 */
/* A job as a capture sees it, for the suite: its directory, its socket with scripted answers, and a cgroup where the machine has the freezer.
 * The answers are given from the test's own loop, while the capture is at work in its process or thread. */
#ifndef TESTS_CAPTURE_JOB_H
#define TESTS_CAPTURE_JOB_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "suite.h"

#define NEVER "never" /* the fake takes the request and says nothing */

struct fake_job {
        char dir[256], ckpt[300], sock[300], cgroup[400];
        const char *answers[8][2]; /* op, what is sent; "" = hangs up; an op that is not here hangs up too */
        char seen[512];            /* the ops in the order they came: "save,abort," */
        int listener;
        sd_event_source *accept_source;
        int held[64]; /* connections that are never answered */
        size_t held_n;
        int32_t pid;
        const char *runtime;
        json_t *settings;
};

bool fake_listen(struct fake_job *j, sd_event *loop);
void fake_deaf(struct fake_job *j);
/* A cgroup of its own below the first cgroup2 mount; "" where that cannot be made. */
void fake_cgroup(struct fake_job *j);
bool fake_make(struct fake_job *j);
void fake_remove(struct fake_job *j);
json_t *fake_container(const struct fake_job *j); /* struct pd_container's members */

void remove_tree(const char *path);
void write_text(const char *dir, const char *name, const char *text, size_t n);
char *read_text(const char *dir, const char *name); /* at most 64 KiB; "" where there is none; free it */
int entries(const char *dir);                       /* how many a directory has; -1 = no directory */

#endif
