/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of row goes in and comes back equal; lookups; order; keys. */
#include "store/columns.h"
#include "store_lib.h"

static struct place p;

/* Member by member: the padding between them is nobody's. */
#define SAME(c_, ...) &&a->c_ == b->c_
#define SAME_ID(c_) &&id_equal(a->c_, b->c_)
#define SAME_TEXT(c_) &&streq(a->c_, b->c_)
static bool same_job(const struct job *a, const struct job *b)
{
        return id_equal(a->id, b->id) JOB_COLUMNS(SAME, SAME, SAME_ID);
}
static bool same_machine(const struct machine *a, const struct machine *b)
{
        return id_equal(a->id, b->id) MACHINE_COLUMNS(SAME, SAME_TEXT);
}
static bool same_checkpoint(const struct checkpoint *a, const struct checkpoint *b)
{
        return id_equal(a->id, b->id) CHECKPOINT_COLUMNS(SAME_ID, SAME, SAME_TEXT);
}

/* Every byte of every member different from every other, so that a swapped column shows. */
static struct job full_job(void)
{
        return (struct job){ .id = id_of(1),
                .state = JOB_QUEUED,
                .result = RESULT_NONE,
                .cause = CAUSE_NONE,
                .exit_code = 3,
                .signal = 9,
                .op_mode = OP_MOVE,
                .op_cause = CAUSE_IDLE,
                .flags = 5,
                .uid = 4000000001,
                .generation = 4000000002,
                .tries = 7,
                .cpu_milli = 1500,
                .gpus = 2,
                .memory_bytes = UINT64_C(0x123456789abc),
                .machine = id_of(11),
                .checkpoint = id_of(12),
                .op_checkpoint = id_of(13),
                .created_wall_us = 101,
                .since_wall_us = 102,
                .term_wall_us = 103,
                .started_wall_us = 104,
                .ended_wall_us = 105,
                .ran_us = 106,
                .ran_before_us = 107,
                .ttl_us = INT64_MIN,
                .ttl_wall_us = 108,
                .expire_wall_us = 109,
                .next_try_wall_us = INT64_MAX,
                .other = id_of(14),
                .other_generation = 4000000003,
                .move = MOVE_BACK,
                .moves_lost = 8,
                .moved_wall_us = 110,
                .left_rate_nano = 111,
                .move_cost_nano = 112,
                .state_bytes = UINT64_C(0x123456789abd) };
}

static void test_job(void)
{
        struct job in = full_job(), out, next = in;
        struct txn *t = txn_new();
        json_t *doc = NULL;
        struct job_doc d = doc_plain;

        d.offer = "lab/here/box";
        d.image_digest = "sha256:1";
        txn_job(t, NULL, &in, EVENT_SUBMIT, &d, 200, "waits");
        tap_int(place_apply(&p, t), 0, "a new job is taken");
        memset(&out, 0xa5, sizeof out);
        tap_int(store_get_job(p.store, in.id, &out, &p.err), 0, "and found");
        tap_ok(same_job(&in, &out), "each member of the job comes back equal");
        tap_int(store_get_doc(p.store, in.id, &doc, &p.err), 0, "its doc is found");
        tap_str(json_string_value(json_object_get(doc, "message")), "waits", "the message is the doc's");
        tap_str(json_string_value(json_array_get(json_object_get(json_object_get(doc, "spec"), "command"), 0)), "true",
                "the spec is an object");
        tap_ok(json_is_null(json_object_get(doc, "trouble")), "no trouble is null");
        json_decref(doc);

        next.ran_us = 999;
        t = txn_new();
        txn_job(t, &in, &next, EVENT_N,
                &(struct job_doc){ .trouble = "{\"error\":1}", .settings = "{\"flag\":{\"ttl\":\"1h\"}}" }, 201, NULL);
        tap_int(place_apply(&p, t), 0, "a change without an edge is taken");
        tap_int(store_get_doc(p.store, in.id, &doc, &p.err), 0, "the doc after it");
        tap_str(json_string_value(json_object_get(doc, "message")), "waits", "what the change leaves out stays");
        tap_ok(json_is_object(json_object_get(doc, "trouble")), "the trouble is there");
        tap_str(json_string_value(json_object_get(json_object_get(json_object_get(doc, "settings"), "flag"), "ttl")),
                "1h", "settings are replaced");
        json_decref(doc);
        tap_int(place_count(&p, "SELECT count(*) FROM history"), 1, "law 20 history has edges only");

        in = next;
        next.state = JOB_STARTING;
        next.generation++;
        t = txn_new();
        txn_job(t, &in, &next, EVENT_PLACE, &(struct job_doc){ .trouble = "" }, 202, "placed");
        tap_int(place_apply(&p, t), 0, "an edge is taken");
        tap_int(store_get_doc(p.store, in.id, &doc, &p.err), 0, "the doc after the edge");
        tap_ok(json_is_null(json_object_get(doc, "trouble")), "\"\" clears the trouble");
        tap_str(json_string_value(json_object_get(doc, "message")), "placed", "the edge's message replaces the doc's");
        json_decref(doc);
        tap_int(store_history(p.store, in.id, &doc, &p.err), 0, "its history");
        tap_str(json_string_value(json_object_get(json_array_get(doc, 1), "from")), "queued",
                "history says from where");
        tap_str(json_string_value(json_object_get(json_array_get(doc, 1), "event")), "place", "and by what event");
        tap_int((long long)json_array_size(doc), 2, "oldest first, two edges");
        json_decref(doc);
}

