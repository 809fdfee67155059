/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_JOBFILE_H
#define CLI_JOBFILE_H

#include "cli/cli.h"

/* A small text file, whole; `what` begins the sentence ("--env-file"). */
int file_read(const char *path, const char *what, char **ret, size_t *ret_n, struct pd_error *err);
/* The body of POST /v1/jobs from a line of `run`. *ret_faults (NULL before): every fault, on failure. */
int jobfile_read(
        struct cli *c, const struct cli_line *line, json_t **ret_body, json_t **ret_faults, struct pd_error *err);

#endif
