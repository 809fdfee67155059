/* SPDX-License-Identifier: Apache-2.0 */
#include "store/columns.h"
#include "store/txn.h"

#define INTENT_NAME(name_, text_) text_,
static const char *const intent_names[] = { INTENT_KINDS(INTENT_NAME) };
#undef INTENT_NAME
static_assert(ARRAY_LEN(intent_names) == INTENT_N, "each intent kind has its name");

const char *intent_kind_name(enum intent_kind k)
{
        return (unsigned int)k < INTENT_N ? intent_names[k] : "?";
}

struct txn *txn_new(void)
{
        return calloc(1, sizeof(struct txn));
}

struct txn *txn_free(struct txn *t)
{
        if (!t)
                return NULL;
        free(t->at);
        free(t->fault);
        free(t->key);
        free(t);
        return NULL;
}

bool txn_is_empty(const struct txn *t)
{
        return !t || t->n == 0;
}

/* --- writing --- */

static void put(struct txn *t, const void *bytes, size_t n)
{
        if (t->no_memory)
                return;
        if (t->n + n > t->room) {
                size_t room = (t->n + n) * 2 < 512 ? 512 : (t->n + n) * 2;
                uint8_t *at = realloc(t->at, room);

                if (!at) {
                        t->no_memory = true;
                        return;
                }
                t->at = at;
                t->room = room;
        }
        memcpy(t->at + t->n, bytes, n);
        t->n += n;
}

void txn_put_op(struct txn *t, enum stmt stmt)
{
        uint8_t head[2] = { (uint8_t)stmt, 0 };

        t->op = t->n;
        put(t, head, sizeof head);
}

static void put_value(struct txn *t, enum value_tag tag, const void *bytes, size_t n)
{
        uint8_t tag_byte = (uint8_t)tag;
        uint32_t len = (uint32_t)n;

        if (n > INT32_MAX) {
                t->no_memory = true;
                return;
        }
        put(t, &tag_byte, 1);
        if (tag == VALUE_TEXT)
                put(t, &len, sizeof len);
        if (n > 0)
                put(t, bytes, n);
        if (!t->no_memory)
                t->at[t->op + 1]++;
}

void txn_put_int(struct txn *t, int64_t v)
{
        put_value(t, VALUE_INT, &v, sizeof v);
}

void txn_put_text(struct txn *t, const char *text)
{
        put_value(t, text ? VALUE_TEXT : VALUE_NULL, text, text ? strlen(text) : 0);
}

void txn_put_id(struct txn *t, struct id id)
{
        bool null = id_is_null(id);

        put_value(t, null ? VALUE_NULL : VALUE_BLOB, id.b, null ? 0 : sizeof id.b);
}

/* --- reading back --- */

bool txn_next_op(const struct txn *t, size_t *at, enum stmt *ret_stmt, int *ret_values)
{
        if (*at >= t->n)
                return false;
        *ret_stmt = (enum stmt)t->at[*at];
        *ret_values = t->at[*at + 1];
        *at += 2;
        return true;
}

struct value txn_next_value(const struct txn *t, size_t *at)
{
        struct value v = { .tag = (enum value_tag)t->at[(*at)++] };

        if (v.tag == VALUE_INT) {
                memcpy(&v.i, t->at + *at, sizeof v.i);
                *at += sizeof v.i;
        } else if (v.tag == VALUE_TEXT) {
                memcpy(&v.n, t->at + *at, sizeof v.n);
                *at += sizeof v.n;
        } else if (v.tag == VALUE_BLOB) {
                v.n = sizeof(struct id);
        }
        v.at = t->at + *at;
        *at += v.n;
        return v;
}

/* --- jobs --- */

static void refuse(struct txn *t, const struct job *j, const char *why)
{
        char id[ID_TEXT_MAX];

        if (t->fault)
                return;
        t->fault = calloc(1, sizeof *t->fault);
        if (t->fault)
                (void)pd_fail(t->fault, PD_E_INTERNAL, "%s: %s", id_format(ID_JOB, j->id, id), why);
        else
                t->no_memory = true;
}

/* What spec/life.h and the laws allow; NULL = fine. A change without an edge keeps state and result. */
static const char *job_fault(const struct job *before, const struct job *after, enum job_event event,
        const struct job_doc *doc, struct pd_error *err)
{
        if (id_is_null(after->id) || (before && !id_equal(before->id, after->id)))
                return "the change is of another job";
        if (before && after->generation < before->generation)
                return "its generation would go back";
        if (before && (before->uid != after->uid || before->created_wall_us != after->created_wall_us))
                return "its owner or creation time would change";
        if (!before && (!doc || !doc->user || !doc->spec || !doc->settings))
                return "a new job needs user, spec and settings";
        if (event == EVENT_N && before)
                return before->state == after->state && before->result == after->result
                               ? NULL
                               : "its state changes without an event";
        if (life_find(before ? (enum job_state)before->state : JOB_STATE_N, event, (enum job_state)after->state,
                    (enum job_result)after->result, (enum job_cause)after->cause, err))
                return NULL;
        return err->text;
}

