/* SPDX-License-Identifier: Apache-2.0 */
#include "world/pool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 2
#define SEED_TIME_S 240 /* of real time: far more than any seed needs */

struct slot {
        pid_t pid;
        struct swarm_run run;
        struct swarm_result *result; /* shared with the process */
        struct swarm_result *out;
};

const char *swarm_end_name(enum swarm_end end)
{
        static const char *const names[] = { "all laws held", "?", "a law was broken", "no progress",
                "the same seed gave another digest", "a crash" };

        return names[end];
}

static struct swarm_result *shared(size_t n)
{
        void *p =
                mmap(NULL, n * sizeof(struct swarm_result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                abort();
        return p;
}

static void start(struct slot *s, const struct swarm_run *run, struct swarm_result *out)
{
        s->run = *run;
        s->out = out;
        *s->result = (struct swarm_result){ 0 };
        (void)fflush(stdout);
        s->pid = fork();
        if (s->pid < 0)
                abort();
        if (s->pid > 0)
                return;
        (void)alarm(SEED_TIME_S);
        if (!run->verbose) {
                int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

                if (null >= 0 && !getenv("WORLD_STDERR"))
                        (void)dup2(null, STDERR_FILENO);
        }
        swarm(run, s->result);
        (void)fflush(stdout);
        exit(0);
}

static struct slot *reap(struct slot *slots)
{
        int status;
        pid_t pid = wait(&status);

        for (size_t i = 0; i < WORKERS; i++) {
                struct slot *s = &slots[i];

                if (s->pid != pid)
                        continue;
                s->pid = 0;
                *s->out = *s->result;
                if (WIFSIGNALED(status)) {
                        s->out->end = WTERMSIG(status) == SIGALRM ? SWARM_STUCK : SWARM_CRASHED;
                        s->out->signal = WTERMSIG(status);
                } else if (WEXITSTATUS(status) != 0) {
                        s->out->end = SWARM_CRASHED;
                        s->out->signal = WEXITSTATUS(status);
                }
                return s;
        }
        abort();
}

size_t pool_run_until(const struct swarm_run *runs, struct swarm_result *results, size_t n, bool first_bad)
{
        struct slot slots[WORKERS] = { 0 };
        size_t next = 0, busy = 0;

        for (size_t i = 0; i < WORKERS; i++)
                slots[i].result = shared(1);
        while (next < n || busy > 0) {
                for (size_t i = 0; i < WORKERS && next < n; i++)
                        if (!slots[i].pid) {
                                start(&slots[i], &runs[next], &results[next]);
                                next++;
                                busy++;
                        }
                if (busy > 0) {
                        const struct slot *s = reap(slots);

                        busy--;
                        if (first_bad && s->out->end != SWARM_OK)
                                n = next; /* those under way still end */
                }
        }
        for (size_t i = 0; i < WORKERS; i++)
                (void)munmap(slots[i].result, sizeof(struct swarm_result));
        return next;
}

void pool_run(const struct swarm_run *runs, struct swarm_result *results, size_t n)
{
        (void)pool_run_until(runs, results, n, false);
}

struct swarm_result pool_run_one(const struct swarm_run *run)
{
        struct swarm_result r;

        pool_run(run, &r, 1);
        return r;
}