static int keep_machine(void *arg, const struct machine *m)
{
        *(struct machine *)arg = *m;
        return 0;
}

static void test_machine(void)
{
        struct machine in = { .id = id_of(20),
                .state = PD_MACHINE_RUNNING,
                .lease = PD_LEASE_JOB_ONLY,
                .market = PD_MARKET_SPOT,
                .own = 1,
                .connection = "lab",
                .zone = "here",
                .type = "box",
                .currency = "EUR",
                .provider_id = "i-1",
                .endpoint = "unix:/x",
                .token = "tok",
                .price_nano_hour = 1,
                .created_wall_us = 2,
                .ended_wall_us = 3,
                .stop_sure_wall_us = 4,
                .stop_possible_wall_us = 5,
                .notice_wall_us = 6,
                .ends_wall_us = 7 },
                       out = { .own = 9 };
        struct txn *t = txn_new();

        txn_machine(t, &in);
        tap_int(place_apply(&p, t), 0, "a machine is taken");
        tap_int(store_load(p.store, NULL, keep_machine, NULL, &out, &p.err), 0, "and loaded");
        tap_ok(same_machine(&in, &out), "each member of the machine comes back equal");
        in.state = PD_MACHINE_GONE;
        t = txn_new();
        txn_machine(t, &in);
        (void)place_apply(&p, t);
        out.own = 9;
        (void)store_load(p.store, NULL, keep_machine, NULL, &out, &p.err);
        tap_int(out.own, 9, "a machine that is gone is not loaded");
}

static int keep_intent(void *arg, const struct intent *i)
{
        struct intent *ret = arg;

        *ret = *i;
        ret->opened_wall_us += streq(i->body, "{\"a\":1}") ? 1000 : 0;
        return 0;
}

static void test_intents(void)
{
        struct intent in = { .id = id_of(30),
                .generation = 4,
                .job = id_of(1),
                .opened_wall_us = 7,
                .body = "{\"a\":1}" },
                      out = { .kind = 99 };
        struct txn *t;

        for (int k = 0; k < INTENT_N; k++) {
                in.kind = (uint8_t)k;
                in.id = id_of(30 + (unsigned int)k);
                t = txn_new();
                txn_intent_open(t, &in);
                (void)place_apply(&p, t);
                (void)store_load(p.store, NULL, NULL, keep_intent, &out, &p.err);
                tap_ok(out.kind == k && id_equal(out.id, in.id) && id_equal(out.job, in.job) &&
                                id_is_null(out.machine) && out.generation == 4 && out.opened_wall_us == 1007,
                        "an open intent %s is loaded as it was", intent_kind_name((enum intent_kind)k));
                t = txn_new();
                txn_intent_close(t, in.id, "ok", 8);
                (void)place_apply(&p, t);
                out.kind = 99;
                (void)store_load(p.store, NULL, NULL, keep_intent, &out, &p.err);
                tap_int(out.kind, 99, "and not once it is closed");
        }
        in.id = id_of(60);
        in.job = (struct id){ { 0 } };
        t = txn_new();
        txn_intent_open(t, &in);
        txn_intent_close(t, in.id, "ok", T0);
        txn_intent_close(t, id_of(30), "ok", T0 + 8 * USEC_PER_DAY);
        (void)place_apply(&p, t);
        tap_int(place_count(&p, "SELECT count(*) FROM intent WHERE job IS NULL"), 0,
                "law 21 closed intents of no job are forgotten after 7 days");
}

