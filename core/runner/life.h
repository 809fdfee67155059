/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a placement on its machine: its phases, and which may follow which. Pure; includes base only.
 * The table is checked at every write of a job's record: an edge that is not in it is a fault of the runner, never a warning. */
#ifndef RUNNER_LIFE_H
#define RUNNER_LIFE_H

#include "base/base.h"

#define PHASES(X)                                                                    \
        X(PREPARING, "preparing") /* image, layer, restore                       */  \
        X(RUNNING, "running")                                                        \
        X(SAVING, "saving")                                                          \
        X(HELD, "held")     /* saved and committed: being ended, or held (move)  */  \
        X(EXITED, "exited") /* it ran                                             */ \
        X(FAILED, "failed") /* it never ran                                       */
enum phase {
#define PHASE_ENUM(name_, text_) PHASE_##name_,
        PHASES(PHASE_ENUM)
#undef PHASE_ENUM
                PHASE_N
};
const char *phase_text(enum phase p);
bool phase_parse(const char *text, enum phase *ret);

/* May a record that says `from` say `to` next? renewed: under a newer generation than before. */
bool phase_may_go(enum phase from, enum phase to, bool renewed);
/* May a job's first record say this? */
bool phase_may_begin(enum phase p);

#endif
