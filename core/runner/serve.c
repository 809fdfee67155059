/* SPDX-License-Identifier: Apache-2.0 */
/* The socket, its clients, and one function a request. */
#include <errno.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/runner.h"
#include "runner/serve.h"

static json_t *placement_answer(const struct job *j)
{
        return json_pack("{s:o}", "placement", job_placement(j));
}

static int store_owner(struct runner *r, const char *installation, int64_t epoch, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/owner.json", r->cfg.state_dir);
        js_owned *o = json_pack("{s:s, s:I}", "installation", installation, "epoch", (json_int_t)epoch);

        if (!path || !o)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (streq(installation, r->installation) && epoch == r->epoch)
                return 0;
        (void)str_format(r->installation, sizeof r->installation, "%s", installation);
        r->epoch = epoch;
        return disk_write_json(path, o, err);
}

static int op_hello(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const char *installation = js_str(a->body, "installation", "");
        int64_t version, epoch = js_int(a->body, "epoch", 0);
        int e = js_need_int(a->body, "version", 0, 1000000, &version, err);

        if (e < 0)
                return e;
        if (version != FRAME_VERSION)
                return pd_fail(err, PD_E_UNSUPPORTED, "version %lld is asked for: this runner speaks %d",
                        (long long)version, FRAME_VERSION);
        if (*installation && *r->installation && !streq(installation, r->installation))
                for (size_t i = 0; i < r->jobs.n; i++)
                        if (job_live(r->jobs.at[i]))
                                return pd_fail(err, PD_E_CONFLICT,
                                        "this runner runs jobs of installation %s, not of %s", r->installation,
                                        installation);
        if (streq(installation, r->installation) && epoch < r->epoch)
                return pd_fail(err, PD_E_CONFLICT, "epoch %lld is older than %lld: another portald has taken over",
                        (long long)epoch, (long long)r->epoch);
        if (*installation && (e = store_owner(r, installation, epoch, err)) < 0)
                return e;
        *ret = caps_hello(r);
        return 0;
}

#define LIST_VALUES_MAX \
        1000 /* refused values in one list: it must fit into a frame; each job's are whole in its event */

static void trim_values(json_t *placement, size_t *left)
{
        json_t *values = json_object_get(json_object_get(placement, "save"), "values");

        while (json_array_size(values) > *left)
                (void)json_array_remove(values, json_array_size(values) - 1);
        *left -= json_array_size(values);
}

static int op_list(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        json_t *list = json_array();
        size_t left = LIST_VALUES_MAX;

        (void)a, (void)err;
        for (size_t i = 0; i < r->jobs.n; i++)
                if (!r->jobs.at[i]->released) {
                        js_owned *p = job_placement(r->jobs.at[i]);
                        js_owned *copy = json_deep_copy(p); /* the placement shares its save with the job */

                        trim_values(copy, &left);
                        (void)json_array_append(list, copy);
                }
        *ret = json_pack("{s:o}", "placements", list);
        return 0;
}

static int op_start(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const json_t *order = json_object_get(a->body, "order");
        struct job *j;
        int64_t generation;
        int e;

        if (!order)
                order = a->body;
        if ((e = js_need_int(order, "generation", 1, INT64_MAX, &generation, err)) < 0)
                return e;
        if (a->f->generation && a->f->generation != (uint64_t)generation)
                return pd_fail(err, PD_E_INVALID, "the frame says generation %llu, its order %lld",
                        (unsigned long long)a->f->generation, (long long)generation);
        j = job_find(r, js_str(order, "job", ""));
        if (j && (uint64_t)generation < j->generation)
                return pd_fail(err, PD_E_CONFLICT, "fenced: generation %lld is older than %llu", (long long)generation,
                        (unsigned long long)j->generation);
        if ((e = start_job(r, order, (uint64_t)generation, &j, err)) < 0)
                return e;
        *ret = placement_answer(j);
        return 0;
}

