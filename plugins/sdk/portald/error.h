/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as they cross the border between portald and a plugin.
 *
 * A function that can fail returns 0 or a negative enum pd_code, and fills a struct pd_error that its caller owns.
 * Nothing is allocated. A caller that does not care passes NULL. Plugins and core use the same type. */
#ifndef PORTALD_ERROR_H
#define PORTALD_ERROR_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

/* value, name, what it asks of the caller. Append only: the numbers are part of the ABI. */
#define PD_CODES(X)                                                                \
        X(1, NOMEM, "no memory")                                                   \
        X(2, ABI, "built for another interface")                                   \
        X(3, INVALID, "the request itself is wrong: do not repeat it")             \
        X(4, AUTH, "not allowed with these credentials")                           \
        X(5, QUOTA, "a limit of the account; subject is the quota's id")           \
        X(6, CAPACITY, "the provider has none of it now: try another offer")       \
        X(7, THROTTLED, "asked too often: wait retry_after_us")                    \
        X(8, TRANSIENT, "a passing fault, and nothing was done: repeat later")     \
        X(9, GONE, "it is not there any more, after the provider's settling time") \
        X(10, UNKNOWN_OUTCOME, "sent, no answer: look the token up, never repeat") \
        X(11, NOT_FOUND, "no such thing")                                          \
        X(12, CONFLICT, "its state does not allow that now")                       \
        X(13, REFUSED, "strict: a value cannot be carried; subject is its path")   \
        X(14, DEADLINE, "the call's deadline passed")                              \
        X(15, CANCELLED, "the caller withdrew it")                                 \
        X(16, IO, "a file, disk or stream failed")                                 \
        X(17, UNSUPPORTED, "this plugin or machine cannot do that")                \
        X(18, BUSY, "something else is at work on it: try again")                  \
        X(19, PERM, "another user's, or not for this user")                        \
        X(20, CRASHED, "the plugin died during the call")                          \
        X(21, INTERNAL, "a fault of portald or of the plugin")                     \
        X(22, CORRUPT, "stored data does not match its digest or version")         \
        X(23, FULL, "a queue, disk or limit of portald is full")

enum pd_code {
        PD_OK = 0,
#define PD_CODE_ENUM(n_, name_, text_) PD_E_##name_ = (n_),
        PD_CODES(PD_CODE_ENUM)
#undef PD_CODE_ENUM
};

struct pd_error {
        uint32_t size;          /* sizeof(struct pd_error) of whoever filled it                             */
        enum pd_code code;      /* PD_OK when unused                                                        */
        int64_t retry_after_us; /* 0 = not said                                                             */
        char provider_code[64]; /* the provider's own word, e.g. "InsufficientInstanceCapacity"             */
        char subject[128];      /* what it is about: a quota id, a value's path, a file                     */
        char text[232];         /* one sentence for a person: what was refused, the value, the limit, a fix */
};

/* Fills *err (may be NULL) and returns -code, so that `return pd_fail(...)` is the whole error path. */
__attribute__((format(printf, 3, 4))) static inline int pd_fail(
        struct pd_error *err, enum pd_code code, const char *fmt, ...)
{
        if (err) {
                va_list ap;

                __builtin_memset(err, 0, sizeof *err);
                err->size = (uint32_t)sizeof *err;
                err->code = code;
                va_start(ap, fmt);
                (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
                va_end(ap);
        }
        return -(int)code;
}

/* Sets what a filled error is about; returns its code, negative, like pd_fail. */
static inline int pd_fail_subject(struct pd_error *err, const char *subject)
{
        if (!err)
                return -(int)PD_E_INTERNAL;
        (void)snprintf(err->subject, sizeof err->subject, "%s", subject);
        return -(int)err->code;
}

/* "CAPACITY" for PD_E_CAPACITY, "OK" for PD_OK, NULL for a number that this header does not know. */
static inline const char *pd_code_name(enum pd_code code)
{
        switch (code) {
        case PD_OK:
                return "OK";
#define PD_CODE_NAME(n_, name_, text_) \
        case PD_E_##name_:             \
                return #name_;
                PD_CODES(PD_CODE_NAME)
#undef PD_CODE_NAME
        }
        return NULL;
}

#endif
