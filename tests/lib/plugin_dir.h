/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins are refused below a directory that others may write to, and /tmp is one: tests that load a plugin copy it to a directory
 * that is safe. Needs room host. */
#ifndef TESTS_PLUGIN_DIR_H
#define TESTS_PLUGIN_DIR_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a fresh directory, e.g. /var/lib/portald-test.a1B2c3, or one below $HOME. dir: 256 bytes. false = none could be made. */
__attribute__((unused)) static bool plugin_dir_make(char *dir)
{
        const char *roots[] = { geteuid() == 0 ? "/var/lib" : NULL, getenv("HOME") };

        for (size_t i = 0; i < 2; i++)
                if (roots[i] && snprintf(dir, 256, "%s/portald-test.XXXXXX", roots[i]) < 256 && mkdtemp(dir))
                        return true;
        return false;
}

/* Copies file `from` to dir/name (NULL = its own name) with mode 0644. path: 512 bytes. */
__attribute__((unused)) static bool plugin_dir_copy(const char *dir, const char *from, const char *name, char *path)
{
        const char *base = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
        int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
        struct stat st = { 0 };
        bool good;

        (void)snprintf(path, 512, "%s/%s", dir, name ? name : base);
        (void)unlink(path);
        out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        good = in >= 0 && out >= 0 && fstat(in, &st) == 0;
        for (off_t at = 0; good && at < st.st_size;)
                good = sendfile(out, in, &at, (size_t)(st.st_size - at)) > 0;
        if (in >= 0)
                (void)close(in);
        if (out >= 0)
                good = fchmod(out, 0644) == 0 && close(out) == 0 && good;
        return good;
}

static int plugin_dir_drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st, (void)type, (void)ftw;
        return remove(path);
}

__attribute__((unused)) static void plugin_dir_remove(const char *dir)
{
        (void)nftw(dir, plugin_dir_drop, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