static void test_decisions(void)
{
        json_t *evidence = json_pack("{s:i}", "cpu", 3), *list = NULL;
        struct txn *t = txn_new();

        txn_decision(t, id_of(40), id_of(1), 10, "idle", "suspend", "idle for 30m", evidence, NULL);
        txn_decision(t, id_of(41), id_of(1), 20, "user", "stop", "asked", NULL, "ada");
        txn_interval(t, id_of(1), "ttl", "far away", 5, 6, 1, "71h");
        txn_interval(t, id_of(1), "ttl", "still far away", 5, 30, 3, "70h");
        txn_interval(t, id_of(1), "ttl", "later", 31, 31, 1, NULL);
        tap_int(place_apply(&p, t), 0, "decisions and intervals are taken");
        json_decref(evidence);
        tap_int(store_decisions(p.store, id_of(1), INT64_MAX, &list, &p.err), 0, "and read");
        tap_int((long long)json_array_size(list), 4,
                "two decisions and two stretches: a stretch is replaced, not repeated");
        tap_int(json_integer_value(json_object_get(json_object_get(json_array_get(list, 0), "evidence"), "cpu")), 3,
                "the evidence is JSON again");
        tap_str(json_string_value(json_object_get(json_array_get(list, 1), "user")), "ada",
                "a user's act has the user's name");
        tap_int(json_integer_value(json_object_get(json_array_get(list, 2), "count")), 3,
                "the stretch has its last count");
        json_decref(list);
        (void)store_decisions(p.store, id_of(1), 10, &list, &p.err);
        tap_int((long long)json_array_size(list), 2, "until a time: what was known then");
        json_decref(list);
}

static int count_checkpoint(void *arg, const struct checkpoint *c)
{
        (void)c;
        ++*(int *)arg;
        return 0;
}

static int count_job(void *arg, const struct job *j)
{
        (void)j;
        ++*(int *)arg;
        return 0;
}

static void test_checkpoints(void)
{
        struct checkpoint in = { .id = id_of(50),
                .job = id_of(2),
                .generation = 1,
                .bytes = UINT64_C(1) << 40,
                .wall_us = 2,
                .freeze_us = 3,
                .took_us = 4,
                .capture = "values",
                .vault = "here",
                .progress = "step 12",
                .image_digest = "sha256:2" },
                          out = { 0 };
        struct job j = job_of(2), ended;
        struct txn *t = txn_new();
        int n = 0, before = 0;

        (void)store_load(p.store, count_job, NULL, NULL, &before, &p.err);
        txn_submit(t, &j);
        ended = j;
        ended.state = JOB_ENDED;
        ended.result = RESULT_STOPPED;
        ended.cause = CAUSE_USER;
        txn_job(t, &j, &ended, EVENT_STOP, NULL, T0, "stopped");
        txn_checkpoint(t, &in);
        tap_int(place_apply(&p, t), 0, "a checkpoint is taken");
        tap_int(store_get_checkpoint(p.store, in.id, &out, &p.err), 0, "and found");
        tap_ok(same_checkpoint(&in, &out), "each member of the checkpoint comes back equal");
        (void)store_checkpoints(p.store, id_of(2), count_checkpoint, &n, &p.err);
        tap_int(n, 1, "it is the job's only one");
        n = 0;
        (void)store_load(p.store, count_job, NULL, NULL, &n, &p.err);
        tap_int(n, before + 1, "an ended job whose checkpoint lives is loaded");
        in.dropped = 1;
        t = txn_new();
        txn_checkpoint(t, &in);
        (void)place_apply(&p, t);
        n = 0;
        (void)store_load(p.store, count_job, NULL, NULL, &n, &p.err);
        tap_int(n, before, "and no more once that is dropped");
        tap_int(store_get_checkpoint(p.store, id_of(51), &out, &p.err), -PD_E_NOT_FOUND,
                "an unknown checkpoint is not found");
}

