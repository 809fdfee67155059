/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

bool vec_grow(void **at, size_t n, size_t *room, size_t size)
{
        size_t bigger;
        void *p;

        if (n < *room)
                return true;
        bigger = *room ? *room + *room / 2 + 1 : 8;
        p = reallocarray(*at, bigger, size);
        if (!p)
                return false;
        *at = p;
        *room = bigger;
        return true;
}
