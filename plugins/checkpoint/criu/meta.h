/* SPDX-License-Identifier: Apache-2.0 */
/* What the images were made on, kept beside them: criu.json. Compared before a restore is tried. */
#ifndef CRIU_META_H
#define CRIU_META_H

#include <jansson.h>

#include "../lib/capture.h"

#define META_FILE "criu.json"

/* This machine: {"format", "arch", "kernel", "criu", "crun", "cpu": [features]}; to be freed. criu and crun are versions. */
json_t *meta_here(const char *criu, const char *crun, struct pd_error *err);
/* Pure. Can images of `saved` go on at `here`? -PD_E_UNSUPPORTED names what lacks; -PD_E_CORRUPT when it is no such record. */
int meta_fits(const json_t *saved, const json_t *here, struct pd_error *err);

#endif
