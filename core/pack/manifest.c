/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack.h"

static const char *const objects[] = { MANIFEST_PAYLOAD, MANIFEST_LAYER };

static json_t *entry(const struct pack_result *r)
{
        return json_pack("{s:I, s:I, s:s}", "bytes", (json_int_t)r->bytes, "plain_bytes", (json_int_t)r->plain_bytes,
                "sha256", r->sha256);
}

json_t *manifest_make(const struct manifest *m)
{
        return json_pack("{s:i, s:s, s:s, s:I, s:{s:s, s:s}, s:s, s:s, s:I, s:I, s:s, s:s, s:{s:o, s:o}}", "format",
                MANIFEST_FORMAT, "job", m->job, "checkpoint", m->checkpoint, "generation", (json_int_t)m->generation,
                "capture", "name", m->capture, "version", m->capture_version, "image_ref", m->image_ref, "image_digest",
                m->image_digest, "made_wall_us", (json_int_t)m->made_wall_us, "freeze_us", (json_int_t)m->freeze_us,
                "progress", m->progress, "runner_version", m->runner_version, "objects", MANIFEST_PAYLOAD,
                entry(&m->payload), MANIFEST_LAYER, entry(&m->layer));
}

const json_t *manifest_object(const json_t *m, const char *name)
{
        return json_object_get(json_object_get(m, "objects"), name);
}

static int check_object(const json_t *m, const char *name, struct pd_error *err)
{
        const json_t *o = manifest_object(m, name);
        const char *sha = js_str(o, "sha256", "");

        if (js_int(o, "bytes", -1) < 0 || js_int(o, "plain_bytes", -1) < 0 || strlen(sha) != PACK_SHA_MAX - 1 ||
                strspn(sha, "0123456789abcdef") != PACK_SHA_MAX - 1)
                return pd_fail(err, PD_E_CORRUPT, "its manifest does not describe %s", name);
        return 0;
}

int manifest_check(const json_t *m, const char *job, const char *checkpoint, struct pd_error *err)
{
        int64_t format = js_int(m, "format", 0);
        int r = 0;

        if (format < 1)
                return pd_fail(err, PD_E_CORRUPT, "its manifest has no format number");
        if (format > MANIFEST_FORMAT)
                return pd_fail(err, PD_E_CORRUPT,
                        "its manifest has format %lld, newer than the %d that this runner reads: upgrade it",
                        (long long)format, MANIFEST_FORMAT);
        if (!streq(js_str(m, "job", ""), job) || !streq(js_str(m, "checkpoint", ""), checkpoint))
                return pd_fail(err, PD_E_CORRUPT, "its manifest is that of %.40s/%.40s", js_str(m, "job", "?"),
                        js_str(m, "checkpoint", "?"));
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(objects); i++)
                r = check_object(m, objects[i], err);
        return r;
}
