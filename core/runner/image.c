/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/image.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define PULLS_MAX 32
#define PULL_WAITERS_MAX 256

struct waiter {
        image_done_fn done;
        void *arg;
};
/* One fetch and unpacking, for all who wait for it. */
struct pull {
        struct runner *r;
        char *key;          /* what makes two requests the same                     */
        char *ref;          /* as asked, for messages                               */
        char *layout, *tag; /* the OCI layout that holds it (ours for docker://)    */
        char *temp;         /* STATE/images/pull.N                                  */
        char digest[80];
        uint32_t id_base; /* shift to; 0 = as it is                               */
        struct proc *proc;
        sd_event_source *soon;
        struct image ready; /* was in the store: only to be told                    */
        VEC(struct waiter) waiters;
};

void image_clear(struct image *i)
{
        free(i->path);
        json_decref(i->config);
        *i = (struct image){ 0 };
}

static bool digest_good(const char *d)
{
        if (!str_starts(d, "sha256:") || strlen(d) != 71)
                return false;
        for (d += 7; *d; d++)
                if (!isdigit((unsigned char)*d) && (*d < 'a' || *d > 'f'))
                        return false;
        return true;
}

static int below_roots(struct runner *r, const char *ref, const char *path, char **ret, struct pd_error *err)
{
        pd_cleanup(freep) char *real = realpath(path, NULL);
        const json_t *root;
        size_t i;

        if (!real)
                return pd_fail(err, PD_E_NOT_FOUND, "image %s: %s: %m. Give the path of a directory on this machine",
                        ref, path);
        json_array_foreach (r->cfg.image_roots, i, root) {
                pd_cleanup(freep) char *allowed = realpath(json_string_value(root), NULL);
                size_t n = allowed ? strlen(allowed) : 0;

                if (allowed && strncmp(real, allowed, n) == 0 && (real[n] == 0 || real[n] == '/' || n == 1)) {
                        *ret = pd_steal(real);
                        return 0;
                }
        }
        return pd_fail(err, PD_E_PERM,
                "image %s lies outside the directories that the site allows. Put it below one of runner.image_roots, "
                "or add its directory there",
                ref);
}

/* "DIR[:TAG]": a tag has no slash. */
static int split_oci(const char *rest, char **ret_dir, char **ret_tag, struct pd_error *err)
{
        const char *colon = strrchr(rest, ':');
        bool tagged = colon && !strchr(colon, '/') && colon[1];

        *ret_dir = strndup(rest, tagged ? (size_t)(colon - rest) : strlen(rest));
        *ret_tag = strdup(tagged ? colon + 1 : "latest");
        return *ret_dir && *ret_tag ? 0 : pd_fail(err, PD_E_NOMEM, "no memory");
}