static int op_save(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const char *mode_text, *checkpoint;
        int64_t span = js_int(a->body, "deadline_us", SAVE_US);
        enum save_mode mode;
        struct id id;
        int e;

        (void)r;
        if ((e = js_need_str(a->body, "mode", &mode_text, err)) < 0 ||
                (e = save_mode_parse(mode_text, &mode, err)) < 0 ||
                (e = js_need_str(a->body, "checkpoint", &checkpoint, err)) < 0)
                return e;
        if (!id_parse(ID_CHECKPOINT, checkpoint, &id))
                return pd_fail(err, PD_E_INVALID, "\"%.60s\" is no checkpoint id", checkpoint);
        e = save_begin(a->job, mode, checkpoint, js_str(a->body, "cause", "user"), span > 0 ? span : SAVE_US, err);
        if (e < 0)
                return e;
        *ret = placement_answer(a->job);
        return 0;
}

static int op_thaw(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        int e = hold_thaw(a->job, a->f->generation, json_object_get(a->body, "orders"), err);

        (void)r;
        if (e < 0)
                return e;
        *ret = placement_answer(a->job);
        return 0;
}

static int op_stop(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const char *cause = js_str(a->body, "cause", "user");
        int64_t grace = js_int(a->body, "grace_us", GRACE_US);
        struct pd_error why;

        (void)r, (void)err;
        (void)pd_fail(&why, PD_E_CANCELLED, "it was stopped before it had started");
        if (a->job->phase == PHASE_PREPARING && !start_verifying(a->job)) {
                start_cancel(a->job, cause, &why);
        } else if (job_live(a->job)) {
                save_abandon(a->job, NULL);
                finish_term(a->job, cause, grace >= 0 ? grace : 0);
        }
        *ret = placement_answer(a->job);
        return 0;
}

static int op_orders(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        int e = orders_replace(a->job, json_object_get(a->body, "orders"), err);

        (void)r;
        if (e < 0)
                return e;
        *ret = placement_answer(a->job);
        return 0;
}

static int op_lease(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        int64_t wall, boot = js_int(a->body, "stop_boot_us", 0);
        int e = js_need_int(a->body, "stop_wall_us", 0, INT64_MAX, &wall, err);

        if (e < 0 || (e = orders_lease(r, wall, boot, err)) < 0)
                return e;
        *ret = json_pack(
                "{s:I, s:I}", "stop_wall_us", (json_int_t)r->stop_wall_us, "stop_boot_us", (json_int_t)r->stop_boot_us);
        return 0;
}

bool serve_client_there(const struct runner *r, const struct client *c)
{
        for (size_t i = 0; i < r->clients.n; i++)
                if (r->clients.at[i] == c)
                        return true;
        return false;
}

static int op_notice(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const char *source = js_str(a->body, "source", "user");
        js_owned *event = NULL;
        int64_t in, deadline;
        int e = js_need_int(a->body, "in_us", 0, USEC_PER_DAY, &in, err);

        if (e < 0)
                return e;
        if (streq(source, "shutdown"))
                r->vacating = true;
        if ((e = orders_notice(r, in, source, &deadline, err)) < 0)
                return e;
        event = json_pack(
                "{s:s, s:I, s:s}", "event", "notice", "deadline_wall_us", (json_int_t)deadline, "source", source);
        serve_event(r, 0, event);
        *ret = json_pack("{s:I}", "deadline_wall_us", (json_int_t)deadline);
        return 0;
}

static int op_logs(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        (void)r, (void)ret, (void)err;
        logs_request(a->client, a->f->request, a->body);
        return 1;
}

static int op_release(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        int e = finish_release(a->job, js_bool(a->body, "drop_checkpoint_dir", false), err);

        (void)r;
        if (e < 0)
                return e;
        *ret = placement_answer(a->job);
        return 0;
}

static int op_forget(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        (void)r, (void)ret;
        return finish_forget(a->job, err);
}

static int op_drop(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const char *checkpoint;
        struct id id;
        int e = js_need_str(a->body, "checkpoint", &checkpoint, err);

        (void)r, (void)ret;
        if (e < 0)
                return e;
        if (!id_parse(ID_CHECKPOINT, checkpoint, &id))
                return pd_fail(err, PD_E_INVALID, "\"%.60s\" is no checkpoint id", checkpoint);
        e = drop_begin(a->job, checkpoint, a->client, a->f->request, err);
        return e < 0 ? e : 1;
}

