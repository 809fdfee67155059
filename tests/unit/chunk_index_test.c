/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of format 2: written, read, and refused whenever a byte of it is another. */
#include "chunk_lib.h"

#define DAMAGES 10000

static json_t *make(const struct chunk_keys *keys, size_t n)
{
        json_t *body = json_pack("{s:s,s:s,s:i,s:{s:[i,i,i],s:[]}}", "job", "job_1", "checkpoint", "ckp_1",
                "generation", 7, "streams", "payload", 0, 2, 0, "layer");
        struct chunk_index x = { 0 };
        struct pd_error err;

        for (size_t i = 0; i < n; i++) {
                struct chunk_id id;
                char pack[40];

                fill(&id, sizeof id);
                (void)snprintf(pack, sizeof pack, "ckp_1-%zu.pack", i / 3);
                if (chunk_index_add(&x, pack, &id, (uint32_t)(1000 + i), (uint32_t)(100 + i)) != (int64_t)i)
                        tap_note("chunk %zu is not added", i);
        }
        if (chunk_index_put(body, &x, keys, &err) < 0)
                tap_note("%s", err.text);
        chunk_index_clear(&x);
        return body;
}

static int get(
        const json_t *m, const char *job, const char *checkpoint, const struct chunk_keys *keys, struct pd_error *err)
{
        struct chunk_index x = { 0 };
        int r = chunk_index_get(m, job, checkpoint, keys, &x, err);

        chunk_index_clear(&x);
        return r;
}

static void read_back(const struct chunk_keys *keys)
{
        js_owned *m = make(keys, 8);
        struct chunk_index x = { 0 };
        struct pd_error err = { 0 };

        tap_int(chunk_index_get(m, "job_1", "ckp_1", keys, &x, &err), 0, "it is read back");
        tap_ok(x.n == 8 && x.packs_n == 3 && streq(x.packs[2], "ckp_1-2.pack") && x.at[7].pack == 2 &&
                        x.at[7].plain == 1007,
                "every chunk in its pack");
        tap_ok(x.n == 8 && x.at[0].at == 0 && x.at[1].at == 100 && x.at[2].at == 201 && x.at[3].at == 0,
                "at its place there, which follows from the lengths before it");
        chunk_index_clear(&x);
}

static void refused(const struct chunk_keys *keys, const struct chunk_keys *others)
{
        js_owned *m = make(keys, 4),
                 *old = json_pack("{s:i,s:s,s:s}", "format", 1, "job", "job_1", "checkpoint", "ckp_1"),
                 *newer = json_pack("{s:i}", "format", 3), *none = json_object(), *bare = json_deep_copy(m);
        struct pd_error err;

        (void)json_object_del(bare, "mac");
        tap_int(get(m, "job_2", "ckp_1", keys, &err), -PD_E_CORRUPT, "law 13 another job's is refused");
        tap_int(get(m, "job_1", "ckp_0", keys, &err), -PD_E_CORRUPT,
                "law 13 an older one under the newest name as well");
        tap_int(get(m, "job_1", "ckp_1", others, &err), -PD_E_CORRUPT, "and one by another key");
        tap_has(err.text, "MAC", "by its MAC");
        tap_int(get(bare, "job_1", "ckp_1", keys, &err), -PD_E_CORRUPT, "without a MAC it is none");
        tap_int(get(old, "job_1", "ckp_1", keys, &err), -PD_E_REFUSED, "P-21 format 1, which nobody signs, is refused");
        tap_has(err.text, "format 1", "by its format");
        tap_int(get(newer, "job_1", "ckp_1", keys, &err), -PD_E_UNSUPPORTED, "a newer format is not guessed at");
        tap_int(get(none, "job_1", "ckp_1", keys, &err), -PD_E_CORRUPT, "nothing is no manifest");
        tap_int(get(m, "job_1", "ckp_1", keys, &err), 0, "and the good one is good");
}

/* Signed by the right key and still wrong: a fault of the writer is found before a byte is used. */
static void signed_nonsense(const struct chunk_keys *keys)
{
        static const char *const bodies[] = { "{\"streams\":{\"payload\":[4]}}", "{\"streams\":{\"payload\":[-1]}}",
                "{\"streams\":{\"payload\":[\"0\"]}}", "{\"streams\":{\"../x\":[0]}}", "{\"streams\":[]}", "{}",
                "{\"streams\":{\"payload\":0}}" };
        int bad = 0;

        for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
                js_owned *m = make(keys, 4), *body = json_loads(bodies[i], 0, NULL);
                struct chunk_index x = { 0 };
                struct pd_error err;

                (void)chunk_index_get(m, "job_1", "ckp_1", keys, &x, &err);
                (void)json_object_update_new(body, json_pack("{s:s,s:s}", "job", "job_1", "checkpoint", "ckp_1"));
                (void)chunk_index_put(body, &x, keys, &err);
                bad += get(body, "job_1", "ckp_1", keys, &err) != -PD_E_CORRUPT;
                chunk_index_clear(&x);
        }
        tap_int(bad, 0, "streams that name what there is not are refused, signed or not");
}

/* Any byte of its text: flipped, dropped, cut, or two of them swapped. */
static void damaged(const struct chunk_keys *keys)
{
        js_owned *m = make(keys, 9);
        pd_cleanup(freep) char *text = json_dumps(m, JSON_COMPACT);
        size_t n = strlen(text);
        pd_cleanup(freep) char *copy = malloc(n + 1);
        int accepted = 0;

        for (int k = 0; k < DAMAGES; k++) {
                size_t at = dice() % n, to = dice() % n;
                struct pd_error err;
                json_t *read;

                memcpy(copy, text, n + 1);
                switch (dice() % 4) {
                case 0:
                        copy[at] ^= (char)(1 << dice() % 8);
                        break;
                case 1:
                        memmove(copy + at, copy + at + 1, n - at);
                        break;
                case 2:
                        copy[at] = '\0';
                        break;
                default:
                        copy[at] = text[to];
                        copy[to] = text[at];
                        break;
                }
                read = streq(copy, text) ? NULL : json_loads(copy, JSON_REJECT_DUPLICATES, NULL);
                accepted += read && get(read, "job_1", "ckp_1", keys, &err) == 0 && !json_equal(read, m);
                json_decref(read);
        }
        tap_int(accepted, 0, "law 13 of 10,000 damages of its text none is taken for it");
}

static void bounds(void)
{
        struct chunk_index x = { 0 };
        const struct chunk_id id = { { 0 } };

        tap_int(chunk_index_add(&x, "a", &id, 1, 1), 0, "a chunk is the first");
        tap_int(chunk_index_add(&x, "b", &id, 1, 1), 1, "another pack goes on");
        tap_int(chunk_index_add(&x, "a", &id, 1, 1), -1, "a pack is not begun twice");
        tap_int(chunk_index_add(&x, "../a", &id, 1, 1), -1, "no name leads elsewhere");
        tap_int(chunk_index_add(&x, "", &id, 1, 1), -1, "none is no name");
        chunk_index_clear(&x);
}

int main(void)
{
        const struct chunk_keys keys = keys_of(1), others = keys_of(2);

        state = 3;
        read_back(&keys);
        refused(&keys, &others);
        signed_nonsense(&keys);
        damaged(&keys);
        bounds();
        return tap_done();
}
