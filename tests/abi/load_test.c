/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader refuses: each with a sentence of its own, that names the file and the fault; and what it must not refuse. */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_call.h"
#include "plugin_dir.h"
#include "tap.h"

#define PROGRAM TEST_BINARY_DIR "/core/host/portald-plugin-host"
#define PLUGINS TEST_BINARY_DIR "/tests/abi/plugins/"

static char dir[256];
static char seen[64][256]; /* sentences, without the paths in them */
static size_t n_seen;

/* Cuts every word with a / out of it: what is left tells one reason from another. */
static void without_paths(const char *text, char *to, size_t n)
{
        size_t at = 0;

        while (*text && at + 1 < n) {
                size_t word = strcspn(text, " ");

                if (!memchr(text, '/', word))
                        for (size_t i = 0; i < word && at + 1 < n; i++)
                                to[at++] = text[i];
                text += word;
                if (*text && at + 1 < n)
                        to[at++] = *text++;
        }
        to[at] = '\0';
}

static bool new_reason(const char *text)
{
        char *mine = seen[n_seen];

        without_paths(text, mine, sizeof seen[0]);
        for (size_t i = 0; i < n_seen; i++)
                if (streq(seen[i], mine))
                        return false;
        n_seen++;
        return true;
}

/* name: what it is. part: of the sentence. The refusal is alike when it is opened inside this process, where that can be survived. */
static void refused(const char *name, const char *path, uint32_t kind, enum pd_code code, const char *part, bool inside)
{
        struct host_params p = {
                .name = "lab", .path = path, .kind = PD_KIND_BILLING, .isolation = HOST_NONE, .owner_uid = geteuid()
        };
        struct pd_error err = { 0 }, err_inside = { 0 };
        sd_event *loop = NULL;
        struct host *h = NULL;
        int rc = host_check_file(path, kind, geteuid(), PROGRAM, NULL, &err);

        if (!tap_ok(rc == -(int)code && strstr(err.text, part) && new_reason(err.text), "refused, %s: %s", name,
                    err.text))
                tap_note("code %d, want %d, with \"%s\", and a sentence of its own", rc, -(int)code, part);
        if (!inside)
                return;
        (void)sd_event_new(&loop);
        rc = host_open(&h, loop, &p, &err_inside);
        if (!tap_ok(!h && rc == -(int)code && streq(err.text, err_inside.text), "... and alike with isolation none"))
                tap_note("code %d: %s", rc, err_inside.text);
        host_free(h);
        sd_event_unref(loop);
}

/* Libraries that differ in their heads. */
static const struct {
        const char *file, *name, *part;
        enum pd_code code;
        bool inside; /* can be mapped into this process without harm */
} heads[] = {
        { "bad-no-symbol", "no symbol", "exports no portald_plugin", PD_E_ABI, true },
        { "bad-magic", "wrong magic", "magic is 0x12345678", PD_E_ABI, true },
        { "bad-major", "another ABI major", "built for plugin ABI 2.0", PD_E_ABI, true },
        { "bad-kind", "a kind that does not exist", "its kind is 42", PD_E_ABI, true },
        { "bad-short", "truncated vtable", "cut short: 72 bytes", PD_E_ABI, true },
        { "bad-long", "a vtable of impossible size", "claims 1099511627776 bytes", PD_E_ABI, true },
        { "bad-no-record", "a missing required slot", "required function record is missing", PD_E_ABI, true },
        { "bad-no-close", "no close()", "required function close is missing", PD_E_ABI, true },
        { "bad-null-name", "NULL for a name", "gives no name", PD_E_ABI, true },
        { "bad-garbage-name", "rubbish for a name", "the name in its head must be", PD_E_ABI, true },
        { "bad-version", "no version", "the version in its head", PD_E_ABI, true },
        { "bad-flags", "flags that its ABI does not have", "flags 0x80", PD_E_ABI, true },
        { "bad-null", "a symbol that is NULL", "points nowhere", PD_E_ABI, true },
        { "bad-undefined", "a function that no library has", "no_library_has_this_function", PD_E_ABI, true },
#ifndef PORTALD_SANITIZED /* whose handlers turn signals into exits */
        { "bad-wild", "a symbol that points into nothing", "was killed by signal 11", PD_E_CRASHED, false },
#endif
        { "bad-exit", "exit() in a constructor", "called exit(5) while it was loaded", PD_E_CRASHED, false },
};

static void test_heads(void)
{
        for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
                char from[PATH_MAX], path[512];

                (void)snprintf(from, sizeof from, PLUGINS "%s.so", heads[i].file);
                if (!plugin_dir_copy(dir, from, NULL, path)) {
                        tap_ok(false, "%s was built", from);
                        continue;
                }
                refused(heads[i].name, path, 0, heads[i].code, heads[i].part, heads[i].inside);
        }
}

