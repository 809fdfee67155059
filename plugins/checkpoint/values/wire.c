/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *o, const char *key)
{
        const char *s = json_string_value(json_object_get(o, key));

        return s ? s : "";
}

/* A fault inside of the program, and a code that nobody knows, are failures of that save and nothing more. */
static enum pd_code code_of(const char *name)
{
        for (int c = 1; pd_code_name((enum pd_code)c); c++)
                if (c != PD_E_INTERNAL && c != PD_E_UNKNOWN_OUTCOME && c != PD_E_CRASHED &&
                        strcmp(pd_code_name((enum pd_code)c), name) == 0)
                        return (enum pd_code)c;
        return PD_E_IO;
}

static int64_t count_of(const json_t *o, const char *key)
{
        json_int_t n = json_integer_value(json_object_get(o, key));

        return n > 0 ? n : 0;
}

static int parse_value(struct wire_answer *a, const json_t *v, struct pd_error *err)
{
        a->kind = WIRE_VALUE;
        a->path = text_of(v, "path"), a->type = text_of(v, "type");
        a->reason = text_of(v, "reason"), a->fix = text_of(v, "fix");
        if (!*a->path)
                return pd_fail(err, PD_E_INVALID, "the program named a value without a path");
        return 0;
}

static int parse_line(struct wire_answer *a, struct pd_error *err)
{
        json_t *value = json_object_get(a->line, "value"), *note = json_object_get(a->line, "note");
        json_t *ok = json_object_get(a->line, "ok");

        if (value)
                return parse_value(a, value, err);
        if (note) {
                a->kind = WIRE_NOTE;
                a->note = json_string_value(note) ? json_string_value(note) : "";
                return 0;
        }
        if (!json_is_boolean(ok))
                return pd_fail(err, PD_E_INVALID, "the program's answer is neither a value nor a note nor an end");
        a->kind = WIRE_END;
        a->ok = json_is_true(ok);
        a->code = a->ok ? PD_OK : code_of(text_of(a->line, "code"));
        a->text = text_of(a->line, "text");
        a->save = text_of(a->line, "save"), a->progress = text_of(a->line, "progress");
        a->bytes = (uint64_t)count_of(a->line, "bytes"), a->freeze_us = count_of(a->line, "freeze_us");
        return 0;
}

int wire_answer_parse(const char *text, size_t n, struct wire_answer *ret, struct pd_error *err)
{
        struct wire_answer a = { 0 };
        json_error_t why;
        int r;

        a.line = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
        if (!json_is_object(a.line)) {
                json_decref(a.line);
                return pd_fail(err, PD_E_INVALID, "the program's answer is no JSON object on one line");
        }
        r = parse_line(&a, err);
        if (r < 0) {
                json_decref(a.line);
                return r;
        }
        *ret = a;
        return 0;
}

void wire_answer_clear(struct wire_answer *a)
{
        json_decref(a->line);
        *a = (struct wire_answer){ 0 };
}

bool wire_request(char *ret, size_t n, const char *op, int64_t timeout_us)
{
        return snprintf(ret, n, "{\"op\":\"%s\",\"timeout_ms\":%lld}\n", op, (long long)(timeout_us / 1000)) < (int)n;
}

/* ---- the manifest ---- */

struct cursor {
        const char *at, *end;
};

/* Up to `until`, which is passed over; false = it does not come, or does not fit. */
static bool take_word(struct cursor *c, char until, char *ret, size_t n)
{
        const char *stop = memchr(c->at, until, (size_t)(c->end - c->at));
        size_t len = stop ? (size_t)(stop - c->at) : 0;

        if (!stop || len >= n)
                return false;
        memcpy(ret, c->at, len);
        ret[len] = '\0';
        c->at = stop + 1;
        return true;
}

static bool take_number(struct cursor *c, char until, int base, uint64_t *ret)
{
        char word[24], *end;

        if (!take_word(c, until, word, sizeof word) || !*word ||
                strspn(word, base == 16 ? "0123456789abcdef" : "0123456789") != strlen(word))
                return false;
        if (strlen(word) > (base == 16 ? 8u : 18u))
                return false;
        *ret = strtoull(word, &end, base);
        return true;
}

static bool name_ok(const char *name)
{
        return *name && *name != '.' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(name) &&
               strcmp(name, WIRE_MANIFEST) != 0;
}

