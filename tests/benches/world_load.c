/* SPDX-License-Identifier: Apache-2.0 */
/* B-16: FROM N: seeds of the simulated world, two at a time, all faults on; one line of JSON. */
#include <stdio.h>
#include <time.h>

#include "world/pool.h"

#define MOST 2000
#define DAYS 30
#define QUIET_DAYS 7

static int64_t now_us(void)
{
        struct timespec t = { 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
        static struct swarm_run runs[MOST];
        static struct swarm_result results[MOST];
        uint64_t from = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, n = argc > 2 ? strtoull(argv[2], NULL, 10) : 20;
        uint64_t events = 0, jobs = 0, bad = 0;
        int64_t began = now_us();

        n = n > MOST ? MOST : n;
        for (uint64_t i = 0; i < n; i++)
                runs[i] = (struct swarm_run){ .seed = from + i, .faults = FAULTS_ALL, .days = DAYS };
        pool_run(runs, results, (size_t)n);
        for (uint64_t i = 0; i < n; i++) {
                events += results[i].events;
                jobs += results[i].jobs;
                bad += results[i].end != SWARM_OK;
        }
        printf("{\"us\": %lld, \"seeds\": %llu, \"events\": %llu, \"jobs\": %llu, \"job_days\": %llu, \"bad\": %llu}\n",
                (long long)(now_us() - began), (unsigned long long)n, (unsigned long long)events,
                (unsigned long long)jobs, (unsigned long long)(jobs * (DAYS + QUIET_DAYS)), (unsigned long long)bad);
        return 0;
}
