/* SPDX-License-Identifier: Apache-2.0 */
/* For the config tests: a site's folder that lives as long as one test, with the modes that a real one has. */
#ifndef TESTS_CONFIG_SITE_H
#define TESTS_CONFIG_SITE_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

struct site {
        char dir[64];
        char main[80];
};

static int site_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st;
        (void)kind;
        (void)at;
        return remove(path);
}

static void site_end(struct site *s)
{
        if (s->dir[0])
                (void)nftw(s->dir, site_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void site_begin(struct site *s)
{
        char conf_d[90];

        (void)strcpy(s->dir, "/tmp/portald-config.XXXXXX");
        if (!mkdtemp(s->dir))
                abort();
        (void)str_format(s->main, sizeof s->main, "%s/portald.conf", s->dir);
        (void)str_format(conf_d, sizeof conf_d, "%s/conf.d", s->dir);
        if (mkdir(conf_d, 0755) < 0)
                abort();
}

__attribute__((unused)) static void site_write_bytes(
        const struct site *s, const char *name, const char *bytes, size_t n)
{
        char path[200];
        int fd;

        (void)str_format(path, sizeof path, "%s/%s", s->dir, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
                abort();
        (void)fchmod(fd, 0644);
        (void)close(fd);
}

__attribute__((unused)) static void site_write(const struct site *s, const char *name, const char *text)
{
        site_write_bytes(s, name, text, strlen(text));
}

/* A whole file of the source tree; NULL = there is none. */
__attribute__((unused)) static char *site_read(const char *name, size_t *ret_n)
{
        char path[1024], *text;
        FILE *f;

        (void)str_format(path, sizeof path, TEST_SOURCE_DIR "/%s", name);
        f = fopen(path, "re");
        if (!f)
                return NULL;
        text = calloc(1, 1 << 17);
        *ret_n = text ? fread(text, 1, (1 << 17) - 1, f) : 0;
        (void)fclose(f);
        return text;
}

static int site_load_as(const struct site *s, bool keep_secrets, struct config **ret, json_t **ret_faults,
        struct pd_error *err, int (*check_setting)(const char *key, const char *value, struct pd_error *err))
{
        struct config_params p = {
                .path = s->main, .keep_secrets = keep_secrets, .owner_uid = geteuid(), .check_setting = check_setting
        };

        return config_load(ret, &p, ret_faults, err);
}

__attribute__((unused)) static int site_load(const struct site *s, struct config **ret, struct pd_error *err)
{
        return site_load_as(s, false, ret, NULL, err, NULL);
}

#endif
