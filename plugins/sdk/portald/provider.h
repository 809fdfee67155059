/* SPDX-License-Identifier: Apache-2.0 */
/* A provider rents or lends machines: one instance of this vtable per connection (one account, or own machines).
 *
 * All calls are synchronous and may take until call->deadline_boot_us. Calls that change something carry an op_token that
 * portald made durable *before* the call: the same token twice is the same act once.
 * A request that was sent but not answered returns -PD_E_UNKNOWN_OUTCOME; portald then looks with find(), never repeats.
 *
 * Leases. Every machine has a hard stop from its creation on. Which kind a provider can give stands in caps->lease:
 *   NATIVE_MOVABLE  the provider ends it at a time that can be moved while it runs
 *   NATIVE_FIXED    ... at a time fixed at creation; it is also the machine's lifetime limit
 *   EXTERNAL        a scheduler of the cloud ends it; the plugin moves that schedule
 *   GUEST           nothing outside: the runner's own timer ends it; its last command is guest_stop_recipe()
 *   JOB_ONLY        own machines: the runner ends the job and nothing else; no power call exists */
#ifndef PORTALD_PROVIDER_H
#define PORTALD_PROVIDER_H

#include <portald/host.h>
#include <portald/plugin.h>

enum pd_lease_kind {
        PD_LEASE_NATIVE_MOVABLE = 1,
        PD_LEASE_NATIVE_FIXED = 2,
        PD_LEASE_EXTERNAL = 3,
        PD_LEASE_GUEST = 4,
        PD_LEASE_JOB_ONLY = 5,
};

enum pd_market { PD_MARKET_ON_DEMAND = 1, PD_MARKET_SPOT = 2 };

enum pd_cap {
        PD_CAP_SPOT = 1 << 0,
        PD_CAP_TAGS = 1 << 1,                   /* machines carry our tags                                */
        PD_CAP_IDEMPOTENT_LAUNCH = 1 << 2,      /* the provider itself honours op_token                   */
        PD_CAP_NAME_UNIQUE = 1 << 3,            /* ... or refuses a second machine of the same name       */
        PD_CAP_GUEST_OFF_ENDS_BILLING = 1 << 4, /* power-off inside ends the bill                         */
        PD_CAP_NOTICE_IN_GUEST = 1 << 5,        /* notices are only readable on the machine               */
        PD_CAP_EXEC = 1 << 6,                   /* exec, put, get are there                               */
        PD_CAP_OWN_MACHINES = 1 << 7,           /* the user's own: never a power call, machines pre-exist */
        PD_CAP_TAGS_MUTABLE = 1 << 8,
};

enum pd_stream_kind {
        PD_STREAM_UNIX = 1, /* endpoint is a local socket path                                  */
        PD_STREAM_SSH = 2,  /* endpoint is user@address[:port], socket forwarded by the client  */
        PD_STREAM_DIAL = 3, /* the runner dials out with a one-use token                        */
        PD_STREAM_EXEC = 4, /* through exec()                                                   */
};

struct pd_provider_caps {
        uint32_t size;
        uint32_t flags;             /* enum pd_cap, or-ed                                            */
        enum pd_lease_kind lease;   /* the best this connection can give                             */
        enum pd_stream_kind stream; /* how a runner there is reached                                 */
        int32_t tag_max;            /* tags a machine, 0 = none                                      */
        int32_t tag_key_max;        /* bytes                                                         */
        int32_t tag_value_max;      /* bytes                                                         */
        int64_t min_poll_us;        /* do not list more often                                        */
        int64_t settle_us;          /* "not found" means gone only after this long                   */
        int64_t stop_lag_us;        /* from an accepted stop, or a lease's end, to the end of billing*/
        int64_t billing_step_us;    /* 1 s, 1 h ...; 0 = by the microsecond                          */
        int64_t minimum_billing_us; /* billed at least                                               */
};