static void below(char *path, const char *name)
{
        (void)snprintf(path, 512, "%s/%s", dir, name);
}

static void test_files(void)
{
        char path[512], other[512], writable[512];
        FILE *f;

        (void)plugin_dir_copy(dir, PLUGINS "bad-none.so", "writable-by-group.so", path);
        (void)chmod(path, 0664);
        refused("writable by its group", path, 0, PD_E_PERM, "the file is writable by its group", true);
        (void)chmod(path, 0666);
        refused("writable by everyone", path, 0, PD_E_PERM, "the file is writable by everyone", true);
        (void)chmod(path, 0644);
        if (geteuid() == 0 && chown(path, 12345, 0) == 0)
                refused("another user's", path, 0, PD_E_PERM, "belongs to user 12345", true);
        else
                tap_skip("a file of another user", "only root can make one");

        below(writable, "open");
        (void)mkdir(writable, 0755);
        (void)chmod(writable, 0777);
        (void)plugin_dir_copy(writable, PLUGINS "bad-none.so", "p.so", path);
        refused("below a directory that everyone may write to", path, 0, PD_E_PERM,
                "the directory is writable by everyone", true);
        below(other, "link-into-open.so");
        (void)!symlink(path, other);
        (void)chmod(writable, 0775);
        refused("a link to a place that a group may write to", other, 0, PD_E_PERM,
                "the directory is writable by its group", true);
        (void)chmod(writable, 01777);
        tap_ok(host_check_file(path, 0, geteuid(), PROGRAM, NULL, NULL) == -PD_E_PERM,
                "a sticky directory for everyone, like /tmp, is refused too");

        refused("a relative path", "plugins/p.so", 0, PD_E_INVALID, "must be absolute", true);
        below(path, "none.so");
        refused("not there", path, 0, PD_E_NOT_FOUND, "No such file", true);
        refused("a directory", dir, 0, PD_E_INVALID, "is a directory", true);
        below(path, "fifo.so");
        (void)mkfifo(path, 0600);
        refused("a fifo", path, 0, PD_E_INVALID, "is a fifo", true);
        below(path, "loop.so");
        (void)!symlink(path, path);
        refused("a link to itself", path, 0, PD_E_INVALID, "more than 40 links", true);
        below(path, "text.so");
        f = fopen(path, "we");
        if (f) {
                (void)fputs("not a library\n", f);
                (void)fclose(f);
        }
        refused("no ELF file", path, 0, PD_E_ABI, "cannot be loaded", true);
}

static void test_good(void)
{
        char path[512], link[512];
        js_owned *info = NULL;
        struct pd_error err = { 0 };
        sd_event *loop = NULL;
        struct host *h = NULL;
        struct host_params p = {
                .name = "lab", .path = path, .kind = PD_KIND_BILLING, .program = PROGRAM, .owner_uid = geteuid()
        };

        (void)plugin_dir_copy(dir, PLUGINS "bad-none.so", NULL, path);
        tap_ok(host_check_file(path, PD_KIND_BILLING, geteuid(), PROGRAM, &info, &err) == 0,
                "S-02 the same file without a fault is accepted: %s", err.text);
        tap_ok(streq(js_str(info, "name", ""), "good") && streq(js_str(info, "kind", ""), "billing") &&
                        streq(js_str(info, "abi", ""), "1.0") &&
                        js_bool(json_object_get(info, "slots"), "record", false) &&
                        !js_bool(json_object_get(info, "slots"), "probe", true),
                "... and described: name, kind, ABI, slots");
        refused("the right file for another purpose", path, PD_KIND_VAULT, PD_E_ABI,
                "is a billing plugin, and a vault plugin is needed", false);
        below(link, "link.so");
        (void)!symlink("./bad-none.so", link);
        tap_ok(host_check_file(link, 0, geteuid(), PROGRAM, NULL, &err) == 0, "a link whose way is safe is followed");
        (void)plugin_dir_copy(dir, PLUGINS "bad-later.so", NULL, path);
        tap_ok(host_check_file(path, 0, geteuid(), PROGRAM, NULL, &err) == 0,
                "a plugin built for a later minor version, with a longer table, is accepted: %s", err.text);
        p.program = "/no/such/program";
        (void)sd_event_new(&loop);
        tap_ok(host_open(&h, loop, &p, &err) < 0 && strstr(err.text, "/no/such/program"),
                "a missing plugin host is named: %s", err.text);
        sd_event_unref(loop);
}

int main(void)
{
        if (!plugin_dir_make(dir)) {
                tap_ok(false, "a safe directory could be made");
                return tap_done();
        }
        test_heads();
        test_files();
        test_good();
        tap_ok(n_seen >= 12, "at least twelve bad variants, each with its own reason (%zu)", n_seen);
        plugin_dir_remove(dir);
        return tap_done();
}
