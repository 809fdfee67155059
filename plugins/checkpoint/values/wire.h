/* SPDX-License-Identifier: Apache-2.0 */
/* What the module in the job and the capture `values` write to each other, and the manifest of saved values: text in, structs out.
 * Pure: no file, socket or clock; includes the SDK and jansson. Every byte comes from the job and is not trusted. README.md says
 * both formats. */
#ifndef VALUES_WIRE_H
#define VALUES_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <portald/error.h>

#define WIRE_LINE_MAX ((size_t)256 << 10)    /* bytes of one answer line        */
#define WIRE_MANIFEST_MAX ((size_t)64 << 20) /* bytes                           */
#define WIRE_FILES_MAX ((size_t)1 << 20)
#define WIRE_NAME_MAX 64 /* a file's name, with its NUL     */
#define WIRE_MANIFEST "manifest"
#define WIRE_VERSION 1

/* One line of an answer. Text is borrowed from `line`. */
enum wire_kind { WIRE_VALUE, WIRE_NOTE, WIRE_END };
struct wire_answer {
        json_t *line; /* owned: wire_answer_clear() */
        enum wire_kind kind;
        const char *path, *type, *reason, *fix; /* WIRE_VALUE                                       */
        const char *note;                       /* WIRE_NOTE                                        */
        bool ok;                                /* WIRE_END: the rest is WIRE_END's                 */
        enum pd_code code;                      /* PD_OK when ok                                    */
        const char *text;                       /* "" when ok                                       */
        const char *save, *progress;            /* of a save, else ""                               */
        uint64_t bytes;                         /* 0 = not said                                     */
        int64_t freeze_us;
};
int wire_answer_parse(const char *text, size_t n, struct wire_answer *ret, struct pd_error *err);
void wire_answer_clear(struct wire_answer *a);

/* A request line with its newline; false = does not fit. */
bool wire_request(char *ret, size_t n, const char *op, int64_t timeout_us);

struct wire_file {
        char name[WIRE_NAME_MAX]; /* a plain name: [a-z0-9.-], not beginning with a dot */
        uint64_t bytes;
        uint32_t crc;
};
struct wire_manifest {
        char save[32];
        char progress[256]; /* "" = not said */
        struct wire_file *files;
        size_t n;
};
/* crc: capture_crc, so that this file needs nothing else. */
int wire_manifest_parse(const char *text, size_t n, uint32_t (*crc)(uint32_t crc, const void *data, size_t n),
        struct wire_manifest *ret, struct pd_error *err);
void wire_manifest_clear(struct wire_manifest *m);

/* "90s", "5m", "1h30m", "250ms" as in a job's settings; false = not such a text, or over 30 days. */
bool wire_duration(const char *text, int64_t *ret_us);

#endif