/* One kind of machine in one place at one price. */
struct pd_offer {
        uint32_t size;
        const char *zone; /* the place's name, [a-z0-9-]{1,48}                               */
        const char *type; /* the kind of machine, [A-Za-z0-9._-]{1,64}                       */
        enum pd_market market;
        const char *currency;     /* ISO 4217                                                        */
        int64_t price_nano_hour;  /* per hour; 0 is free, < 0 is refused by the host                 */
        int64_t price_at_wall_us; /* when this price was fetched                                     */
        const char *price_source; /* "config", "price list", ... for explain                         */
        int32_t cpu_milli;        /* 1000 = one core                                                 */
        int32_t gpus;
        const char *gpu_model;     /* "" without                                                      */
        uint64_t gpu_memory_bytes; /* each                                                            */
        uint64_t memory_bytes;
        uint64_t disk_bytes;     /* 0 = not said                                                    */
        int64_t notice_us;       /* warning before a reclaim; 0 = none given                        */
        int64_t max_lifetime_us; /* the provider ends it after this; 0 = never                      */
        int64_t egress_nano_gib; /* leaving this place, per GiB                                     */
        int32_t stock;           /* machines to be had now; -1 = not said                           */
};

struct pd_launch {
        uint32_t size;
        const char *zone, *type;
        enum pd_market market;
        int64_t ceiling_nano_hour; /* highest price to pay; spot bids with it; 0 = the listed price     */
        int64_t stop_wall_us;      /* the first hard stop                                               */
        uint64_t disk_bytes;       /* 0 = the type's own                                                */
        const struct pd_kv *tags;  /* portald's own: put on the machine in the same call                */
        const char *user_data;     /* first-boot script, NULL for own machines                          */
        const char *image;         /* container providers: the job's image; else NULL                   */
        const struct pd_kv *env;   /* container providers; else NULL                                    */
};

enum pd_machine_state {
        PD_MACHINE_PENDING = 1,
        PD_MACHINE_RUNNING = 2,
        PD_MACHINE_STOPPING = 3,
        PD_MACHINE_STOPPED = 4, /* not gone: may still cost */
        PD_MACHINE_GONE = 5,
};

enum pd_machine_reason {
        PD_REASON_NONE = 0,
        PD_REASON_RECLAIM = 1,
        PD_REASON_LIFETIME = 2,
        PD_REASON_USER = 3,
        PD_REASON_ERROR = 4,
        PD_REASON_GUEST = 5,
        PD_REASON_LEASE = 6,
};

struct pd_machine {
        uint32_t size;
        const char *id; /* the provider's, 1-256 bytes                                            */
        const char *zone, *type;
        enum pd_market market;
        enum pd_machine_state state;
        enum pd_machine_reason reason;
        const char *endpoint;     /* for caps.stream; "" while not known                                    */
        int64_t created_wall_us;  /* 0 = not said                                                           */
        int64_t stop_wall_us;     /* the hard stop as the provider reads it back; 0 = none it knows of      */
        const char *op_token;     /* of the launch that made it; "" = not ours or not known                 */
        const struct pd_kv *tags; /* as read back; NULL = none                                              */
};

typedef int (*pd_offer_fn)(void *arg, const struct pd_offer *offer); /* not 0 = stop, and return that */
typedef int (*pd_machine_fn)(void *arg, const struct pd_machine *machine);

struct pd_provider {
        struct pd_head head;
        uint32_t flags; /* enum pd_flag */

