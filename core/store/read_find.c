/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read.h"

/* The first and the last id that begin with the typed part; false when it is no beginning of an id. */
static bool id_range(const char *text, struct id *ret_from, struct id *ret_to)
{
        char from[ID_TEXT_MAX], to[ID_TEXT_MAX];
        size_t n;

        if (str_starts(text, id_prefix(ID_JOB)))
                text += strlen(id_prefix(ID_JOB));
        n = strlen(text);
        if (n < 4 || n > 26)
                return false;
        (void)str_format(
                from, sizeof from, "%s%s%.*s", id_prefix(ID_JOB), text, (int)(26 - n), "00000000000000000000000000");
        (void)str_format(
                to, sizeof to, "%s%s%.*s", id_prefix(ID_JOB), text, (int)(26 - n), "zzzzzzzzzzzzzzzzzzzzzzzzzz");
        return id_parse(ID_JOB, from, ret_from) && id_parse(ID_JOB, to, ret_to);
}

static int by_name(struct store *s, const uint32_t *uid, const char *text, struct id *ret, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_FIND_NAME, &st, err);

        if (r >= 0) {
                (void)sqlite3_bind_text(st, 1, text, -1, SQLITE_TRANSIENT);
                if (uid)
                        (void)sqlite3_bind_int64(st, 2, *uid);
                r = read_step(s, st, err);
                if (r > 0 && column_id(st, 0, ret, err) < 0)
                        r = -PD_E_CORRUPT;
        }
        read_end(s, READ_FIND_NAME, st);
        return r;
}

/* "a, b and more" into the sentence; cut where it does not fit. */
static void add_candidate(char *list, size_t room, struct id id, int n)
{
        char text[ID_TEXT_MAX];
        size_t used = strlen(list);

        if (n < 5)
                (void)str_format(list + used, room - used, "%s%s", n ? ", " : "", id_format(ID_JOB, id, text));
        else
                (void)str_format(list + used, room - used, " ...");
}

static int by_prefix(struct store *s, const uint32_t *uid, const char *text, struct id from, struct id to,
        struct id *ret, struct pd_error *err)
{
        char list[256] = "";
        struct id first = { { 0 } }, id;
        sqlite3_stmt *st = NULL;
        int n = 0, r = read_begin(s, READ_FIND_RANGE, &st, err);

        if (r >= 0) {
                read_bind_id(st, 1, from);
                read_bind_id(st, 2, to);
                if (uid)
                        (void)sqlite3_bind_int64(st, 3, *uid);
        }
        for (; r >= 0 && (r = read_step(s, st, err)) > 0; n++) {
                if ((r = column_id(st, 0, &id, err)) < 0)
                        break;
                add_candidate(list, sizeof list, id, n);
                if (n == 0)
                        first = id;
        }
        read_end(s, READ_FIND_RANGE, st);
        if (r < 0)
                return r;
        if (n > 1)
                return pd_fail(err, PD_E_CONFLICT, "\"%s\" is the beginning of several jobs: %s", text, list);
        if (n == 1)
                *ret = first;
        return n;
}

int store_find_job(struct store *s, uint32_t uid, bool any_user, const char *text, struct id *ret, struct pd_error *err)
{
        const uint32_t *mine = any_user ? NULL : &uid;
        struct id from, to, found;
        struct job j;
        int r;

        if (id_parse(ID_JOB, text, &from)) {
                if ((r = store_get_job(s, from, &j, err)) < 0)
                        return r;
                if (mine && j.uid != uid)
                        return pd_fail(err, PD_E_PERM, "%s is another user's job", text);
                *ret = from;
                return 0;
        }
        r = by_name(s, mine, text, &found, err);
        if (r == 0 && id_range(text, &from, &to))
                r = by_prefix(s, mine, text, from, to, &found, err);
        if (r == 0)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "there is no job \"%.80s\"%s: give an id, its beginning, or a name (`portal ps -a` lists them)",
                        text, mine ? " of yours" : "");
        if (r < 0)
                return r;
        *ret = found;
        return 0;
}

int store_find_key(struct store *s, uint32_t uid, const char *key, const char *body_digest, struct id *ret_job,
        struct pd_error *err)
{
        struct id job = { { 0 } };
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_KEY, &st, err);

        if (r >= 0) {
                (void)sqlite3_bind_int64(st, 1, uid);
                (void)sqlite3_bind_text(st, 2, key, -1, SQLITE_TRANSIENT);
                r = read_step(s, st, err);
                if (r > 0)
                        r = column_id(st, 0, &job, err);
                if (r >= 0 && !id_is_null(job) && body_digest && !streq(body_digest, column_text(st, 1)))
                        r = pd_fail(err, PD_E_CONFLICT,
                                "the Idempotency-Key \"%s\" was used with another body: use a new key for a new "
                                "request",
                                key);
        }
        read_end(s, READ_KEY, st);
        if (r >= 0)
                *ret_job = job;
        return r < 0 ? r : 0;
}
