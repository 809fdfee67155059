/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in the simulated cloud, as a script: one line a fault, `WHERE WHAT [SPAN] ODDS [retry=SPAN]` (README.md has the words).
 * Pure: the dice are the caller's. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include <stdbool.h>

#include <portald/provider.h>

/* X(NAME, word in a script) */
#define FAULT_PLACES(X)           \
        X(ANY, "any")             \
        X(OFFERS, "offers")       \
        X(LAUNCH, "launch")       \
        X(FIND, "find")           \
        X(DESCRIBE, "describe")   \
        X(LIST, "list")           \
        X(RENEW, "renew")         \
        X(TERMINATE, "terminate") \
        X(NOTICE, "notice")       \
        X(COST, "cost")           \
        X(BOOT, "boot")           \
        X(END, "end")
/* X(NAME, word, takes a span, the places it can be at: a bit each) */
#define AT(place_) (1u << FAULT_AT_##place_)
#define AT_CALLS                                                                                              \
        (AT(ANY) | AT(OFFERS) | AT(LAUNCH) | AT(FIND) | AT(DESCRIBE) | AT(LIST) | AT(RENEW) | AT(TERMINATE) | \
                AT(NOTICE) | AT(COST))
#define FAULT_KINDS(X)                                                                 \
        X(THROTTLE, "throttle", false, AT_CALLS)                                       \
        X(TRANSIENT, "transient", false, AT_CALLS)                                     \
        X(AUTH, "auth", false, AT_CALLS)                                               \
        X(LATENCY, "latency", true, AT_CALLS)                                          \
        X(REQUEST_LOST, "request-lost", false, AT(LAUNCH) | AT(RENEW) | AT(TERMINATE)) \
        X(ANSWER_LOST, "answer-lost", false, AT(LAUNCH) | AT(RENEW) | AT(TERMINATE))   \
        X(DUPLICATE, "duplicate", false, AT(LAUNCH) | AT(RENEW) | AT(TERMINATE))       \
        X(CAPACITY, "capacity", false, AT(LAUNCH))                                     \
        X(QUOTA, "quota", false, AT(LAUNCH))                                           \
        X(NO_STOP, "no-stop", false, AT(LAUNCH))                                       \
        X(PARTIAL, "partial", false, AT(LIST) | AT(OFFERS))                            \
        X(SHORT, "short", false, AT(LIST))                                             \
        X(STALE, "stale", true, AT(LIST))                                              \
        X(EARLIER, "earlier", true, AT(RENEW))                                         \
        X(LATE, "late", true, AT(TERMINATE) | AT(BOOT))                                \
        X(NEVER, "never", false, AT(BOOT))                                             \
        X(MISSING, "missing", false, AT(NOTICE))                                       \
        X(FALSE, "false", false, AT(NOTICE))                                           \
        X(SHORTER, "shorter", true, AT(NOTICE))                                        \
        X(LEFTOVER, "leftover", false, AT(END))

#define FAULT_AT_ENUM(name_, ...) FAULT_AT_##name_,
enum fault_at { FAULT_PLACES(FAULT_AT_ENUM) FAULT_AT_N };
#undef FAULT_AT_ENUM
#define FAULT_ENUM(name_, ...) FAULT_##name_,
enum fault_kind { FAULT_KINDS(FAULT_ENUM) FAULT_KIND_N };
#undef FAULT_ENUM

#define FAULTS_MAX 64u
struct fault_rule {
        enum fault_at at;
        enum fault_kind kind;
        uint32_t num, den, nth; /* nth: only that time */
        int64_t span_us, retry_us;
        uint64_t asked, struck;
};
struct sim_faults {
        struct fault_rule rules[FAULTS_MAX];
        size_t n;
};

/* Lines end with a newline or ';'; '#' begins a comment. Refusals name the line. */
int faults_read(const char *text, size_t n, struct sim_faults *ret, struct pd_error *err);
/* Does one strike here, now? dice(arg) gives 64 random bits. The rule that struck, or NULL. */
const struct fault_rule *faults_strike(
        struct sim_faults *f, enum fault_at at, enum fault_kind kind, uint64_t (*dice)(void *arg), void *arg);
extern const char *const fault_at_names[FAULT_AT_N];
extern const char *const fault_kind_names[FAULT_KIND_N];

#endif
