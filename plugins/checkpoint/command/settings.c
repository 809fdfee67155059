/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../values/wire.h"

static int fail_at(struct pd_error *err, const char *key, const char *why)
{
        (void)pd_fail(err, PD_E_INVALID, "checkpoint.%.60s: %s", key, why);
        return pd_fail_subject(err, key);
}

/* "save.0" "save.1" ... in any order, without a gap. */
static int take_words(const struct pd_kv *kv, const char *name, const char **ret, struct pd_error *err)
{
        char key[32];
        size_t n = 0;

        for (; n <= SETTINGS_WORDS_MAX; n++) {
                (void)snprintf(key, sizeof key, "%s.%zu", name, n);
                ret[n] = pd_kv_get(kv, key);
                if (!ret[n])
                        break;
        }
        if (n > SETTINGS_WORDS_MAX)
                return fail_at(err, name, "a command of more than 64 words; put it into a script");
        for (uint32_t i = 0; i < kv->count; i++)
                if (strncmp(kv->pairs[i].key, name, strlen(name)) == 0 && kv->pairs[i].key[strlen(name)] == '.' &&
                        strtoul(kv->pairs[i].key + strlen(name) + 1, NULL, 10) >= n)
                        return fail_at(err, kv->pairs[i].key, "a word of the command is missing before it");
        return 0;
}

static int take_signal(const char *text, int *ret, struct pd_error *err)
{
        static const struct {
                const char *name;
                int number;
        } known[] = { { "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT }, { "USR1", SIGUSR1 },
                { "USR2", SIGUSR2 }, { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "WINCH", SIGWINCH } };

        if (strncmp(text, "SIG", 3) == 0)
                text += 3;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (strcmp(known[i].name, text) == 0)
                        return *ret = known[i].number, 0;
        return fail_at(err, "signal",
                "no signal that a program can save on; write SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGQUIT, SIGALRM, "
                "SIGTERM or SIGWINCH");
}

static bool plain_path(const char *path)
{
        if (!*path || *path == '/' || strlen(path) > 255)
                return false;
        for (const char *s = path; s; s = strchr(s, '/'), s = s ? s + 1 : NULL) {
                size_t n = strcspn(s, "/");

                if (n == 0 || (n == 1 && *s == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
                        return false;
        }
        return true;
}

static int take_timeout(const char *text, int64_t *ret, struct pd_error *err)
{
        *ret = SETTINGS_TIMEOUT_US;
        if (text && (!wire_duration(text, ret) || *ret == 0))
                return fail_at(err, "timeout", "no duration, such as 90s or 5m");
        return 0;
}

int settings_parse(const struct pd_kv *kv, struct settings *ret, struct pd_error *err)
{
        static const struct pd_kv none = { .size = sizeof none };
        struct settings s = { .signal = 0 };
        const char *signal_text;
        int r;

        kv = kv ? kv : &none;
        if ((r = take_words(kv, "save", s.save, err)) < 0 || (r = take_words(kv, "load", s.load, err)) < 0 ||
                (r = take_timeout(pd_kv_get(kv, "timeout"), &s.timeout_us, err)) < 0)
                return r;
        signal_text = pd_kv_get(kv, "signal");
        s.done_file = pd_kv_get(kv, "done_file");
        if (signal_text && (r = take_signal(signal_text, &s.signal, err)) < 0)
                return r;
        if (s.done_file && !plain_path(s.done_file))
                return fail_at(err, "done_file",
                        "it is a path inside of PORTAL_CHECKPOINT_DIR, without \"..\" or a leading \"/\"");
        if (!*s.save && !s.signal)
                return fail_at(err, "save",
                        "the job says neither how to save (save) nor which signal to send (signal with done_file)");
        if (*s.save && s.signal)
                return fail_at(err, "signal", "there is save already; one way to save is enough");
        if (s.signal && !s.done_file)
                return fail_at(err, "done_file",
                        "a signal alone does not say when the job has saved: name the file that it then writes");
        *ret = s;
        return 0;
}