enum fence {
        FENCE_NONE,
        FENCE_LOOSE,
        FENCE_NEWER,
        FENCE_STRICT
}; /* not about a job; 0 or newer is fine; newer is fine; the generation must be the one held */
static const struct op {
        const char *name;
        op_fn fn;
        enum fence fence;
        bool gone_is_done; /* a job that is not known: done already */
} ops[] = {
        { "hello", op_hello, FENCE_NONE, false },
        { "list", op_list, FENCE_NONE, false },
        { "start", op_start, FENCE_NONE, false }, /* fences itself */
        { "save", op_save, FENCE_STRICT, false },
        { "thaw", op_thaw, FENCE_NEWER, false },
        { "stop", op_stop, FENCE_STRICT, false },
        { "orders", op_orders, FENCE_STRICT, false },
        { "lease", op_lease, FENCE_NONE, false },
        { "precheck", ask_precheck, FENCE_LOOSE, false },
        { "inspect", ask_inspect, FENCE_NONE, false },
        { "notice", op_notice, FENCE_NONE, false },
        { "logs", op_logs, FENCE_LOOSE, false },
        { "release", op_release, FENCE_STRICT, true },
        { "forget", op_forget, FENCE_LOOSE, true },
        { "drop", op_drop, FENCE_LOOSE, false },
};

static int find_job(struct runner *r, const struct op *op, struct asked *a, struct pd_error *err)
{
        const char *id;
        int e = js_need_str(a->body, "job", &id, err);
        uint64_t asked = a->f->generation;

        if (e < 0)
                return e;
        a->job = job_find(r, id);
        if (!a->job)
                return op->gone_is_done ? 1 : pd_fail(err, PD_E_NOT_FOUND, "%.60s is not known on this machine", id);
        if (op->fence == FENCE_LOOSE && asked == 0)
                return 0;
        if (asked < a->job->generation)
                return pd_fail(err, PD_E_CONFLICT, "fenced: generation %llu is older than %llu",
                        (unsigned long long)asked, (unsigned long long)a->job->generation);
        if (asked > a->job->generation && op->fence == FENCE_STRICT)
                return pd_fail(err, PD_E_CONFLICT,
                        "generation %llu of %s has not been started here: this machine holds %llu",
                        (unsigned long long)asked, id, (unsigned long long)a->job->generation);
        return 0;
}

static int dispatch(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const char *name;
        int e = js_need_str(a->body, "op", &name, err);

        if (e < 0)
                return e;
        if (a->client->uid != 0 && a->client->uid != r->cfg.client_uid)
                return pd_fail(err, PD_E_PERM,
                        "user %u may not command this runner: only root and the user of portald (%u) may",
                        a->client->uid, r->cfg.client_uid);
        for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
                if (!streq(ops[i].name, name))
                        continue;
                if (ops[i].fence != FENCE_NONE && (e = find_job(r, &ops[i], a, err)) != 0)
                        return e < 0 ? e : 0;
                return ops[i].fn(r, a, ret, err);
        }
        return pd_fail(err, PD_E_UNSUPPORTED, "\"%.40s\" is no request that this runner knows", name);
}

static void on_frame(void *arg, struct conn *conn, const struct frame *f, const int *fds, size_t n_fds)
{
        struct client *c = arg;
        struct asked a = { .client = c, .f = f, .body = f->json };
        struct pd_error err = { 0 };
        js_owned *body = NULL;
        int e;

        for (size_t i = 0; i < n_fds; i++)
                (void)close(fds[i]);
        if (f->kind != FRAME_REQUEST)
                return;
        e = dispatch(c->r, &a, &body, &err);
        if (e >= 0 && c->r->broken)
                e = pd_fail(&err, PD_E_IO, "this runner cannot write its records any more, and ends: see its log");
        if (e == 0)
                e = conn_answer(conn, f->request, body, NULL, 0, &err);
        else if (e < 0)
                e = conn_answer_error(conn, f->request, &err, &err);
        if (e < 0)
                log_warning("a client cannot be answered: %s", err.text);
}

static int on_close(sd_event_source *s, uint64_t usec, void *arg)
{
        struct client *c = arg;
        struct runner *r = c->r;

        (void)s, (void)usec;
        for (size_t i = 0; i < r->clients.n; i++)
                if (r->clients.at[i] == c)
                        vec_swap_remove(&r->clients, i);
        sd_event_source_disable_unref(c->closing);
        c->conn = conn_free(c->conn);
        free(c);
        return 0;
}

