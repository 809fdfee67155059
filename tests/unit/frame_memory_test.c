/* SPDX-License-Identifier: Apache-2.0 */
/* A request and its answer when memory runs out at the first, second, third ... allocation: one callback or a refusal, never both or neither. */
#include "alloc_fail.h"

#include <sys/socket.h>
#include <unistd.h>

#include "frame/conn.h"

#include "tap.h"

struct run {
        int answers, lost, sent;
        enum pd_code code;
};

static void on_frame(void *arg, struct conn *c, const struct frame *f, const int *fds, size_t n_fds)
{
        js_owned *item = json_pack("{s:i}", "n", 1);

        (void)arg;
        while (n_fds)
                (void)close(fds[--n_fds]);
        (void)conn_item(c, f->request, item, NULL);
        (void)conn_answer(c, f->request, f->json, f->blob, f->blob_n, NULL);
}

static void on_lost(void *arg, struct conn *c, const struct pd_error *err)
{
        struct run *r = arg;

        (void)c;
        (void)err;
        r->lost++;
}

static void on_answer(void *arg, const struct pd_error *err, const struct frame *answer, json_t *items)
{
        struct run *r = arg;

        (void)answer;
        (void)items;
        r->answers++;
        r->code = err ? err->code : PD_OK;
}

/* The whole of one exchange; what is not answered ends at its deadline. */
static bool exchange(int *sv, struct run *run)
{
        struct conn_events ea = { NULL, on_lost, run }, eb = { on_frame, on_lost, run };
        pd_cleanup(conn_freep) struct conn *a = NULL, *b = NULL;
        sd_event *loop = NULL;
        js_owned *body = json_pack("{s:s}", "op", "x");
        bool good = true;

        if (!body || sd_event_new(&loop) < 0)
                return true;
        if (conn_new(&a, loop, sv[0], &ea, NULL) == 0) {
                sv[0] = -1;
                if (conn_new(&b, loop, sv[1], &eb, NULL) == 0) {
                        sv[1] = -1;
                        run->sent = conn_request(a, 1, body, "raw", 3, &(int){ 1 }, 1, 20 * USEC_PER_MSEC, on_answer,
                                            run, NULL) == 0;
                        for (int i = 0; i < 200 && run->sent && !run->answers; i++)
                                (void)sd_event_run(loop, 50000);
                        good = run->answers == run->sent;
                }
        }
        a = conn_free(a);
        b = conn_free(b);
        (void)sd_event_unref(loop);
        return good && run->answers == run->sent;
}

int main(void)
{
        long n, wrong = 0;

        alloc_begin();
        for (n = 0; n < 10000; n++) {
                struct run run = { 0 };
                int sv[2];
                bool good;

                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
                        abort();
                alloc_fail_at(n);
                good = exchange(sv, &run);
                for (int i = 0; i < 2; i++)
                        (void)safe_close(sv[i]);
                if (!alloc_end()) {
                        wrong += !good || run.code != PD_OK || !run.answers;
                        break;
                }
                if (!good)
                        tap_note("allocation %ld: sent %d, answers %d, code %d", n, run.sent, run.answers, run.code);
                wrong += !good;
        }
        tap_ok(n > 20 && wrong == 0, "a request survives each of the %ld allocations of its exchange failing", n);
        return tap_done();
}
