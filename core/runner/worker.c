/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/worker.h"

#include <stdio.h>
#include <sys/resource.h>

#include "pack/pack.h"
#include "runner/io.h"

typedef int (*work_fn)(const json_t *task, json_t **ret, struct pd_error *err);

static int work_rmtree(const json_t *task, json_t **ret, struct pd_error *err)
{
        (void)ret;
        return disk_rmtree(js_str(task, "path", ""), err);
}

static int work_sync(const json_t *task, json_t **ret, struct pd_error *err)
{
        (void)ret;
        return disk_sync_tree(js_str(task, "path", ""), err);
}

static int work_pack(const json_t *task, json_t **ret, struct pd_error *err)
{
        struct pack_params p = { .id_base = (uint32_t)js_int(task, "id_base", 0),
                .layer = js_bool(task, "layer", false) };
        struct pack_result done;
        int r = pack_tree(js_str(task, "dir", ""), js_str(task, "to", ""), &p, &done, err);

        if (r < 0)
                return r;
        *ret = json_pack("{s:I, s:I, s:s}", "bytes", (json_int_t)done.bytes, "plain_bytes",
                (json_int_t)done.plain_bytes, "sha256", done.sha256);
        return 0;
}

static int check_object(const json_t *o, struct pd_error *err)
{
        const char *name = js_str(o, "object", "");
        char sha[PACK_SHA_MAX];
        uint64_t bytes;
        int r = pack_digest(js_str(o, "from", ""), sha, &bytes, err);

        if (r == 0 && bytes != (uint64_t)js_int(o, "bytes", 0))
                return pd_fail(err, PD_E_CORRUPT, "%s has %llu bytes, its manifest says %lld", name,
                        (unsigned long long)bytes, (long long)js_int(o, "bytes", 0));
        if (r == 0 && !streq(sha, js_str(o, "sha256", "")))
                return pd_fail(err, PD_E_CORRUPT, "%s is damaged: its SHA-256 is %.16s.., its manifest says %.16s..",
                        name, sha, js_str(o, "sha256", ""));
        return r;
}

static int work_unpack(const json_t *task, json_t **ret, struct pd_error *err)
{
        const json_t *list = json_object_get(task, "objects"), *o;
        struct pd_error why;
        size_t i;
        int r = 0;

        (void)ret;
        json_array_foreach ((json_t *)(uintptr_t)list, i, o)
                if ((r = check_object(o, err)) < 0)
                        return r;
        json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
                struct pack_params p = { .id_base = (uint32_t)js_int(o, "id_base", 0),
                        .layer = js_bool(o, "layer", false),
                        .plain_max = (uint64_t)js_int(o, "plain_max", 0) };

                r = unpack_tree(js_str(o, "from", ""), js_str(o, "dir", ""), &p, js_str(o, "sha256", ""),
                        (uint64_t)js_int(o, "bytes", 0), &why);
                if (r < 0)
                        return pd_fail(err, why.code, "%s: %.180s", js_str(o, "object", ""), why.text);
        }
        return 0;
}

static const struct {
        const char *op;
        work_fn fn;
} works[] = { { "rmtree", work_rmtree }, { "sync", work_sync }, { "pack", work_pack }, { "unpack", work_unpack } };

int worker_main(const char *text)
{
        js_owned *task = NULL;
        js_owned *answer = NULL;
        struct pd_error err = { 0 };
        int r = js_parse(text, strlen(text), &task, &err);

        if (r == 0) {
                r = pd_fail(&err, PD_E_INVALID, "no such work: \"%s\"", js_str(task, "op", ""));
                for (size_t i = 0; i < ARRAY_LEN(works); i++)
                        if (streq(works[i].op, js_str(task, "op", "")))
                                r = works[i].fn(task, &answer, &err);
        }
        if (r < 0) {
                (void)fprintf(stderr, "%s: %s\n", pd_code_name(err.code), err.text);
                return 1;
        }
        if (answer)
                (void)json_dumpf(answer, stdout, JSON_COMPACT);
        return fflush(stdout) == 0 ? 0 : 1;
}