/* Later, because the stream may be in use right now. Until then nothing is sent on it. */
static void close_soon(struct client *c)
{
        logs_client_gone(c->r, c);
        if (!c->closing)
                (void)sd_event_add_time_relative(c->r->loop, &c->closing, CLOCK_BOOTTIME, 0, 1, on_close, c);
}

static void on_lost(void *arg, struct conn *conn, const struct pd_error *err)
{
        (void)conn, (void)err;
        close_soon(arg);
}

static int on_connect(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
        struct runner *r = arg;
        struct client *c = NULL;
        struct conn_events events = { .on_frame = on_frame, .on_lost = on_lost };
        struct pd_error err;
        int32_t pid;
        uint32_t gid;
        int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        (void)s, (void)revents;
        if (got < 0)
                return 0;
        if (r->clients.n >= RUNNER_CLIENTS_MAX || !(c = calloc(1, sizeof *c))) {
                log_warning("a client was turned away: %zu are connected", r->clients.n);
                (void)close(got);
                return 0;
        }
        c->r = r;
        c->uid = UINT32_MAX;
        events.arg = c;
        if (conn_new(&c->conn, r->loop, got, &events, &err) < 0 || conn_peer(c->conn, &pid, &c->uid, &gid) < 0 ||
                !vec_push(&r->clients, c)) {
                log_warning("a client was turned away: %s", err.text);
                if (c->conn)
                        (void)conn_free(c->conn);
                else
                        (void)close(got);
                free(c);
        }
        return 0;
}

void serve_event(struct runner *r, uint64_t generation, const json_t *body)
{
        struct pd_error err;

        for (size_t i = 0; i < r->clients.n; i++) {
                struct client *c = r->clients.at[i];

                if (c->closing || (c->uid != 0 && c->uid != r->cfg.client_uid))
                        continue;
                if (conn_event(c->conn, generation, body, &err) <
                        0) { /* it does not read: it will find the state with `list` */
                        log_warning("a client that does not read is cut off: %s", err.text);
                        close_soon(c);
                }
        }
}

static int bind_socket(struct runner *r, struct pd_error *err)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        const struct group *g = r->cfg.socket_group ? getgrnam(r->cfg.socket_group) : NULL;
        int fd;

        if (!str_format(a.sun_path, sizeof a.sun_path, "%s", r->cfg.socket))
                return pd_fail(err, PD_E_INVALID, "the socket's path is too long: %s", r->cfg.socket);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)unlink(
                r->cfg.socket); /* of a runner before: two at once are kept out by the lock on the state directory */
        if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || chown(r->cfg.socket, 0, g ? g->gr_gid : 0) < 0 ||
                chmod(r->cfg.socket, 0660) < 0 || listen(fd, 64) < 0) {
                (void)safe_close(fd);
                return pd_fail(err, PD_E_IO, "cannot listen on %s: %m", r->cfg.socket);
        }
        r->own_socket = true;
        return fd;
}

int serve_open(struct runner *r, struct pd_error *err)
{
        int n = sd_listen_fds(1);

        if (n > 1)
                return pd_fail(err, PD_E_INVALID, "%d sockets were handed over: one is enough", n);
        r->listen_fd = n == 1 ? SD_LISTEN_FDS_START : bind_socket(r, err);
        if (r->listen_fd < 0)
                return r->listen_fd;
        if (sd_event_add_io(r->loop, &r->listener, r->listen_fd, EPOLLIN, on_connect, r) < 0)
                return pd_fail(err, PD_E_NOMEM, "cannot watch the socket");
        return 0;
}

void serve_close(struct runner *r)
{
        r->listener = sd_event_source_disable_unref(r->listener);
        if (r->own_socket)
                (void)unlink(r->cfg.socket);
        r->listen_fd = safe_close(r->listen_fd);
        while (r->clients.n > 0) {
                struct client *c = r->clients.at[--r->clients.n];

                sd_event_source_disable_unref(c->closing);
                (void)conn_free(c->conn);
                free(c);
        }
        vec_free(&r->clients);
}
