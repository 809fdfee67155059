/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds FROM .. FROM + N - 1 until one goes wrong; exit 1 then, without a search for why. What runs mutants against the swarm (tests/mutants).
 *
 *   world_first_bad FROM N */
#include "base/base.h"

#include <stdio.h>

#include "world/pool.h"

#define MOST 512

int main(int argc, char **argv)
{
        static struct swarm_run runs[MOST];
        static struct swarm_result results[MOST];
        unsigned long from = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
        size_t ran;

        if (n > MOST)
                n = MOST;
        for (size_t i = 0; i < n; i++)
                runs[i] = (struct swarm_run){ .seed = from + i, .faults = FAULTS_ALL, .days = 30 };
        ran = pool_run_until(runs, results, n, true);
        for (size_t i = 0; i < ran; i++)
                if (results[i].end != SWARM_OK) {
                        printf("seed %lu: %s: law %d: %s\n", from + i, swarm_end_name(results[i].end), results[i].law,
                                results[i].text);
                        return 1;
                }
        return 0;
}