#define PUT_E(c_, enum_) txn_put_text(t, enum_##_name((enum enum_)j->c_));
#define PUT_I(c_) txn_put_int(t, (int64_t)j->c_);
#define PUT_B(c_) txn_put_id(t, j->c_);

/* New rows have no NULL texts; an update's NULL keeps what is there. */
static void put_job_texts(struct txn *t, const struct job_doc *d, const char *message, const char *absent)
{
        txn_put_text(t, str_or(d->offer, absent));
        txn_put_text(t, str_or(message, str_or(d->message, absent)));
        txn_put_text(t, str_or(d->image_digest, absent));
        txn_put_text(t, str_or(d->trouble, absent));
}

static void put_job_names(struct txn *t, const struct job_doc *d, const char *absent)
{
        txn_put_text(t, str_or(d->name, absent));
        txn_put_text(t, str_or(d->user, absent));
        txn_put_text(t, str_or(d->project, absent));
}

static void put_history(struct txn *t, const struct job *before, const struct job *after, enum job_event event,
        int64_t now_wall_us, const char *message)
{
        txn_put_op(t, STMT_HISTORY);
        txn_put_id(t, after->id);
        txn_put_int(t, now_wall_us);
        txn_put_text(t, job_event_name(event));
        txn_put_text(t, before ? job_state_name((enum job_state)before->state) : "");
        txn_put_text(t, job_state_name((enum job_state)after->state));
        txn_put_text(t, job_result_name((enum job_result)after->result));
        txn_put_text(t, job_cause_name((enum job_cause)after->cause));
        txn_put_int(t, after->generation);
        /* leaving a machine is told with the machine that was left */
        txn_put_id(t, before && id_is_null(after->machine) ? before->machine : after->machine);
        txn_put_text(t, str_or(message, ""));
}

static void put_job_insert(struct txn *t, const struct job *j, const struct job_doc *doc, const char *message)
{
        txn_put_op(t, STMT_JOB_INSERT);
        txn_put_id(t, j->id);
        JOB_COLUMNS(PUT_E, PUT_I, PUT_B)
        put_job_texts(t, doc, message, "");
        put_job_names(t, doc, "");
        txn_put_op(t, STMT_SPEC_INSERT);
        txn_put_id(t, j->id);
        txn_put_text(t, doc->spec);
        txn_put_text(t, doc->settings);
}

static void put_job_row(
        struct txn *t, const struct job *before, const struct job *j, const struct job_doc *doc, const char *message)
{
        txn_put_op(t, STMT_JOB_UPDATE);
        put_job_texts(t, doc, message, NULL);
        JOB_CHANGING_COLUMNS(PUT_E, PUT_I, PUT_B)
        txn_put_id(t, j->id);
        txn_put_text(t, job_state_name((enum job_state)before->state));
        txn_put_int(t, j->generation);
}

static void put_job_update(struct txn *t, const struct job *before, const struct job *after,
        const struct job_doc *given, const char *message)
{
        static const struct job_doc nothing = { 0 };
        const struct job_doc *doc = given ? given : &nothing;

        put_job_row(t, before, after, doc, message);
        if ((before->state == JOB_ENDED) != (after->state == JOB_ENDED)) {
                txn_put_op(t, STMT_JOB_LIVE);
                txn_put_int(t, after->state != JOB_ENDED);
                txn_put_id(t, after->id);
        }
        if (doc->name || doc->user || doc->project) {
                txn_put_op(t, STMT_JOB_NAMES);
                put_job_names(t, doc, NULL);
                txn_put_id(t, after->id);
        }
        if (doc->spec || doc->settings) {
                txn_put_op(t, STMT_SPEC_UPDATE);
                txn_put_text(t, doc->spec);
                txn_put_text(t, doc->settings);
                txn_put_id(t, after->id);
        }
}

void txn_job(struct txn *t, const struct job *before, const struct job *after, enum job_event event,
        const struct job_doc *doc, int64_t now_wall_us, const char *message)
{
        struct pd_error err = { 0 };
        const char *fault;

        if (!t)
                return;
        fault = job_fault(before, after, event, doc, &err);
        if (fault) {
                refuse(t, after, fault);
                return;
        }
        if (before)
                put_job_update(t, before, after, doc, message);
        else
                put_job_insert(t, after, doc, message);
        if (event != EVENT_N)
                put_history(t, before, after, event, now_wall_us, message);
}

void txn_job_remove(struct txn *t, struct id job)
{
        static const enum stmt all[] = { STMT_JOB_DELETE, STMT_SPEC_DELETE, STMT_HISTORY_DELETE, STMT_DECISION_DELETE,
                STMT_INTERVAL_DELETE, STMT_INTENT_DELETE, STMT_CHECKPOINT_DELETE, STMT_IDEMPOTENCY_DELETE };

        for (size_t i = 0; t && i < ARRAY_LEN(all); i++) {
                txn_put_op(t, all[i]);
                txn_put_id(t, job);
        }
}

