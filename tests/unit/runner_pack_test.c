/* SPDX-License-Identifier: Apache-2.0 */
/* Layers and payloads: a round trip keeps all, a hostile archive gets nothing, format 1 is read for ever. Needs root for owners and nodes. */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "pack/pack.h"
#include "pack/xattrs.h"
#include "runner/io.h"
#include "tap.h"

#define BASE 1000000u
#define GOLDEN TEST_SOURCE_DIR "/tests/abi/golden/checkpoint-1"

static char work[] = "/var/tmp/portald-pack-XXXXXX";

static char *at(const char *name)
{
        return path_fmt("%s/%s", work, name);
}

static char *fresh_dir(const char *name)
{
        char *path = at(name);

        (void)disk_rmtree(path, NULL);
        (void)mkdir(path, 0755);
        return path;
}

/* ---- hostile archives ---- */
struct hostile {
        const char *name, *says;
        const char *path, *link_to; /* of the second entry; the first is given below */
        mode_t type;
        int64_t uid;
        int major, minor;
        const char *first_link; /* a symbolic link "l" before it */
        const char *xattr;
        bool payload, hardlink;
};
static const struct hostile rows[] = {
        { "an absolute path", "leads outside", "/etc/evil", NULL, AE_IFREG, 0, 0, 0, NULL, NULL, false, false },
        { "a path with ..", "leads outside", "a/../../evil", NULL, AE_IFREG, 0, 0, 0, NULL, NULL, false, false },
        { "a path that is ..", "leads outside", "..", NULL, AE_IFDIR, 0, 0, 0, NULL, NULL, false, false },
        { "a path with an empty part", "leads outside", "a//b", NULL, AE_IFREG, 0, 0, 0, NULL, NULL, false, false },
        { "a file through a symbolic link", "no directory", "l/evil", NULL, AE_IFREG, 0, 0, 0, "/etc", NULL, false,
                false },
        { "a file through a relative link", "no directory", "l/evil", NULL, AE_IFREG, 0, 0, 0, "..", NULL, false,
                false },
        { "a file over a symbolic link", "cannot make", "l", NULL, AE_IFREG, 0, 0, 0, "/etc/passwd", NULL, false,
                false },
        { "a hard link to outside", "leads outside", "h", "/etc/passwd", AE_IFREG, 0, 0, 0, NULL, NULL, false, true },
        { "a hard link with ..", "leads outside", "h", "../../etc/passwd", AE_IFREG, 0, 0, 0, NULL, NULL, false, true },
        { "a hard link through a link", "no directory", "h", "l/passwd", AE_IFREG, 0, 0, 0, "/etc", NULL, false, true },
        { "a hard link to nothing", "no target", "h", "gone", AE_IFREG, 0, 0, 0, NULL, NULL, false, true },
        { "a block device", "may not travel", "d", NULL, AE_IFBLK, 0, 8, 0, NULL, NULL, false, false },
        { "a character device", "may not travel", "d", NULL, AE_IFCHR, 0, 1, 1, NULL, NULL, false, false },
        { "a whiteout in a payload", "may not travel", "d", NULL, AE_IFCHR, 0, 0, 0, NULL, NULL, true, false },
        { "a fifo in a payload", "may not travel", "d", NULL, AE_IFIFO, 0, 0, 0, NULL, NULL, true, false },
        { "an id above the range", "0..65535", "f", NULL, AE_IFREG, 65536, 0, 0, NULL, NULL, false, false },
        { "an attribute of the overlay's own", "may not travel", "f", NULL, AE_IFREG, 0, 0, 0, NULL,
                "trusted.overlay.redirect", false, false },
        { "a security attribute", "may not travel", "f", NULL, AE_IFREG, 0, 0, 0, NULL, "security.selinux", false,
                false },
        { "a bad capability", "bad attribute", "f", NULL, AE_IFREG, 0, 0, 0, NULL, "security.capability", false,
                false },
};

