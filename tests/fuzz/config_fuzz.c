/* SPDX-License-Identifier: Apache-2.0 */
/* Whole config files, the main one and (behind a line "%%") one of conf.d: a load gives a config that prints, or faults that say where and what. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char dir[64], main_path[96], part_path[96];

static void clean_up(void)
{
        char conf_d[96];

        (void)unlink(main_path);
        (void)unlink(part_path);
        (void)str_format(conf_d, sizeof conf_d, "%s/conf.d", dir);
        (void)rmdir(conf_d);
        (void)rmdir(dir);
}

/* In memory where there is /dev/shm, so that runs are not slowed by a disk. */
static void set_up(void)
{
        char conf_d[96];

        if (dir[0])
                return;
        (void)str_format(
                dir, sizeof dir, "%s/portald-fuzz.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(dir))
                abort();
        (void)str_format(main_path, sizeof main_path, "%s/portald.conf", dir);
        (void)str_format(part_path, sizeof part_path, "%s/conf.d/part.conf", dir);
        (void)str_format(conf_d, sizeof conf_d, "%s/conf.d", dir);
        if (mkdir(conf_d, 0755) < 0 || atexit(clean_up))
                abort();
        (void)setenv("CREDENTIALS_DIRECTORY", dir, 1);
}

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
        pd_cleanup(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
                abort();
}

static void print(const struct config *c)
{
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        if (!out || config_print(c, out, NULL) < 0)
                abort();
        (void)fclose(out);
        if (!strstr(text, "daemon.state_dir = ") || !c->daemon.default_vault || !c->daemon.socket ||
                !c->runner.image_store)
                abort();
        free(text);
}

static int check_setting(const char *key, const char *value, struct pd_error *err)
{
        (void)value;
        return strlen(key) < 40 ? 0
                                : pd_fail(err, PD_E_INVALID, "\"%.50s\" is no setting: see the table of settings", key);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
        const uint8_t *cut = n ? memmem(bytes, n, "%%\n", 3) : NULL;
        struct config *c = NULL;
        js_owned *faults = NULL;
        struct pd_error err = { 0 };
        struct config_params params = { .check_setting = check_setting };

        set_up();
        params.path = main_path;
        params.owner_uid = geteuid();
        params.keep_secrets = n & 1;
        write_file(main_path, bytes, cut ? (size_t)(cut - bytes) : n);
        (void)unlink(part_path);
        if (cut)
                write_file(part_path, cut + 3, n - 3 - (size_t)(cut - bytes));
        if (config_load(&c, &params, &faults, &err) == 0) {
                print(c);
        } else {
                const json_t *first = json_array_get(faults, 0);

                if (c || err.text[0] == '\0' || json_array_size(faults) > CONFIG_FAULTS_MAX)
                        abort();
                if (!str_starts(js_str(first, "at", ""), dir) || !*js_str(first, "text", "") ||
                        !*js_str(first, "fix", ""))
                        abort();
        }
        (void)config_free(c);
        return 0;
}