static bool take_file(struct cursor *c, struct wire_manifest *m)
{
        struct wire_file f = { .bytes = 0 };
        uint64_t crc;

        if (m->n == WIRE_FILES_MAX || !take_word(c, ' ', f.name, sizeof f.name) || !name_ok(f.name) ||
                !take_number(c, ' ', 10, &f.bytes) || !take_number(c, '\n', 16, &crc))
                return false;
        if ((m->n & (m->n - 1)) == 0) { /* room doubles at each power of two */
                struct wire_file *more = reallocarray(m->files, m->n ? 2 * m->n : 1, sizeof *more);

                if (!more)
                        return false;
                m->files = more;
        }
        f.crc = (uint32_t)crc;
        m->files[m->n++] = f;
        return true;
}

/* Lines that only the program reads (by, tree, value, and what a later version adds) are passed over. */
static bool take_line(struct cursor *c, struct wire_manifest *m)
{
        char word[16], rest[4096];

        if (!take_word(c, ' ', word, sizeof word))
                return false;
        if (strcmp(word, "file") == 0)
                return take_file(c, m);
        if (strcmp(word, "save") == 0)
                return take_word(c, '\n', m->save, sizeof m->save);
        if (strcmp(word, "progress") == 0)
                return take_word(c, '\n', m->progress, sizeof m->progress);
        return take_word(c, '\n', rest, sizeof rest);
}

static int check_head(struct cursor *c, uint32_t (*crc)(uint32_t, const void *, size_t), struct pd_error *err)
{
        char magic[16];
        uint64_t version, sum;

        if (!take_word(c, ' ', magic, sizeof magic) || strcmp(magic, "portal-values") != 0)
                return pd_fail(err, PD_E_CORRUPT, "the manifest of the saved values does not begin as one");
        if (!take_number(c, ' ', 10, &version) || version != WIRE_VERSION)
                return pd_fail(err, PD_E_CORRUPT,
                        "the saved values are of another version of their format; this portald reads version %d",
                        WIRE_VERSION);
        if (!take_number(c, '\n', 16, &sum) || sum != crc(0, c->at, (size_t)(c->end - c->at)))
                return pd_fail(err, PD_E_CORRUPT, "the manifest of the saved values does not match its checksum");
        return 0;
}

int wire_manifest_parse(const char *text, size_t n, uint32_t (*crc)(uint32_t crc, const void *data, size_t n),
        struct wire_manifest *ret, struct pd_error *err)
{
        struct cursor c = { text, text + n };
        struct wire_manifest m = { .n = 0 };
        int r = check_head(&c, crc, err);

        if (r < 0)
                return r;
        while (c.at < c.end) {
                const char *line = c.at, *ends = memchr(line, '\n', (size_t)(c.end - line));
                int len = (int)((ends ? ends : c.end) - line < 60 ? (ends ? ends : c.end) - line : 60);

                if (!take_line(&c, &m)) {
                        wire_manifest_clear(&m);
                        return pd_fail(err, PD_E_CORRUPT, "the manifest of the saved values has a bad line: \"%.*s\"",
                                len, line);
                }
        }
        if (m.n == 0 || !*m.save) {
                wire_manifest_clear(&m);
                return pd_fail(err, PD_E_CORRUPT, "the manifest of the saved values names no files");
        }
        *ret = m;
        return 0;
}

void wire_manifest_clear(struct wire_manifest *m)
{
        free(m->files);
        *m = (struct wire_manifest){ .n = 0 };
}

bool wire_duration(const char *text, int64_t *ret_us)
{
        static const struct {
                const char *unit;
                int64_t us;
        } units[] = { { "ms", 1000 }, { "s", 1000000 }, { "m", 60000000 }, { "h", INT64_C(3600000000) },
                { "d", INT64_C(86400000000) } };
        const int64_t most = 30 * INT64_C(86400000000);
        int64_t sum = 0;

        if (!*text)
                return false;
        while (*text) {
                size_t digits = strspn(text, "0123456789"), letters = strspn(text + digits, "msdh"), i = 0;
                int64_t n = digits && digits <= 9 ? atoll(text) : -1;

                while (i < sizeof units / sizeof *units &&
                        (strlen(units[i].unit) != letters || strncmp(units[i].unit, text + digits, letters) != 0))
                        i++;
                if (n < 0 || i == sizeof units / sizeof *units || n > most / units[i].us ||
                        (sum += n * units[i].us) > most)
                        return false;
                text += digits + letters;
        }
        *ret_us = sum;
        return true;
}