static void test_keys(void)
{
        struct job j = job_of(3), other = job_of(4);
        struct id found;
        struct txn *t = txn_new();

        txn_submit(t, &j);
        txn_idempotency(t, 1000, "k1", "d1", j.id, T0);
        tap_int(store_apply(p.store, t, on_done, &p, &p.err), 0, "law 16 a submit with a key is taken");
        t = txn_new();
        txn_submit(t, &other);
        txn_idempotency(t, 1000, "k1", "d1", other.id, T0);
        tap_int(store_apply(p.store, t, on_done, &p, &p.err), -PD_E_BUSY,
                "law 16 the same key while it is being written is put off");
        place_settle(&p);
        t = txn_new();
        txn_submit(t, &other);
        txn_idempotency(t, 1000, "k1", "d1", other.id, T0);
        tap_int(place_apply(&p, t), -PD_E_CONFLICT, "law 16 and refused once it is there");
        tap_int(store_get_job(p.store, other.id, &other, &p.err), -PD_E_NOT_FOUND, "law 16 no second job came of it");
        tap_ok(store_find_key(p.store, 1000, "k1", "d1", &found, &p.err) == 0 && id_equal(found, j.id),
                "law 16 the same key and body is the same job");
        tap_int(store_find_key(p.store, 1000, "k1", "d2", &found, &p.err), -PD_E_CONFLICT,
                "law 16 another body is refused");
        tap_has(p.err.text, "\"k1\" was used with another body", "by a sentence that names the key");
        tap_ok(store_find_key(p.store, 1001, "k1", "d2", &found, &p.err) == 0 && id_is_null(found),
                "law 16 another user's key is another key");
}

static void test_settings(void)
{
        struct txn *t = txn_new();
        json_t *o = NULL;
        char *meta = NULL;

        txn_setting(t, "", "ttl", "1h");
        txn_setting(t, "", "ttl", "2h");
        txn_setting(t, "p", "idle", "off");
        txn_setting(t, "p", "spot", "off");
        txn_setting(t, "p", "spot", NULL);
        txn_meta(t, "m", "1");
        txn_meta(t, "m", "2");
        (void)place_apply(&p, t);
        (void)store_settings(p.store, "", &o, &p.err);
        tap_str(json_string_value(json_object_get(o, "ttl")), "2h", "a setting is replaced");
        json_decref(o);
        (void)store_settings(p.store, "p", &o, &p.err);
        tap_ok(json_object_size(o) == 1, "a setting is unset; projects are apart");
        json_decref(o);
        (void)store_get_meta(p.store, "m", &meta, &p.err);
        tap_str(meta, "2", "a meta value is replaced");
        free(meta);
        tap_ok(store_get_meta(p.store, "none", &meta, &p.err) == 0 && !meta, "an unknown one is NULL");
}

static int list_job(void *arg, const struct job *j, const json_t *doc)
{
        char text[ID_TEXT_MAX], *into = arg;

        (void)text;
        (void)snprintf(into + strlen(into), 4000 - strlen(into), "%s%u/%s", into[0] ? " " : "", (unsigned int)j->uid,
                json_string_value(json_object_get(doc, "name")));
        return 0;
}

static void scan(const struct store_filter *f, const char *want, const char *name)
{
        char got[4000] = "";

        (void)store_scan_jobs(p.store, f, list_job, got, &p.err);
        tap_str(got, want, name);
}