/* --- the rest --- */

#define PUT_M_I(c_) txn_put_int(t, (int64_t)m->c_);
#define PUT_M_T(c_) txn_put_text(t, m->c_);
#define PUT_M_B(c_) txn_put_id(t, m->c_);

void txn_machine(struct txn *t, const struct machine *m)
{
        if (!t)
                return;
        txn_put_op(t, STMT_MACHINE);
        txn_put_id(t, m->id);
        MACHINE_COLUMNS(PUT_M_I, PUT_M_T)
}

void txn_checkpoint(struct txn *t, const struct checkpoint *m)
{
        if (!t)
                return;
        txn_put_op(t, STMT_CHECKPOINT);
        txn_put_id(t, m->id);
        CHECKPOINT_COLUMNS(PUT_M_B, PUT_M_I, PUT_M_T)
}

void txn_intent_open(struct txn *t, const struct intent *i)
{
        if (!t)
                return;
        txn_put_op(t, STMT_INTENT_OPEN);
        txn_put_id(t, i->id);
        txn_put_text(t, intent_kind_name((enum intent_kind)i->kind));
        txn_put_int(t, i->generation);
        txn_put_id(t, i->job);
        txn_put_id(t, i->machine);
        txn_put_int(t, i->opened_wall_us);
        txn_put_text(t, str_or(i->body, "{}"));
}

void txn_intent_close(struct txn *t, struct id id, const char *outcome, int64_t now_wall_us)
{
        if (!t)
                return;
        txn_put_op(t, STMT_INTENT_CLOSE);
        txn_put_text(t, str_or(outcome, ""));
        txn_put_int(t, now_wall_us > 0 ? now_wall_us : 1); /* 0 says open */
        txn_put_id(t, id);
        txn_put_op(t, STMT_INTENT_PRUNE);
        txn_put_int(t, now_wall_us - INTENT_KEEP_US);
}

void txn_decision(struct txn *t, struct id id, struct id job, int64_t now_wall_us, const char *policy, const char *act,
        const char *why, const json_t *evidence, const char *user)
{
        pd_cleanup(freep) char *text = NULL;

        if (!t)
                return;
        text = evidence ? js_dump(evidence) : NULL;
        if (evidence && !text)
                t->no_memory = true;
        txn_put_op(t, STMT_DECISION);
        txn_put_id(t, id);
        txn_put_id(t, job);
        txn_put_int(t, now_wall_us);
        txn_put_text(t, str_or(policy, ""));
        txn_put_text(t, str_or(act, ""));
        txn_put_text(t, str_or(why, ""));
        txn_put_text(t, str_or(text, "null"));
        txn_put_text(t, str_or(user, ""));
}

void txn_interval(struct txn *t, struct id job, const char *policy, const char *why, int64_t first_wall_us,
        int64_t last_wall_us, int64_t count, const char *best_margin)
{
        if (!t)
                return;
        txn_put_op(t, STMT_INTERVAL);
        txn_put_id(t, job);
        txn_put_text(t, policy);
        txn_put_text(t, str_or(why, ""));
        txn_put_int(t, first_wall_us);
        txn_put_int(t, last_wall_us);
        txn_put_int(t, count);
        txn_put_text(t, str_or(best_margin, ""));
}

void txn_idempotency(
        struct txn *t, uint32_t uid, const char *key, const char *body_digest, struct id job, int64_t now_wall_us)
{
        if (!t)
                return;
        txn_put_op(t, STMT_IDEMPOTENCY);
        txn_put_int(t, uid);
        txn_put_text(t, key);
        txn_put_text(t, str_or(body_digest, ""));
        txn_put_id(t, job);
        txn_put_int(t, now_wall_us);
        free(t->key);
        t->key = strdup(key);
        t->key_uid = uid;
        if (!t->key)
                t->no_memory = true;
}

void txn_setting(struct txn *t, const char *project, const char *key, const char *value)
{
        if (!t)
                return;
        txn_put_op(t, value ? STMT_SETTING : STMT_SETTING_UNSET);
        txn_put_text(t, str_or(project, ""));
        txn_put_text(t, key);
        if (value)
                txn_put_text(t, value);
}

void txn_meta(struct txn *t, const char *key, const char *value)
{
        if (!t)
                return;
        txn_put_op(t, STMT_META);
        txn_put_text(t, key);
        txn_put_text(t, str_or(value, ""));
}

void txn_price(struct txn *t, const struct store_price *p)
{
        if (!t)
                return;
        txn_put_op(t, STMT_PRICE);
        txn_put_int(t, p->at_wall_us);
        txn_put_text(t, p->offer);
        txn_put_int(t, p->nano_hour);
        txn_put_text(t, p->currency);
        txn_put_int(t, p->to_be_had);
}

void txn_price_prune(struct txn *t, int64_t before_wall_us, int64_t most)
{
        if (!t)
                return;
        txn_put_op(t, STMT_PRICE_PRUNE);
        txn_put_int(t, before_wall_us);
        txn_put_int(t, most);
}
