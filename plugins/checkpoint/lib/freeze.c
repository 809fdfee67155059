/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own freezer: every process of the cgroup stands still at once, and none can see that it did. */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_in_cgroup(const struct pd_container *c, const char *name, int flags)
{
        char path[4200];

        if (!c->cgroup || !*c->cgroup || snprintf(path, sizeof path, "%s/%s", c->cgroup, name) >= (int)sizeof path) {
                errno = ENOENT;
                return -1;
        }
        return open(path, flags | O_CLOEXEC | O_NOFOLLOW);
}

bool capture_can_freeze(const struct pd_container *c)
{
        pd_cleanup(capture_closep) int fd = open_in_cgroup(c, "cgroup.freeze", O_WRONLY);

        return fd >= 0;
}

/* Reads "frozen 0|1" from an open cgroup.events; -1 = it does not say. */
static int read_frozen(int fd)
{
        char text[256];
        ssize_t n = pread(fd, text, sizeof text - 1, 0);
        const char *at;

        if (n < 0)
                return -1;
        text[n] = '\0';
        at = strstr(text, "frozen ");
        return at ? at[7] == '1' : -1;
}

int capture_freeze(struct pd_call *call, const struct pd_container *c, bool frozen, struct pd_error *err)
{
        pd_cleanup(capture_closep) int set = open_in_cgroup(c, "cgroup.freeze", O_WRONLY);
        pd_cleanup(capture_closep) int events = open_in_cgroup(c, "cgroup.events", O_RDONLY);

        if (set < 0 && errno == ENOENT && !frozen)
                return 0; /* it has ended: nothing stands still */
        if (set < 0 || events < 0)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "container %s cannot be made to stand still: no freezer in its cgroup \"%s\" (needs cgroup v2)",
                        c->id, c->cgroup ? c->cgroup : "");
        if (write(set, frozen ? "1" : "0", 1) != 1)
                return pd_fail(
                        err, PD_E_IO, "%s of container %s: %s", frozen ? "freeze" : "thaw", c->id, strerror(errno));
        for (;;) {
                int now = read_frozen(events), r;

                if (now == frozen)
                        return 0;
                if (now < 0)
                        return pd_fail(err, PD_E_UNSUPPORTED,
                                "the cgroup of container %s does not say whether it is frozen", c->id);
                r = capture_wait(call, events, POLLPRI, capture_until(call, CAPTURE_SLICE_US), err);
                if (r < 0)
                        return r;
        }
}
