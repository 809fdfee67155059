/* SPDX-License-Identifier: Apache-2.0 */
/* Stays with a job until it is over: its bytes to stdout, its states to stderr. Ctrl-C leaves it running. A daemon that restarts is waited
 * for, within a bound; the log goes on at the byte where it was. */
#include "cli/cli.h"

#include <inttypes.h>
#include <time.h>

#define LOG_MAX 1048576
#define LOG_WAIT_MS 30000
#define LOG_REST_MS 1000 /* for the last bytes of a job that is over */
#define LOG_REST_ROUNDS 10
#define CALL_TIMEOUT_US (60 * USEC_PER_SEC)
#define RETRY_US (60 * USEC_PER_SEC)
#define DELAY_MIN_US (100 * USEC_PER_MSEC)
#define DELAY_MAX_US (2 * USEC_PER_SEC)

struct following {
        struct cli *c;
        const struct follow_params *p;
        json_t *job;   /* as last told */
        char told[96]; /* state and generation of the last line on stderr */
        bool over;     /* ended or suspended: only the rest of the log is to come */
        int64_t offset;
        bool waits_for_log; /* and has said so */
        int empty;          /* rounds in a row that brought nothing */
};

int cli_retry_for(const struct cli_line *line, int64_t *ret_us, struct pd_error *err)
{
        const char *text = cli_value(line, "--retry-for");
        struct pd_error why;

        *ret_us = RETRY_US;
        if (text && duration_parse(text, ret_us, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "--retry-for: %.200s", why.text);
        return 0;
}

int job_exit_code(const json_t *job)
{
        int64_t code = js_int(job, "exit_code", 0), sig = js_int(job, "signal", 0);

        if (streq(js_str(job, "result", ""), "succeeded"))
                return CLI_OK;
        if (sig > 0 && sig < 128)
                return (int)(128 + sig);
        return code > 0 && code < 256 ? (int)code : CLI_FAILED;
}

/* "train is running on lab/here/box", "train was stopped", "train failed: it exited with code 7" */
static void tell(const struct following *f)
{
        const char *state = js_str(f->job, "state", "?"), *result = js_str(f->job, "result", ""),
                   *offer = js_str(f->job, "offer", "");
        const char *waiting = js_str(f->job, "waiting", ""),
                   *message = *waiting ? waiting : js_str(f->job, "message", "");
        bool ended = streq(state, "ended") && *result, colour = f->c->colour_err;
        const char *word = ended ? result : state, *verb = !ended ? "is " : streq(result, "stopped") ? "was " : "";
        char name[96], text[600], where[200];

        if (str_starts(message, word)) /* it says so itself */
                message += strlen(word) + strspn(message + strlen(word), ":, ");
        (void)fprintf(stderr, "portal: %s %s%s%s%s", plain(js_str(f->job, "name", f->p->job), name, sizeof name), verb,
                colour_on(colour, colour_of_state(state, result)), word, colour_off(colour));
        if (*offer && !strstr(message, offer) &&
                (streq(state, "starting") || streq(state, "running") || streq(state, "restoring")))
                (void)fprintf(stderr, " on %s", plain(offer, where, sizeof where));
        (void)fprintf(stderr, "%s%s\n", *message ? ": " : "", plain(message, text, sizeof text));
}

/* http_event_fn */
static bool on_job(void *arg, const json_t *job)
{
        struct following *f = arg;
        const char *state = js_str(job, "state", "");
        bool was_over = f->over;
        char told[96];

        json_decref(f->job);
        f->job = json_incref((json_t *)(uintptr_t)job);
        f->over = streq(state, "ended") || streq(state, "suspended");
        (void)str_format(told, sizeof told, "%.40s %" PRId64, state, js_int(job, "generation", 0));
        if (!streq(told, f->told) && f->p->states && !f->over)
                tell(f);
        (void)str_format(f->told, sizeof f->told, "%s", told);
        return f->over && !was_over;
}

static int open_events(struct following *f, struct pd_error *err)
{
        char path[256];

        if (!str_format(path, sizeof path, "/v1/events?job=%s", f->p->job))
                return pd_fail(err, PD_E_INVALID, "the job's id is too long");
        return http_events_open(f->c->http, path, on_job, f, err);
}

static int64_t mono_us(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

int ask_again(struct cli *c, const char *path, int64_t retry_us, struct http_reply *ret, struct pd_error *err)
{
        int64_t end = mono_us() + retry_us, delay = DELAY_MIN_US;
        int r;

        do {
                http_events_close(c->http);
                (void)http_wait(c->http, delay);
                delay = delay * 2 > DELAY_MAX_US ? DELAY_MAX_US : delay * 2;
                if (http_interrupted(c->http))
                        return pd_fail(err, PD_E_CANCELLED, "interrupted");
                http_reply_clear(ret);
                r = http_call(c->http, "GET", path, NULL, NULL, CALL_TIMEOUT_US, ret, err);
        } while ((r == -PD_E_IO || r == -PD_E_TRANSIENT || r == -PD_E_FULL) && mono_us() < end);
        return r;
}

/* 0 = there again. */
static int reconnect(struct following *f, const struct pd_error *why, struct pd_error *err)
{
        struct http_reply reply = { 0 };
        char path[256], span[QUANTITY_MAX];
        int r;

        say(f->c, "%s", why->text);
        say(f->c, "the job is not touched by that; trying again for %s", ago(f->p->retry_us, span));
        if (!job_path(path, sizeof path, f->p->job, ""))
                return pd_fail(err, PD_E_INVALID, "the job's id is too long");
        r = ask_again(f->c, path, f->p->retry_us, &reply, err);
        if (r == 0)
                (void)on_job(f, reply.json);
        http_reply_clear(&reply);
        if (r < 0)
                return r;
        say(f->c, "portald answers again");
        return open_events(f, err);
}

/* One piece of the log. */
struct piece {
        bool answered; /* by portald, be it with an error */
        bool some, end;
};

static int fetch(struct following *f, struct piece *ret, struct pd_error *err)
{
        struct http_reply reply;
        char what[160], path[320];
        int r;

        *ret = (struct piece){ 0 };
        (void)str_format(what, sizeof what, "logs?offset=%" PRId64 "&max=%d&wait_ms=%d", f->offset, LOG_MAX,
                f->over ? LOG_REST_MS : LOG_WAIT_MS);
        if (!job_path(path, sizeof path, f->p->job, what))
                return pd_fail(err, PD_E_INVALID, "the job's id is too long");
        r = http_call(f->c->http, "GET", path, NULL, NULL, CALL_TIMEOUT_US + LOG_WAIT_MS * USEC_PER_MSEC, &reply, err);
        if (r == 0 && reply.n > 0 && (fwrite(reply.data, 1, reply.n, stdout) != reply.n || fflush(stdout) != 0))
                r = pd_fail(err, PD_E_CANCELLED, "stdout is closed");
        ret->answered = reply.status != 0;
        if (r == 0) {
                f->offset = reply.next >= 0 ? reply.next : f->offset + (int64_t)reply.n;
                ret->some = reply.n > 0;
                ret->end = reply.eof;
        }
        http_reply_clear(&reply);
        return r;
}

static bool passing(int r)
{
        return r == -PD_E_IO || r == -PD_E_TRANSIENT || r == -PD_E_FULL || r == -PD_E_BUSY || r == -PD_E_DEADLINE;
}

/* portald answers, but the job's machine does not: its log comes later, or, for a job that is over, perhaps never. 1 = enough. */
static int log_missing(struct following *f, int r, const struct pd_error *err)
{
        bool gone = r == -PD_E_NOT_FOUND || r == -PD_E_GONE;

        if (f->over) {
                if (!gone || f->offset > 0)
                        say(f->c, "the rest of its log cannot be read: %s", err->text);
                return 1;
        }
        if (!passing(r))
                return r;
        if (!f->waits_for_log)
                say(f->c, "its log cannot be read now: %s; waiting for it", err->text);
        f->waits_for_log = true;
        (void)http_wait(f->c->http, USEC_PER_SEC);
        return 0;
}

/* One round. 1 = the job is over and its log is at its end. */
static int look(struct following *f, struct pd_error *err)
{
        struct piece piece = { 0 };
        int r = http_events_state(f->c->http, err);

        if (r == 0 || f->over)
                r = fetch(f, &piece, err);
        if (r == -PD_E_CANCELLED)
                return http_interrupted(f->c->http) || ferror(stdout) ? r : 0; /* else an event broke the wait off */
        if (r < 0 && piece.answered)
                return log_missing(f, r, err);
        if (r < 0 && passing(r)) {
                struct pd_error why = *err;

                return reconnect(f, &why, err);
        }
        if (r < 0)
                return r;
        f->waits_for_log = false;
        f->empty = piece.some ? 0 : f->empty + 1;
        if (f->over && !piece.some)
                return piece.end || f->empty > LOG_REST_ROUNDS;
        if (!piece.some && piece.end) /* the log is at its end, and the job's last word is on its way */
                (void)http_wait(f->c->http, USEC_PER_SEC);
        return 0;
}

static int detached(const struct following *f)
{
        if (ferror(stdout))
                say(f->c, "stdout is closed: detached, the job runs on");
        else
                say(f->c, "detached, the job runs on");
        say(f->c, "follow it with `portal logs -f %s`, end it with `portal stop %s`", f->p->job, f->p->job);
        return ferror(stdout) ? CLI_FAILED : CLI_DETACHED;
}

static int over(const struct following *f)
{
        const char *line = js_str(f->job, "resume_line", NULL);
        bool suspended = streq(js_str(f->job, "state", ""), "suspended");

        tell(f);
        if (suspended && line)
                say(f->c, "continue it with `%s`", line);
        else if (suspended)
                say(f->c, "continue it with `portal resume %s`", f->p->job);
        if (!f->p->exit_code_of_job)
                return CLI_OK;
        return suspended ? CLI_TEMPORARY : job_exit_code(f->job);
}

int follow(struct cli *c, const struct follow_params *p)
{
        struct following f = { .c = c, .p = p, .offset = p->offset };
        struct interrupt interrupt;
        struct pd_error err;
        int r, code;

        interrupt_begin(c, &interrupt);
        r = open_events(&f, &err);
        while (r == 0)
                r = look(&f, &err);
        http_events_close(c->http);
        interrupt_end(c, &interrupt);
        if (r > 0) {
                code = over(&f);
        } else if (r == -PD_E_CANCELLED) {
                code = detached(&f);
        } else {
                code = say_error(c, &err, NULL);
                say(c, "to go on: `portal logs -f %s`", p->job);
        }
        json_decref(f.job);
        return code;
}