static void test_lookup(void)
{
        static const struct {
                unsigned int n;
                uint32_t uid;
                const char *name;
                bool ended;
        } jobs[] = { { 100, 1, "a", true }, { 101, 1, "a", false }, { 102, 1, "a", true }, { 103, 2, "b", false },
                { 104, 1, "", false } };
        char text[ID_TEXT_MAX];
        struct id found;

        place_end(&p);
        place_begin(&p);
        for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
                struct job j = job_of(jobs[i].n), end;
                struct job_doc d = doc_plain;
                struct txn *t = txn_new();

                j.uid = jobs[i].uid;
                d.name = jobs[i].name;
                txn_job(t, NULL, &j, EVENT_SUBMIT, &d, T0, NULL);
                end = j;
                end.state = JOB_ENDED, end.result = RESULT_STOPPED, end.cause = CAUSE_USER;
                if (jobs[i].ended)
                        txn_job(t, &j, &end, EVENT_STOP, NULL, T0, NULL);
                (void)place_apply(&p, t);
        }
        scan(&(struct store_filter){ .limit = 10 }, "1/ 2/b 1/a", "a list has the live ones, newest first");
        scan(&(struct store_filter){ .limit = 10, .ended_too = true }, "1/ 2/b 1/a 1/a 1/a", "all of them");
        scan(&(struct store_filter){ .limit = 2, .ended_too = true }, "1/ 2/b", "no more than asked for");
        scan(&(struct store_filter){ .limit = 10, .ended_too = true, .before = id_of(103) }, "1/a 1/a 1/a",
                "from a page's end on");
        scan(&(struct store_filter){ .limit = 10, .only_uid = true, .uid = 2 }, "2/b", "one user's live ones");
        scan(&(struct store_filter){ .limit = 10, .only_uid = true, .uid = 1, .ended_too = true }, "1/ 1/a 1/a 1/a",
                "one user's");
        scan(&(struct store_filter){ .limit = 10, .name = "a" }, "1/a", "the live ones of a name");
        scan(&(struct store_filter){ .limit = 10, .name = "a", .ended_too = true }, "1/a 1/a 1/a", "all of a name");

        tap_ok(store_find_job(p.store, 1, false, "a", &found, &p.err) == 0 && id_equal(found, id_of(101)),
                "a name finds the live one first");
        tap_int(store_find_job(p.store, 2, false, "a", &found, &p.err), -PD_E_NOT_FOUND, "not another user's");
        tap_ok(store_find_job(p.store, 2, true, "a", &found, &p.err) == 0, "but an admin's search is everyone's");
        id_format(ID_JOB, id_of(103), text);
        tap_ok(store_find_job(p.store, 2, false, text, &found, &p.err) == 0 && id_equal(found, id_of(103)),
                "a whole id finds its job");
        tap_int(store_find_job(p.store, 1, false, text, &found, &p.err), -PD_E_PERM,
                "a whole id of another user's job is refused");
        text[ID_TEXT_MAX - 5] = '\0';
        tap_ok(store_find_job(p.store, 2, false, text, &found, &p.err) == 0 && id_equal(found, id_of(103)),
                "a unique beginning finds its job");
        tap_ok(store_find_job(p.store, 2, false, text + 4, &found, &p.err) == 0, "also without the job_");
        text[10] = '\0';
        tap_int(store_find_job(p.store, 1, false, text, &found, &p.err), -PD_E_CONFLICT,
                "a beginning of several is refused");
        tap_has(p.err.text, id_format(ID_JOB, id_of(101), (char[ID_TEXT_MAX]){ 0 }), "and they are listed");
        tap_int(store_find_job(p.store, 1, true, "job_zz", &found, &p.err), -PD_E_NOT_FOUND,
                "three characters find nothing");
        tap_int(store_find_job(p.store, 1, true, "", &found, &p.err), -PD_E_NOT_FOUND,
                "no text finds nothing (a job without a name is there)");
}

static void test_remove(void)
{
        struct job j = job_of(200);
        struct txn *t = txn_new();

        txn_submit(t, &j);
        txn_idempotency(t, 1000, "gone", "d", j.id, T0);
        txn_decision(t, id_of(201), j.id, T0, "p", "a", "w", NULL, NULL);
        txn_interval(t, j.id, "p", "w", 1, 2, 1, NULL);
        txn_checkpoint(t, &(struct checkpoint){ .id = id_of(202), .job = j.id });
        txn_intent_open(t, &(struct intent){ .id = id_of(203), .job = j.id, .body = "{}" });
        (void)place_apply(&p, t);
        t = txn_new();
        txn_job_remove(t, j.id);
        (void)place_apply(&p, t);
        {
                static const char *const tables[] = { "job_spec", "history", "decision", "interval", "checkpoint",
                        "intent", "idempotency" };
                char id[40] = "", sql[200];

                for (size_t i = 0; i < sizeof j.id.b; i++)
                        (void)snprintf(id + 2 * i, 3, "%02x", j.id.b[i]);
                for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
                        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE job=x'%s'", tables[i], id);
                        tap_ok(place_count(&p, sql) == 0, "law 21 a pruned job leaves nothing in %s", tables[i]);
                }
        }
}

static int order[400], order_n;

static void on_order(void *arg, const struct pd_error *err)
{
        order[order_n++] = err ? -1 : (int)(intptr_t)arg;
}