static void put(struct archive *a, const struct hostile *h)
{
        struct archive_entry *e = archive_entry_new();

        if (h->first_link) {
                archive_entry_set_pathname(e, "l");
                archive_entry_set_filetype(e, AE_IFLNK);
                archive_entry_set_symlink(e, h->first_link);
                (void)archive_write_header(a, e);
                archive_entry_clear(e);
        }
        archive_entry_set_pathname(e, h->path);
        archive_entry_set_filetype(e, h->type);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_uid(e, h->uid);
        archive_entry_set_rdevmajor(e, (dev_t)h->major);
        archive_entry_set_rdevminor(e, (dev_t)h->minor);
        if (h->hardlink)
                archive_entry_set_hardlink(e, h->link_to);
        else if (h->type == AE_IFREG)
                archive_entry_set_size(e, 4);
        if (h->xattr)
                archive_entry_xattr_add_entry(e, h->xattr, "evil", 4);
        (void)archive_write_header(a, e);
        if (!h->hardlink && h->type == AE_IFREG)
                (void)archive_write_data(a, "evil", 4);
        archive_entry_free(e);
}

static struct archive *create(const char *file)
{
        struct archive *a = archive_write_new();

        (void)archive_write_set_format_pax(a);
        (void)archive_write_add_filter_zstd(a);
        (void)archive_write_set_bytes_in_last_block(a, 1);
        (void)archive_write_open_filename(a, file);
        return a;
}

static int unpack(const char *file, const char *dir, const struct pack_params *p, struct pd_error *err)
{
        char sha[PACK_SHA_MAX];
        uint64_t bytes;

        if (pack_digest(file, sha, &bytes, err) < 0)
                return -1;
        return unpack_tree(file, dir, p, sha, bytes, err);
}

static void test_hostile(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                pd_cleanup(freep) char *file = at("hostile.tar.zst");
                pd_cleanup(freep) char *dir = fresh_dir("out/..out");
                struct pack_params p = { .id_base = BASE, .layer = !rows[i].payload, .plain_max = 1000 };
                struct archive *a = create(file);
                struct pd_error err = { 0 };
                int r;

                put(a, &rows[i]);
                (void)archive_write_close(a);
                (void)archive_write_free(a);
                r = unpack(file, dir, &p, &err);
                if (tap_ok(r == -PD_E_CORRUPT && strstr(err.text, rows[i].says), "refused: %s", rows[i].name))
                        continue;
                tap_note("%d: %s", r, err.text);
        }
        tap_ok(access("/etc/evil", F_OK) < 0, "nothing was written outside");
}

static void test_damage(void)
{
        pd_cleanup(freep) char *src = fresh_dir("src");
        pd_cleanup(freep) char *file = at("whole.tar.zst");
        pd_cleanup(freep) char *name = at("src/file");
        struct pack_params p = { .plain_max = 100 };
        struct pack_result done;
        struct pd_error err = { 0 };
        pd_cleanup(freep) char *text = NULL;
        size_t n = 0, unnoticed = 0;

        (void)disk_write(name, "hello", 5, 0644, &err);
        (void)unlink(file);
        tap_ok(pack_tree(src, file, &p, &done, &err) == 0 && done.plain_bytes == 5, "a tree is packed");
        (void)disk_read(file, 1 << 20, &text, &n, &err);
        for (size_t i = 0; i < n; i++) {
                pd_cleanup(freep) char *dir = fresh_dir("dst");

                text[i] = (char)(text[i] ^ 1);
                (void)disk_write(file, text, n, 0600, &err);
                unnoticed += unpack_tree(file, dir, &p, done.sha256, done.bytes, &err) != -PD_E_CORRUPT;
                text[i] = (char)(text[i] ^ 1);
        }
        tap_int((long long)unnoticed, 0, "one bit flipped in any byte is noticed");
        (void)disk_write(file, text, n - 1, 0600, &err);
        {
                pd_cleanup(freep) char *dir = fresh_dir("dst");

                tap_ok(unpack_tree(file, dir, &p, done.sha256, done.bytes, &err) == -PD_E_CORRUPT,
                        "a byte missing is noticed");
                (void)disk_write(file, text, n, 0600, &err);
                p.plain_max = 4;
                tap_ok(unpack_tree(file, dir, &p, done.sha256, done.bytes, &err) == -PD_E_CORRUPT,
                        "more content than the manifest says is refused");
                tap_has(err.text, "more than the 4 bytes", "by its bound");
        }
}

