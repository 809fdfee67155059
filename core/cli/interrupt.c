/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C as something to read instead of an end, while a command stays with the daemon. */
#include "cli/cli.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

void interrupt_begin(struct cli *c, struct interrupt *ret)
{
        sigset_t set;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &set, &ret->before);
        ret->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        http_interrupt_by(c->http, ret->fd);
}

void interrupt_end(struct cli *c, struct interrupt *i)
{
        struct signalfd_siginfo taken;

        http_interrupt_by(c->http, -1);
        while (i->fd >= 0 && read(i->fd, &taken, sizeof taken) > 0)
                ; /* what was acted on must not end us when it is let through again */
        i->fd = safe_close(i->fd);
        (void)sigprocmask(SIG_SETMASK, &i->before, NULL);
}
