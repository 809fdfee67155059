/* SPDX-License-Identifier: Apache-2.0 */
/* What people are told of: each suspension, end, refusal and warning, once its record is on disk. The engine decides when and what; core/daemon delivers
 * (journal, command, webhook), and the simulated world writes it down.
 *
 * An event is a JSON object: {"kind","message_id","priority": syslog's,"text","at_wall_us","job","name","user","uid","project","state","result","cause",
 * "resume_line"?: "portal resume ...","deadline_wall_us"?: when the job ends unless it is resumed,"deadline"?: "ttl"|"checkpoint"}. */
#ifndef EXECUTOR_TELL_H
#define EXECUTOR_TELL_H

#include <syslog.h>

#include "base/base.h"

/* kind, text, priority, message id (systemd/portald.catalog explains each) */
#define TELL_KINDS(X)                                                             \
        X(SUSPENDED, "suspended", LOG_NOTICE, "de3ba284c7b14fb1ba512bcfe2b3f47c") \
        X(STOPPED, "stopped", LOG_NOTICE, "8a11611f119d496e828be54f51893ffd")     \
        X(FAILED, "failed", LOG_WARNING, "4f800b3e802c49c99dfbfd323f46d556")      \
        X(SUCCEEDED, "succeeded", LOG_INFO, "c334ec465d154e02ac4cbde11b30730f")   \
        X(REFUSED, "refused", LOG_WARNING, "d1e72141e597481c8c8dcd2093062037")    \
        X(WARNING, "warning", LOG_WARNING, "33ade6da735b4fc3a9202b84ad327109")    \
        X(DEADLINE, "deadline", LOG_NOTICE, "cafaee1d2fb5495d9ad498b5f8b3094e")
#define TELL_ENUM(name_, ...) TELL_##name_,
enum tell_kind { TELL_KINDS(TELL_ENUM) TELL_N };
#undef TELL_ENUM

#endif