/* ---- a round trip ---- */
static void make_layer(const char *dir)
{
        pd_cleanup(freep) char *sub = path_fmt("%s/sub", dir);
        pd_cleanup(freep) char *file = path_fmt("%s/sub/file", dir);
        pd_cleanup(freep) char *twin = path_fmt("%s/twin", dir);
        pd_cleanup(freep) char *soft = path_fmt("%s/link", dir);
        pd_cleanup(freep) char *out = path_fmt("%s/gone", dir);
        pd_cleanup(freep) char *suid = path_fmt("%s/suid", dir);
        /* revision 2, one capability, effective */
        static const uint8_t cap3[24] = { 1, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x42, 0x0f,
                0 };

        (void)mkdir(sub, 0755);
        (void)disk_write(file, "content", 7, 0640, NULL);
        (void)disk_write(suid, "x", 1, 0755, NULL);
        (void)!link(file, twin);
        (void)!symlink("/etc/passwd", soft);
        (void)mknod(out, S_IFCHR, 0);
        (void)!chown(dir, BASE, BASE);
        (void)!chown(sub, BASE + 5, BASE + 6);
        (void)!chown(file, BASE + 1000, BASE);
        (void)!lchown(soft, BASE + 7, BASE + 7);
        (void)!chown(suid, BASE, BASE);
        (void)chmod(suid, 04755);
        (void)setxattr(sub, "trusted.overlay.opaque", "y", 1, 0);
        (void)setxattr(sub, "trusted.overlay.impure", "y", 1, 0);
        (void)setxattr(file, "user.note", "hi", 2, 0);
        (void)setxattr(suid, "security.capability", cap3, sizeof cap3, 0);
}

static bool owned(const char *dir, const char *name, uid_t uid, gid_t gid, mode_t mode)
{
        pd_cleanup(freep) char *path = path_fmt("%s/%s", dir, name);
        struct stat st;

        if (lstat(path, &st) == 0 && st.st_uid == uid && st.st_gid == gid &&
                (S_ISLNK(st.st_mode) || (st.st_mode & 07777) == mode))
                return true;
        tap_note("%s: %u:%u %o", name, st.st_uid, st.st_gid, st.st_mode);
        return false;
}

static void check_layer(const char *dir, uint32_t base)
{
        pd_cleanup(freep) char *sub = path_fmt("%s/sub", dir);
        pd_cleanup(freep) char *file = path_fmt("%s/sub/file", dir);
        pd_cleanup(freep) char *twin = path_fmt("%s/twin", dir);
        pd_cleanup(freep) char *gone = path_fmt("%s/gone", dir);
        pd_cleanup(freep) char *suid = path_fmt("%s/suid", dir);
        struct stat a = { 0 }, b = { 0 }, w = { 0 };
        uint8_t value[64];

        tap_ok(owned(dir, ".", base, base, 0755) && owned(dir, "sub", base + 5, base + 6, 0755) &&
                        owned(dir, "sub/file", base + 1000, base, 0640) && owned(dir, "link", base + 7, base + 7, 0),
                "ids lie in the new range, modes stay");
        tap_ok(stat(file, &a) == 0 && stat(twin, &b) == 0 && a.st_ino == b.st_ino,
                "two names of one file are still one file");
        tap_ok(lstat(gone, &w) == 0 && S_ISCHR(w.st_mode) && w.st_rdev == 0, "a whiteout is a whiteout");
        tap_ok(getxattr(sub, "trusted.overlay.opaque", value, sizeof value) == 1 &&
                        getxattr(sub, "trusted.overlay.impure", value, sizeof value) < 0,
                "an opaque directory is opaque; the overlay's other marks stay behind");
        tap_ok(getxattr(file, "user.note", value, sizeof value) == 2, "user attributes travel");
        if (base == 0) {
                tap_ok(owned(dir, "suid", 0, 0, 0755) && getxattr(suid, "security.capability", value, sizeof value) < 0,
                        "where root inside is root outside, no set-id bit and no capability comes back");
                return;
        }
        tap_ok(owned(dir, "suid", base, base, 04755), "a set-id file is one of its own root");
        tap_ok(getxattr(suid, "security.capability", value, sizeof value) >= 20 && value[5] == 4,
                "a capability is one of its own root");
}

