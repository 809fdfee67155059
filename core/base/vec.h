/* SPDX-License-Identifier: Apache-2.0 */
/* A growing array of values. `VEC(int) v = {0};` needs no initialisation call; vec_free() ends it. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/base.h"

#define VEC(type_)              \
        struct {                \
                type_ *at;      \
                size_t n, room; \
        }

/* Room for one more item of `size` bytes; false = no memory, and nothing changed. */
bool vec_grow(void **at, size_t n, size_t *room, size_t size);

#define vec_push(v_, item_)                                                                                           \
        (vec_grow((void **)&(v_)->at, (v_)->n, &(v_)->room, sizeof *(v_)->at) ? ((v_)->at[(v_)->n++] = (item_), true) \
                                                                              : false)
#define vec_free(v_)                      \
        do {                              \
                free((v_)->at);           \
                (v_)->at = NULL;          \
                (v_)->n = (v_)->room = 0; \
        } while (0)
#define vec_foreach(item_, v_) \
        for (__typeof__(*(v_)->at) *item_ = (v_)->at; item_ && item_ < (v_)->at + (v_)->n; item_++)
/* Removes item i; the order is not kept. */
#define vec_swap_remove(v_, i_) ((v_)->at[i_] = (v_)->at[--(v_)->n])

#endif