/* More than one group, callbacks that apply again from inside: always the order of the applies. */
static void test_order(void)
{
        bool good = true;

        for (int i = 0; i < 400; i++) {
                struct job j = job_of(1000 + (unsigned int)i);
                struct txn *t = txn_new();

                txn_submit(t, &j);
                if (store_apply(p.store, t, on_order, (void *)(intptr_t)i, &p.err) < 0)
                        good = false;
        }
        tap_int((long long)store_queued(p.store), 400, "400 are handed over and none came back outside the loop");
        place_settle(&p);
        for (int i = 0; i < 400; i++)
                good = good && order[i] == i;
        tap_ok(good && order_n == 400, "they come back in the order of the applies, all on disk");
        tap_int(place_count(&p, "SELECT count(*) FROM job WHERE created_wall_us>=1796070984124456"), 400,
                "and a second connection sees them");
}

/* The commit is there before the loop is told of it: what a turn has begun to read stays as it was. */
static void test_one_state(void)
{
        struct job j = job_of(5000), next = j, got = { 0 };
        struct txn *t = txn_new();
        long long there = 0;

        txn_submit(t, &j);
        (void)place_apply(&p, t);
        (void)store_get_job(p.store, j.id, &got, &p.err);
        next.ran_us = 77;
        t = txn_new();
        txn_job(t, &j, &next, EVENT_N, NULL, T0, NULL);
        for (int i = 0; i < 300; i++) { /* so many that the writer is woken within the turn */
                struct txn *more = txn_new();

                txn_meta(more, "more", "1");
                (void)store_apply(p.store, i ? more : t, on_done, &p, &p.err);
                if (i == 0)
                        txn_free(more);
        }
        for (int i = 0; i < 2000 && there != 1; i++)
                there = place_count(&p, "SELECT count(*) FROM job WHERE ran_us=77");
        tap_int(there, 1, "a commit is on disk before the loop hears of it");
        (void)store_get_job(p.store, j.id, &got, &p.err);
        tap_int(got.ran_us, 0, "the turn still sees the state that it began with");
        place_settle(&p);
        (void)store_get_job(p.store, j.id, &got, &p.err);
        tap_int(got.ran_us, 77, "and after its done the new one");
}

static int join_price(void *arg, const struct store_price *row)
{
        char *text = arg;

        (void)snprintf(text + strlen(text), 400 - strlen(text), "%lld %s %lld %s %d;", (long long)row->at_wall_us,
                row->offer, (long long)row->nano_hour, row->currency, row->to_be_had);
        return row->at_wall_us >= 9 ? 1 : 0; /* enough */
}

static const char *prices(int64_t after)
{
        static char text[400];

        text[0] = '\0';
        tap_int(store_scan_prices(p.store, after, join_price, text, &p.err), 0, "prices are read");
        return text;
}

static void test_prices(void)
{
        static const struct store_price row[] = { { 5, 40, "c/z/a", "USD", true }, { 5, 41, "c/z/b", "EUR", false },
                { 7, 42, "c/z/a", "USD", true }, { 9, 43, "c/z/b", "EUR", true }, { 11, 44, "c/z/a", "USD", true } };
        struct txn *t = txn_new();

        for (size_t i = ARRAY_LEN(row); i-- > 0;)
                txn_price(t, &row[i]);
        (void)place_apply(&p, t);
        tap_str(prices(INT64_MIN), "5 c/z/a 40 USD 1;5 c/z/b 41 EUR 0;7 c/z/a 42 USD 1;9 c/z/b 43 EUR 1;",
                "in the order of their times, until it is enough");
        tap_str(prices(7), "9 c/z/b 43 EUR 1;", "after a time: not of it");
        txn_price_prune(t = txn_new(), 6, 100);
        (void)place_apply(&p, t);
        tap_str(prices(0), "7 c/z/a 42 USD 1;9 c/z/b 43 EUR 1;", "what is before a time is pruned");
        txn_price_prune(t = txn_new(), 0, 1);
        (void)place_apply(&p, t);
        tap_str(prices(0), "9 c/z/b 43 EUR 1;", "and the oldest where there are more than so many newer ones");
}

int main(void)
{
        place_begin(&p);
        test_job();
        test_machine();
        test_intents();
        test_decisions();
        test_checkpoints();
        test_keys();
        test_settings();
        test_prices();
        test_lookup();
        test_remove();
        test_order();
        test_one_state();
        tap_int(p.done_bad, 0, "nothing failed on the way");
        place_end(&p);
        return tap_done();
}