static void test_round_trip(void)
{
        pd_cleanup(freep) char *src = fresh_dir("layer");
        pd_cleanup(freep) char *file = at("layer.tar.zst");
        pd_cleanup(freep) char *file2 = at("layer2.tar.zst");
        struct pack_params p = { .id_base = BASE, .layer = true, .plain_max = UINT64_MAX };
        struct pack_result one, two;
        struct pd_error err = { 0 };
        const uint32_t bases[] = { BASE, 2000000u, 0 };

        make_layer(src);
        (void)unlink(file), (void)unlink(file2);
        if (!tap_ok(pack_tree(src, file, &p, &one, &err) == 0, "a layer is packed"))
                tap_note("%s", err.text);
        tap_ok(pack_tree(src, file2, &p, &two, &err) == 0 && strcmp(one.sha256, two.sha256) == 0,
                "twice gives the same bytes");
        for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
                pd_cleanup(freep) char *dst = fresh_dir("dst");

                p.id_base = bases[i];
                if (!tap_ok(unpack_tree(file, dst, &p, one.sha256, one.bytes, &err) == 0,
                            "unpacked into the range at %u", bases[i]))
                        tap_note("%s", err.text);
                check_layer(dst, bases[i]);
        }
}

static void test_acl(void)
{
        uint8_t acl[4 + 16] = { 2, 0, 0, 0, 2, 0, 6, 0, 0, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255 };
        size_t n = sizeof acl;

        acl[8] = 7;
        tap_ok(xattr_shift("system.posix_acl_access", acl, &n, 65536, false) && acl[8] == 7 && acl[10] == 1,
                "an ACL's user is shifted into the range");
        tap_ok(xattr_shift("system.posix_acl_access", acl, &n, 65536, true) && acl[8] == 7 && acl[10] == 0,
                "and out of it");
        tap_ok(!xattr_shift("system.posix_acl_access", acl, &n, 65536, true), "one outside the range does not travel");
}

/* ---- the manifest and format 1 ---- */
static void test_manifest(void)
{
        struct pack_result r = { .bytes = 3, .plain_bytes = 4 };
        js_owned *m = NULL;
        struct pd_error err;

        memset(r.sha256, 'a', 64);
        m = manifest_make(&(struct manifest){ .job = "job_x",
                .checkpoint = "ckp_y",
                .capture = "values",
                .capture_version = "1",
                .image_ref = "oci:/x",
                .image_digest = "",
                .progress = "",
                .runner_version = "0",
                .payload = r,
                .layer = r });
        tap_ok(m && manifest_check(m, "job_x", "ckp_y", &err) == 0, "a manifest of ours is good");
        tap_ok(manifest_check(m, "job_z", "ckp_y", &err) == -PD_E_CORRUPT, "another job's is not");
        tap_ok(manifest_check(m, "job_x", "ckp_z", &err) == -PD_E_CORRUPT, "nor another checkpoint's");
        (void)json_object_set_new(m, "format", json_integer(2));
        tap_ok(manifest_check(m, "job_x", "ckp_y", &err) == -PD_E_CORRUPT && strstr(err.text, "format 2"),
                "a newer format is refused by its number");
        (void)json_object_set_new(m, "format", json_integer(1));
        (void)json_object_del(json_object_get(m, "objects"), MANIFEST_LAYER);
        tap_ok(manifest_check(m, "job_x", "ckp_y", &err) == -PD_E_CORRUPT && strstr(err.text, MANIFEST_LAYER),
                "an object that it leaves out is named");
}