static int read_blob(const char *layout, const char *digest, json_t **ret, struct pd_error *err)
{
        pd_cleanup(freep) char *path = NULL;

        if (!digest_good(digest))
                return pd_fail(err, PD_E_CORRUPT, "\"%.80s\" is no sha256 digest", digest);
        path = path_fmt("%s/blobs/sha256/%s", layout, digest + 7);
        return path ? disk_read_json(path, ret, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

static int find_digest(const char *ref, const char *layout, const char *tag, char *ret, size_t n, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/index.json", layout);
        js_owned *index = NULL;
        struct pd_error why;
        const json_t *list, *m, *found = NULL;
        size_t i;

        if (!path || disk_read_json(path, &index, &why) < 0)
                return pd_fail(err, PD_E_NOT_FOUND, "image %s: %s is no OCI image layout (%.60s)", ref, layout,
                        path ? why.text : "no memory");
        list = json_object_get(index, "manifests");
        json_array_foreach ((json_t *)(uintptr_t)list, i, m)
                if (streq(js_str(json_object_get(m, "annotations"), "org.opencontainers.image.ref.name", ""), tag))
                        found = m;
        if (!found && json_array_size(list) == 1 && streq(tag, "latest"))
                found = json_array_get(list, 0);
        if (!found)
                return pd_fail(err, PD_E_NOT_FOUND, "image %s: there is no tag \"%s\" in it", ref, tag);
        if (!digest_good(js_str(found, "digest", "")))
                return pd_fail(err, PD_E_CORRUPT, "image %s: its index names no sha256 digest for \"%s\"", ref, tag);
        (void)str_format(ret, n, "%s", js_str(found, "digest", ""));
        return 0;
}

static char *store_path(struct runner *r, const char *digest, uint32_t id_base, const char *name)
{
        if (id_base)
                return path_fmt("%s/sha256-%s-%u%s%s", r->cfg.image_store, digest + 7, id_base, *name ? "/" : "", name);
        return path_fmt("%s/sha256-%s%s%s", r->cfg.image_store, digest + 7, *name ? "/" : "", name);
}

static bool in_store(struct runner *r, const char *digest, uint32_t id_base, struct image *ret)
{
        pd_cleanup(freep) char *config = store_path(r, digest, id_base, "config.json");
        pd_cleanup(freep) char *root = store_path(r, digest, id_base, "rootfs");
        js_owned *parsed = NULL;

        if (!config || !root || disk_read_json(config, &parsed, NULL) < 0)
                return false;
        *ret = (struct image){ .path = pd_steal(root), .config = json_incref(parsed), .shifted = id_base > 0 };
        (void)str_format(ret->digest, sizeof ret->digest, "%s", digest);
        return true;
}

static struct pull *pull_free(struct pull *p)
{
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->r->pulls.n; i++)
                if (p->r->pulls.at[i] == p)
                        vec_swap_remove(&p->r->pulls, i);
        (void)proc_free(p->proc);
        sd_event_source_disable_unref(p->soon);
        image_clear(&p->ready);
        vec_free(&p->waiters);
        free(p->key);
        free(p->ref);
        free(p->layout);
        free(p->tag);
        free(p->temp);
        free(p);
        return NULL;
}

static void drop_temp(struct runner *r, const char *temp);

/* Tells all, each with an image of its own, and is gone. */
static void pull_end(struct pull *p, const struct pd_error *why)
{
        struct runner *r = p->r;
        struct pd_error err = { 0 };

        if (p->temp)
                drop_temp(r, p->temp);
        if (!why && !p->ready.path && !in_store(r, p->digest, p->id_base, &p->ready)) {
                (void)pd_fail(&err, PD_E_IO, "image %s: was unpacked, but cannot be read back", p->ref);
                why = &err;
        }
        while (p->waiters.n > 0) {
                struct waiter w = p->waiters.at[--p->waiters.n];
                struct image copy = p->ready;

                if (why) {
                        w.done(w.arg, why, NULL);
                        continue;
                }
                copy.path = strdup(copy.path);
                copy.config = json_incref(copy.config);
                w.done(w.arg, NULL, &copy);
                image_clear(&copy);
        }
        (void)pull_free(p);
}

static void ignore_done(void *arg, const struct pd_error *err, const struct proc_result *result)
{
        (void)result;
        if (err)
                log_warning("%s: %s", (const char *)arg, err->text);
}

static void drop_temp(struct runner *r, const char *temp)
{
        js_owned *task = json_pack("{s:s, s:s}", "op", "rmtree", "path", temp);
        pd_cleanup(freep) char *text = js_dump(task);
        const char *argv[] = { "/proc/self/exe", "--worker", text, NULL };
        struct proc *p;

        if (!disk_exists(temp))
                return;
        if (text)
                (void)proc_run(&p, r->loop,
                        &(struct proc_spec){ .argv = argv,
                                .what = "removing a temporary image",
                                .timeout_us = PULL_US,
                                .detached = true },
                        ignore_done, (void *)(uintptr_t) "images", NULL);
}

static void pull_fail(struct pull *p, const struct pd_error *why)
{
        struct pd_error err;

        (void)pd_fail(&err, why->code, "image %s: %.180s", p->ref, why->text);
        pull_end(p, &err);
}

static int run(struct pull *p, const char *const *argv, const char *what, proc_done_fn done, struct pd_error *err)
{
        return proc_run(&p->proc, p->r->loop, &(struct proc_spec){ .argv = argv, .what = what, .timeout_us = PULL_US },
                done, p, err);
}

static void on_committed(void *arg, const struct pd_error *why, const struct proc_result *result)
{
        struct pull *p = arg;
        pd_cleanup(freep) char *done = path_fmt("%s/image", p->temp);
        pd_cleanup(freep) char *final = store_path(p->r, p->digest, p->id_base, "");
        struct pd_error err;

        (void)result;
        p->proc = NULL;
        if (why) {
                pull_fail(p, why);
                return;
        }
        if (!done || !final || (rename(done, final) < 0 && errno != EEXIST && errno != ENOTEMPTY)) {
                (void)pd_fail(&err, PD_E_IO, "cannot put it into the store: %m");
                pull_fail(p, &err);
                return;
        }
        pull_end(p, NULL);
}

static int write_config(struct pull *p, struct pd_error *err)
{
        js_owned *manifest = NULL;
        js_owned *whole = NULL;
        pd_cleanup(freep) char *path = path_fmt("%s/image/config.json", p->temp);
        json_t *config;
        int r = read_blob(p->layout, p->digest, &manifest, err);

        if (r < 0)
                return r;
        if (!json_is_array(json_object_get(manifest, "layers")))
                return pd_fail(err, PD_E_UNSUPPORTED, "it is an index of several platforms: name one image of it");
        r = read_blob(p->layout, js_str(json_object_get(manifest, "config"), "digest", ""), &whole, err);
        if (r < 0)
                return r;
        config = json_object_get(whole, "config");
        if (!json_is_object(config) && json_object_set_new(whole, "config", config = json_object()) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        return path ? disk_write_json(path, config, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

static void on_unpacked(void *arg, const struct pd_error *why, const struct proc_result *result)
{
        struct pull *p = arg;
        js_owned *task = json_pack("{s:s, s:s}", "op", "sync", "path", p->temp);
        pd_cleanup(freep) char *text = js_dump(task);
        const char *argv[] = { "/proc/self/exe", "--worker", text, NULL };
        struct pd_error err;

        (void)result;
        p->proc = NULL;
        if (why)
                err = *why;
        else if (write_config(p, &err) == 0 && run(p, argv, "writing the image to disk", on_committed, &err) == 0)
                return;
        pull_fail(p, &err);
}

static int unpack(struct pull *p, struct pd_error *err)
{
        pd_cleanup(freep) char *image = path_fmt("%s:%s", p->layout, p->tag);
        pd_cleanup(freep) char *dir = path_fmt("%s/image", p->temp);
        pd_cleanup(freep) char *root = path_fmt("%s/image/rootfs", p->temp);
        pd_cleanup(freep) char *map = path_fmt("0:%u:%u", p->id_base, BUNDLE_IDS);
        const char *plain[] = { "umoci", "raw", "unpack", "--image", image, root, NULL };
        const char *shift[] = { "umoci", "raw", "unpack", "--uid-map", map, "--gid-map", map, "--image", image, root,
                NULL };

        if (!image || !dir || !root || !map)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (disk_mkdir(dir, 0700, err) < 0)
                return -(int)err->code;
        return run(p, p->id_base ? shift : plain, "umoci unpack", on_unpacked, err);
}

static void on_copied(void *arg, const struct pd_error *why, const struct proc_result *result)
{
        struct pull *p = arg;
        struct pd_error err = { 0 };

        (void)result;
        p->proc = NULL;
        if (why) {
                pull_fail(p, why);
                return;
        }
        if (find_digest(p->ref, p->layout, p->tag, p->digest, sizeof p->digest, &err) < 0) {
                pull_end(p, &err);
                return;
        }
        if (in_store(p->r, p->digest, p->id_base, &p->ready))
                pull_end(p, NULL);
        else if (unpack(p, &err) < 0)
                pull_fail(p, &err);
}

static int copy_docker(struct pull *p, const char *source, struct pd_error *err)
{
        pd_cleanup(freep) char *target = NULL;
        const char *argv[] = { "skopeo", "copy", "--quiet", source, NULL, NULL };

        p->layout = path_fmt("%s/layout", p->temp);
        p->tag = strdup("latest");
        target = p->layout ? path_fmt("oci:%s:latest", p->layout) : NULL;
        if (!target || !p->tag)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        argv[4] = target;
        return run(p, argv, "skopeo copy", on_copied, err);
}

static int on_soon(sd_event_source *s, uint64_t usec, void *arg)
{
        (void)s, (void)usec;
        pull_end(arg, NULL);
        return 0;
}

static int pull_new(
        struct runner *r, const char *ref, const char *key, uint32_t id_base, struct pull **ret, struct pd_error *err)
{
        struct pull *p = r->pulls.n < PULLS_MAX ? calloc(1, sizeof *p) : NULL;

        if (!p)
                return pd_fail(err, PD_E_BUSY, "image %s: %zu images are being fetched already: try again later", ref,
                        r->pulls.n);
        p->r = r;
        p->ref = strdup(ref);
        p->key = strdup(key);
        p->id_base = id_base;
        if (!p->ref || !p->key || !vec_push(&r->pulls, p)) {
                (void)pull_free(p);
                return pd_fail(err, PD_E_NOMEM, "no memory for image %s", ref);
        }
        *ret = p;
        return 0;
}

/* In the store already, or a plain directory: told in the next turn. */
static int tell_soon(struct pull *p, struct pd_error *err)
{
        if (sd_event_add_time_relative(p->r->loop, &p->soon, CLOCK_BOOTTIME, 0, 1, on_soon, p) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for image %s", p->ref);
        return 0;
}

static int make_temp(struct pull *p, struct pd_error *err)
{
        p->temp = path_fmt("%s/pull.XXXXXX", p->r->cfg.image_store);
        if (!p->temp || !mkdtemp(p->temp))
                return pd_fail(err, PD_E_IO, "image %s: no room to unpack it: %m", p->ref);
        return 0;
}

/* What kind of reference is it, where is it, and which digest does it have (known beforehand for oci:). */
struct target {
        enum { TARGET_OCI, TARGET_DOCKER, TARGET_DIR } kind;
        char *path, *tag;
        char digest[80];
};
static void target_clear(struct target *t)
{
        free(t->path);
        free(t->tag);
}

static int resolve(struct runner *r, const char *ref, struct target *t, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = NULL;
        int e;

        if (str_starts(ref, "docker://") && ref[9]) {
                const char *at = strstr(ref, "@sha256:");

                t->kind = TARGET_DOCKER;
                if (at && digest_good(at + 1))
                        (void)str_format(t->digest, sizeof t->digest, "%s", at + 1);
                return 0;
        }
        if (str_starts(ref, "dir:/")) {
                t->kind = TARGET_DIR;
                return below_roots(r, ref, ref + 4, &t->path, err);
        }
        if (!str_starts(ref, "oci:/"))
                return pd_fail(err, PD_E_INVALID,
                        "image \"%s\" is not understood: write oci:/DIRECTORY[:TAG], docker://NAME[:TAG] or "
                        "dir:/DIRECTORY",
                        ref);
        t->kind = TARGET_OCI;
        if ((e = split_oci(ref + 4, &dir, &t->tag, err)) < 0 || (e = below_roots(r, ref, dir, &t->path, err)) < 0)
                return e;
        return find_digest(ref, t->path, t->tag, t->digest, sizeof t->digest, err);
}

static int begin_pull(struct pull *p, struct target *t, const char *want, struct pd_error *err)
{
        pd_cleanup(freep) char *pinned = NULL;
        int e;

        if (t->kind == TARGET_DIR) {
                if (p->r->can_idmap == false && p->id_base > 0)
                        return pd_fail(err, PD_E_UNSUPPORTED,
                                "image %s: this kernel cannot map the ids of a directory: use oci: or docker://",
                                p->ref);
                p->ready = (struct image){ .path = pd_steal(t->path) };
                return tell_soon(p, err);
        }
        (void)str_format(p->digest, sizeof p->digest, "%s", *want ? want : t->digest);
        if (*p->digest && in_store(p->r, p->digest, p->id_base, &p->ready))
                return tell_soon(p, err);
        if ((e = make_temp(p, err)) < 0)
                return e;
        if (t->kind == TARGET_OCI) {
                p->layout = pd_steal(t->path);
                p->tag = pd_steal(t->tag);
                return unpack(p, err);
        }
        if (*want &&
                !strchr(p->ref + 9, '@')) { /* the tag may have moved since: ask for what the checkpoint stands on */
                const char *colon = strrchr(p->ref + 9, ':');
                int n = colon && !strchr(colon, '/') ? (int)(colon - p->ref) : (int)strlen(p->ref);

                pinned = path_fmt("%.*s@%s", n, p->ref, want);
        }
        return copy_docker(p, pinned ? pinned : p->ref, err);
}

static int join(struct pull *p, image_done_fn done, void *arg, struct pd_error *err)
{
        if (p->waiters.n >= PULL_WAITERS_MAX || !vec_push(&p->waiters, ((struct waiter){ done, arg })))
                return pd_fail(err, PD_E_BUSY, "image %s: too many jobs wait for it", p->ref);
        return 0;
}

int image_get(struct runner *r, const char *ref, const char *digest, uint32_t id_base, image_done_fn done, void *arg,
        struct pd_error *err)
{
        pd_cleanup(target_clear) struct target t = { 0 };
        uint32_t shift = r->can_idmap ? 0 : id_base;
        pd_cleanup(freep) char *key = path_fmt("%s|%s|%u", ref, digest, shift);
        struct pd_error why = { 0 };
        struct pull *p = NULL;
        struct image kept;
        int e;

        if (!key)
                return pd_fail(err, PD_E_NOMEM, "no memory for image %s", ref);
        if (!str_starts(ref, "dir:") && digest_good(digest) && in_store(r, digest, shift, &kept)) {
                image_clear(&kept); /* a restore does not need the source any more */
                t.kind = TARGET_OCI;
        } else if ((e = resolve(r, ref, &t, err)) < 0) {
                return e;
        } else if (t.kind == TARGET_OCI && digest_good(digest) && !streq(digest, t.digest)) {
                return pd_fail(err, PD_E_CONFLICT,
                        "image %s has changed since the checkpoint was made (%.19s.. now, %.19s.. then): put the old "
                        "image back",
                        ref, t.digest, digest);
        }
        for (size_t i = 0; i < r->pulls.n; i++)
                if (streq(r->pulls.at[i]->key, key))
                        return join(r->pulls.at[i], done, arg, err);
        e = pull_new(r, ref, key, shift, &p, err);
        if (e < 0 || !p)
                return e;
        if ((e = join(p, done, arg, &why)) == 0)
                e = begin_pull(p, &t, digest_good(digest) ? digest : "", &why);
        if (e < 0) {
                if (p->temp)
                        drop_temp(r, p->temp);
                (void)pull_free(p);
                return str_starts(why.text, "image ") ? pd_fail(err, why.code, "%s", why.text)
                                                      : pd_fail(err, why.code, "image %s: %.180s", ref, why.text);
        }
        return 0;
}

void image_forget(struct runner *r, const void *arg)
{
        for (size_t i = 0; i < r->pulls.n; i++)
                for (size_t k = 0; k < r->pulls.at[i]->waiters.n; k++)
                        if (r->pulls.at[i]->waiters.at[k].arg == arg)
                                vec_swap_remove(&r->pulls.at[i]->waiters, k--);
}

int image_inspect(struct runner *r, const char *ref, json_t **ret, struct pd_error *err)
{
        pd_cleanup(target_clear) struct target t = { 0 };
        struct image kept = { 0 };
        bool present;
        int e = resolve(r, ref, &t, err);

        if (e < 0)
                return e;
        present = t.kind == TARGET_DIR || (*t.digest && in_store(r, t.digest, 0, &kept));
        image_clear(&kept);
        *ret = json_pack("{s:s, s:b}", "ref", ref, "present", present);
        if (*ret && *t.digest)
                (void)json_object_set_new(*ret, "digest", json_string(t.digest));
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory");
}

void images_tidy(struct runner *r)
{
        const char *dir = r->cfg.image_store;
        DIR *d = opendir(dir);

        for (struct dirent *e; d && (e = readdir(d));)
                if (str_starts(e->d_name, "pull.")) {
                        pd_cleanup(freep) char *path = path_fmt("%s/%s", dir, e->d_name);

                        if (path)
                                drop_temp(r, path);
                }
        if (d)
                (void)closedir(d);
}

void images_close(struct runner *r)
{
        while (r->pulls.n > 0)
                (void)pull_free(r->pulls.at[0]);
        vec_free(&r->pulls);
}