        /* Required. Once per connection. cfg is borrowed until close(): the connection's block of the site config,
         * secrets already resolved. Checks every key and names the bad one in err->subject. No network. */
        int (*open)(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err);
        /* Required. Ends everything open() made. self may be NULL. */
        void (*close)(void *self);
        /* Required. Fills *ret (ret->size is set by the caller). No network. May be called at any time. */
        int (*caps)(void *self, struct pd_call *call, struct pd_provider_caps *ret, struct pd_error *err);
        /* Optional, default: caps(). The cheapest authenticated call, and a dry run where there is one. Puts
         * "missing" = rights that lack, one a line. */
        int (*validate)(void *self, struct pd_call *call, struct pd_error *err);
        /* Required. Every offer with its price, one per callback. A partial list is an error, never a short list. */
        int (*offers)(void *self, struct pd_call *call, pd_offer_fn each, void *arg, struct pd_error *err);
        /* Required. Makes one machine, tagged, with its hard stop, and hands it to `each` once. Same call->op_token twice
         * gives the same machine. A stop that cannot be set is -PD_E_INVALID, never a machine without one. */
        int (*launch)(void *self, struct pd_call *call, const struct pd_launch *req, pd_machine_fn each, void *arg,
                struct pd_error *err);
        /* Required. The machine that a launch with `op_token` made; -PD_E_NOT_FOUND = not seen (the caller knows settle_us). */
        int (*find)(void *self, struct pd_call *call, const char *op_token, pd_machine_fn each, void *arg,
                struct pd_error *err);
        /* Required. One machine as it is now. -PD_E_GONE when the provider says that it is not there. */
        int (*describe)(
                void *self, struct pd_call *call, const char *id, pd_machine_fn each, void *arg, struct pd_error *err);
        /* Required. Every machine that carries expect_tags, all pages, stopped ones too. */
        int (*list_owned)(void *self, struct pd_call *call, const struct pd_kv *expect_tags, pd_machine_fn each,
                void *arg, struct pd_error *err);
        /* Required. Moves the hard stop; *ret_stop_wall_us is what is now in force, read back, and may be earlier than asked.
         * Refuses unless the machine carries expect_tags. GUEST and JOB_ONLY: -PD_E_UNSUPPORTED, the runner keeps it. */
        int (*renew)(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
                int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err);
        /* Required. Ends it. Refuses (-PD_E_PERM) unless it carries expect_tags; gone already = 0; returns when accepted.
         * Own machines: forgets the lending, and nothing else. */
        int (*terminate)(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
                struct pd_error *err);
        /* Optional, default: none. A reclaim that the provider announces outside the machine; 0 = no notice. */
        int (*notice)(void *self, struct pd_call *call, const char *id, int64_t *ret_at_wall_us, struct pd_error *err);
        /* Optional, default: "". Puts "recipe" = the last command of the guest's own timer, for /bin/sh. */
        int (*guest_stop_recipe)(void *self, struct pd_call *call, const char *id, struct pd_error *err);
        /* Optional, default: price x time. What the provider says it billed for [from, to). */
        int (*cost)(void *self, struct pd_call *call, const char *id, int64_t from_wall_us, int64_t to_wall_us,
                int64_t *ret_nano, int32_t *ret_is_estimate, struct pd_error *err);
        /* Optional, default: -PD_E_UNSUPPORTED. argv ends with NULL. The command's stdin, stdout and stderr are the three
         * descriptors, borrowed. *ret_status is a wait(2) status. */
        int (*exec)(void *self, struct pd_call *call, const char *id, const char *const *argv, int stdin_fd,
                int stdout_fd, int stderr_fd, int32_t *ret_status, struct pd_error *err);
        /* Optional, default: null = -PD_E_UNSUPPORTED. A whole file from, or to, a borrowed descriptor. */
        int (*put)(
                void *self, struct pd_call *call, const char *id, int from_fd, const char *path, struct pd_error *err);
        int (*get)(void *self, struct pd_call *call, const char *id, const char *path, int to_fd, struct pd_error *err);
        /* Required. Every API action that this plugin may ever send, one per callback ("ec2:RunInstances"); own transports
         * enforce it. None may request quota or change an account's limits or access. */
        int (*actions)(void *self, struct pd_call *call, int (*each)(void *arg, const char *action), void *arg,
                struct pd_error *err);
};

#endif
