/* SPDX-License-Identifier: Apache-2.0 */
/* The connection's options, as README.md lists them. Reads the files that they name; keeps nothing open. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include "cloud.h"

struct sim_config {
        struct cloud_params cloud;
        char types[256], endpoint[256], state[256], clock[256], recipe_dir[256];
        enum pd_stream_kind stream;
        int64_t min_poll_us;
        bool wait; /* latency is waited for, not only told */
};

/* Every key is checked; the bad one is named in err->subject. On failure nothing is left to free; on success cloud_new() takes the trace. */
int sim_config_read(struct sim_config *ret, const struct pd_kv *cfg, struct pd_error *err);
/* A whole file, at most `max` bytes; malloc'ed, with a NUL behind. */
int sim_file_read(const char *path, size_t max, char **ret, size_t *ret_n, struct pd_error *err);

#endif
