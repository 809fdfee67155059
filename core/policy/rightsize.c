/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize: on a move or a resume, chooses CPU and memory by what the job was measured to use (P-14). It moves nothing by itself: the row says what the
 * next move would ask for, and policy_size() says it to whoever looks for a place. */
#include "policy/words.h"

/* Peaks x 1.3, rounded up. */
static uint64_t with_headroom(uint64_t peak, uint64_t most)
{
        unsigned __int128 size = ((unsigned __int128)peak * 13 + 9) / 10;

        return size > most ? most : (uint64_t)size;
}

struct policy_size policy_size(const struct policy_job *j, const struct policy_measures *x, const struct settings *s)
{
        struct policy_size size = { j->cpu_milli, j->memory_bytes };
        uint64_t cpu, memory;

        if (!s->rightsize || j->pinned || !x)
                return size;
        cpu = with_headroom(x->peak_cpu_milli > 0 ? (uint64_t)x->peak_cpu_milli : 0, INT32_MAX);
        memory = with_headroom(x->peak_memory_bytes, UINT64_MAX);
        if ((int32_t)cpu > size.cpu_milli)
                size.cpu_milli = (int32_t)cpu;
        if (memory > size.memory_bytes)
                size.memory_bytes = memory;
        return size;
}

struct policy_decision policy_rightsize(POLICY_ARGS)
{
        struct policy_size size = policy_size(j, x, s);
        char cores[QUANTITY_MAX], memory[QUANTITY_MAX];
        struct policy_decision d;

        (void)m, (void)now_wall_us;
        if (!s->rightsize)
                return policy_keep("rightsize", INT64_MAX, "rightsize is off");
        if (j->pinned)
                return policy_keep("rightsize", INT64_MAX, "it is pinned to one offer by --on");
        if (!x || (x->peak_cpu_milli <= 0 && x->peak_memory_bytes == 0))
                return policy_keep("rightsize", INT64_MAX, "no move is at hand, and no measured peak is given");
        d = policy_keep("rightsize", INT64_MAX,
                "no move is at hand; the next asks for what was used, and 30%% more: %s cores, %s",
                cpu_format(size.cpu_milli, cores), size_format(size.memory_bytes, memory));
        policy_would(&d, "on the next move or resume");
        d.cpu_milli = size.cpu_milli;
        d.memory_bytes = size.memory_bytes;
        return d;
}