static void write_golden(void)
{
        pd_cleanup(freep) char *layer = fresh_dir("golden-layer");
        pd_cleanup(freep) char *payload = fresh_dir("golden-payload");
        pd_cleanup(freep) char *state = path_fmt("%s/state", payload);
        struct pack_params p = { .id_base = BASE, .layer = true };
        struct manifest m = { .job = "job_00000000000000000000000001",
                .checkpoint = "ckp_00000000000000000000000002",
                .generation = 3,
                .capture = "values",
                .capture_version = "1.0",
                .image_ref = "oci:/srv/images/debian",
                .image_digest = "sha256:00",
                .made_wall_us = 1796070984000001,
                .freeze_us = 5,
                .progress = "step 7",
                .runner_version = "0.1.0" };
        js_owned *o = NULL;

        make_layer(layer);
        (void)disk_write(state, "values", 6, 0600, NULL);
        (void)mkdir(GOLDEN, 0755);
        (void)unlink(GOLDEN "/" MANIFEST_LAYER), (void)unlink(GOLDEN "/" MANIFEST_PAYLOAD);
        (void)pack_tree(layer, GOLDEN "/" MANIFEST_LAYER, &p, &m.layer, NULL);
        p.layer = false;
        (void)pack_tree(payload, GOLDEN "/" MANIFEST_PAYLOAD, &p, &m.payload, NULL);
        o = manifest_make(&m);
        (void)disk_write_json(GOLDEN "/manifest.json", o, NULL);
}

static int open_golden(const json_t *m, const char *name, const char *dir, bool layer, struct pd_error *err)
{
        const json_t *o = manifest_object(m, name);
        struct pack_params p = { .id_base = BASE, .layer = layer, .plain_max = (uint64_t)js_int(o, "plain_bytes", 0) };
        pd_cleanup(freep) char *file = path_fmt(GOLDEN "/%s", name);

        return unpack_tree(file, dir, &p, js_str(o, "sha256", ""), (uint64_t)js_int(o, "bytes", 0), err);
}

static void test_golden(void)
{
        pd_cleanup(freep) char *layer = fresh_dir("from-layer");
        pd_cleanup(freep) char *payload = fresh_dir("from-payload");
        pd_cleanup(freep) char *state = at("from-payload/state");
        pd_cleanup(freep) char *text = NULL;
        js_owned *m = NULL;
        struct pd_error err = { 0 };

        if (getenv("UPDATE_GOLDEN"))
                write_golden();
        tap_ok(disk_read_json(GOLDEN "/manifest.json", &m, &err) == 0 &&
                        manifest_check(m, "job_00000000000000000000000001", "ckp_00000000000000000000000002", &err) ==
                                0,
                "a manifest of format 1 is read");
        if (!tap_ok(open_golden(m, MANIFEST_LAYER, layer, true, &err) == 0, "its layer is unpacked"))
                tap_note("%s", err.text);
        check_layer(layer, BASE);
        if (!tap_ok(open_golden(m, MANIFEST_PAYLOAD, payload, false, &err) == 0, "its payload is unpacked"))
                tap_note("%s", err.text);
        tap_ok(disk_read(state, 100, &text, NULL, &err) == 0 && strcmp(text, "values") == 0,
                "with what the capture had written");
}

int main(void)
{
        if (geteuid() != 0) {
                tap_skip("layers and payloads", "owners and device nodes need root");
                return tap_done();
        }
        if (!mkdtemp(work))
                return 1;
        free(fresh_dir("out"));
        test_hostile();
        test_damage();
        test_round_trip();
        test_acl();
        test_manifest();
        test_golden();
        (void)disk_rmtree(work, NULL);
        return tap_done();
}
