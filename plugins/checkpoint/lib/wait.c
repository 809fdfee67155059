/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int64_t capture_now(struct pd_call *call)
{
        return call->host->now_boot_us(call);
}

int64_t capture_left(struct pd_call *call)
{
        int64_t left = call->deadline_boot_us - capture_now(call);

        return left > 0 ? left : 0;
}

int64_t capture_until(struct pd_call *call, int64_t span_us)
{
        int64_t at;

        if (__builtin_add_overflow(capture_now(call), span_us, &at) || at > call->deadline_boot_us)
                return call->deadline_boot_us;
        return at;
}

int capture_check(struct pd_call *call, struct pd_error *err)
{
        if (capture_left(call) == 0)
                return pd_fail(err, PD_E_DEADLINE, "the call's deadline passed");
        if (call->host->cancelled(call))
                return pd_fail(err, PD_E_CANCELLED, "the caller withdrew it");
        return 0;
}

int capture_wait(struct pd_call *call, int fd, short events, int64_t until_boot_us, struct pd_error *err)
{
        struct pollfd p = { .fd = fd, .events = events };

        for (;;) {
                int64_t left = until_boot_us - capture_now(call);
                int r = capture_check(call, err);

                if (r < 0)
                        return r;
                if (left <= 0)
                        return 0;
                if (left > CAPTURE_SLICE_US)
                        left = CAPTURE_SLICE_US;
                r = poll(&p, 1, (int)((left + 999) / 1000));
                if (r > 0)
                        return 1;
                if (r < 0 && errno != EINTR)
                        return pd_fail(err, PD_E_IO, "poll: %s", strerror(errno));
                if (fd < 0)
                        return 0;
        }
}

void capture_closep(const int *fd)
{
        if (*fd >= 0)
                (void)close(*fd);
}

void capture_text(char *ret, size_t n, const char *text, const char *fallback)
{
        size_t len;

        if (!text || !*text)
                text = fallback;
        len = strnlen(text, n - 1);
        if (text[len])
                while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
                        len--; /* not in the middle of a character */
        for (size_t i = 0; i < len; i++)
                ret[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
        ret[len] = '\0';
}

int capture_value_at(pd_value_fn each, void *arg, const char *path, const char *type, const char *reason,
        const char *fix, int32_t pid, int32_t fd)
{
        char p[1000], t[250], r[1000], f[1000];
        struct pd_value value = {
                .size = sizeof value, .path = p, .type = t, .reason = r, .fix = f, .pid = pid, .fd = fd
        };

        capture_text(p, sizeof p, path, "(no path)");
        capture_text(t, sizeof t, type, "");
        capture_text(r, sizeof r, reason, "no reason was given");
        capture_text(f, sizeof f, fix, "");
        return each(arg, &value);
}

int capture_value(pd_value_fn each, void *arg, const char *path, const char *type, const char *reason, const char *fix)
{
        return capture_value_at(each, arg, path, type, reason, fix, 0, -1);
}
