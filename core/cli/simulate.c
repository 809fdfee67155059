/* SPDX-License-Identifier: Apache-2.0 */
/* portal simulate, portal demo: a program of their own does it; here it gets what the daemon knows, where no file was given. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROGRAM "portal-simulate"
#define WORDS_MAX 64

struct words {
        char *at[WORDS_MAX + 1];
        size_t n;
};

static void word(struct words *w, const char *text)
{
        char *copy = strdup(text);

        if (!copy)
                abort();
        if (w->n < WORDS_MAX)
                w->at[w->n++] = copy;
        else
                free(copy);
}

static void words_free(struct words *w)
{
        for (size_t i = 0; i < w->n; i++)
                free(w->at[i]);
}

/* The flags as they were given; --settings may come several times. */
static void words_of(struct words *w, const struct cli_line *line)
{
        word(w, PROGRAM);
        word(w, line->command->name);
        for (size_t i = 0; i < line->given_n; i++) {
                if (!line->given[i].flag || streq(line->given[i].flag->name, "--socket"))
                        continue;
                word(w, line->given[i].flag->name);
                if (line->given[i].flag->metavar)
                        word(w, line->given[i].value);
        }
}

/* What the daemon answers; NULL = it does not, or has nothing of that list. */
static json_t *answer_of(struct cli *c, const char *path, const char *list)
{
        struct http_reply reply = { 0 };
        struct pd_error err;
        json_t *answer = NULL;

        if (http_call(c->http, "GET", path, NULL, NULL, 5 * USEC_PER_SEC, &reply, &err) == 0 &&
                json_array_size(json_object_get(reply.json, list)) > 0)
                answer = json_incref(reply.json);
        http_reply_clear(&reply);
        return answer;
}

/* As a file that the program can open, under its flag; false = there is nothing. */
static bool hand_over(struct words *w, const char *flag, const json_t *answer)
{
        pd_cleanup(freep) char *text = answer ? js_dump(answer) : NULL;
        char name[64];
        int fd = text ? memfd_create(flag, 0) : -1; /* it outlives the exec */

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                return false;
        (void)str_format(name, sizeof name, "/proc/self/fd/%d", fd);
        word(w, flag);
        word(w, name);
        return true;
}

/* The offers as they are now, and what they cost before. */
static bool market_of_daemon(struct cli *c, struct words *w)
{
        js_owned *offers = answer_of(c, "/v1/offers", "offers");

        if (offers)
                (void)json_object_set_new(offers, "prices", prices_of(c, 0, NULL));
        return hand_over(w, "--prices", offers);
}

static bool jobs_of_daemon(struct cli *c, struct words *w)
{
        js_owned *jobs = answer_of(c, "/v1/jobs?all=1&limit=1000", "jobs");

        return hand_over(w, "--jobs", jobs);
}

/* The installed one; in a build's tree the one beside this program's room. */
static int run_program(const struct words *w)
{
        char self[4096], beside[4200];
        const char *named = getenv("PORTAL_SIMULATE");
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        char *slash;

        if (named && *named)
                (void)execv(named, w->at);
        (void)execv(PORTALD_LIBEXECDIR "/" PROGRAM, w->at);
        self[n > 0 ? n : 0] = '\0';
        for (int i = 0; i < 2; i++)
                if ((slash = strrchr(self, '/')))
                        *slash = '\0';
        if (str_format(beside, sizeof beside, "%s/tryout/" PROGRAM, self))
                (void)execv(beside, w->at);
        (void)fprintf(stderr, "portal %s: %s/%s cannot be run: %s: is portald installed whole?\n", w->at[1],
                PORTALD_LIBEXECDIR, PROGRAM, strerror(errno));
        return CLI_FAILED;
}

int cmd_simulate(struct cli *c, const struct cli_line *line)
{
        struct words w = { .n = 0 };
        int code;

        words_of(&w, line);
        if (!cli_value(line, "--jobs") && !jobs_of_daemon(c, &w))
                say(c, "portald has no past jobs to tell of, so one job of 24h is tried: --jobs FILE names others");
        if (!cli_value(line, "--prices") && !market_of_daemon(c, &w))
                say(c, "portald has no prices to tell of, so a market is made up: --prices FILE names a trace");
        code = run_program(&w);
        words_free(&w);
        return code;
}

int cmd_demo(struct cli *c, const struct cli_line *line)
{
        struct words w = { .n = 0 };
        int code;

        (void)c;
        words_of(&w, line);
        code = run_program(&w);
        words_free(&w);
        return code;
}
