/* SPDX-License-Identifier: Apache-2.0 */
#include "config/prescan.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/config.h"

enum kind { END, NAME, STRING, INTEGER, BOOL, PUNCT, BAD };

struct token {
        enum kind kind;
        char punct;
        const char *at;
        size_t n;
        unsigned int line; /* where it begins */
};

struct scan {
        const char *bytes;
        size_t n, at;
        unsigned int line, depth;
        size_t faults;
        const struct prescan_events *events;
        struct token now;      /* the grammar's next token            */
        unsigned int key_line; /* of the key whose value is being read */
};

#define SHOWN_MAX 32

/* A token as a message may show it. */
static const char *shown(const char *at, size_t n, char buf[SHOWN_MAX])
{
        size_t room = n < SHOWN_MAX - 4 ? n : SHOWN_MAX - 4;

#if defined(PORTALD_PLANTED_OVERFLOW) && defined(PORTALD_FUZZING)
        room = n; /* planted, in a target of its own: proof that the fuzzer finds what it is there to find */
#endif
        for (size_t i = 0; i < room; i++)
                buf[i] = at[i] >= ' ' && at[i] < 0x7f ? at[i] : '?';
        memcpy(buf + room, room < n ? "..." : "", room < n ? 4 : 1);
        return buf;
}

__attribute__((format(printf, 4, 5))) static void tell(
        struct scan *s, unsigned int line, const char *fix, const char *fmt, ...)
{
        char text[160];
        va_list ap;

        if (s->faults++ >= CONFIG_FAULTS_MAX)
                return;
        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        s->events->fault(s->events->arg, line, text, fix);
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}
static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
}
static bool is_word(char c)
{
        return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}
static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static char peek(const struct scan *s, size_t ahead)
{
        return s->at + ahead < s->n ? s->bytes[s->at + ahead] : '\0';
}

static void skip_line(struct scan *s)
{
        while (s->at < s->n && s->bytes[s->at] != '\n')
                s->at++;
}

static void skip_comment(struct scan *s)
{
        unsigned int from = s->line;

        for (s->at += 2; s->at < s->n; s->at++) {
                if (peek(s, 0) == '*' && peek(s, 1) == '/') {
                        s->at += 2;
                        return;
                }
                s->line += peek(s, 0) == '\n';
        }
        tell(s, from, "end it with */", "the comment that begins here is never closed");
}

static void skip_blank(struct scan *s)
{
        for (; s->at < s->n;) {
                char c = peek(s, 0);

                if (c == '#' || (c == '/' && peek(s, 1) == '/')) {
                        skip_line(s);
                } else if (c == '/' && peek(s, 1) == '*') {
                        skip_comment(s);
                } else if (is_blank(c)) {
                        s->line += c == '\n';
                        s->at++;
                } else {
                        return;
                }
        }
}

static int hex(char c)
{
        if (is_digit(c))
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The escapes that libconfig knows; others it would take as they stand. */
static void check_escape(struct scan *s)
{
        char c = peek(s, 1);

        if (c == 'x' && hex(peek(s, 2)) >= 0 && hex(peek(s, 3)) >= 0) {
                if (hex(peek(s, 2)) == 0 && hex(peek(s, 3)) == 0)
                        tell(s, s->line, "leave it out", "a NUL character (\\x00) in a string");
                s->at += 4;
                return;
        }
        if (!c || !strchr("\\\"nrtf", c)) {
                char buf[SHOWN_MAX];

                tell(s, s->line, "write \\\\ for a backslash; \\\" \\n \\r \\t \\f and \\xHH are the other escapes",
                        "the escape \"\\%s\" is not known", shown(s->bytes + s->at + 1, s->at + 1 < s->n, buf));
        }
        s->at += c == '\n' ? 1 : 2;
}

static void take_string(struct scan *s)
{
        unsigned int from = s->line;
        size_t begin = s->at++;
        char buf[SHOWN_MAX];

        while (s->at < s->n && peek(s, 0) != '\n') {
                char c = peek(s, 0);

                if (c == '"') {
                        s->at++;
                        return;
                }
                if (c == '\\') {
                        check_escape(s);
                        continue;
                }
                if ((unsigned char)c < ' ' && c != '\t')
                        tell(s, s->line, "leave it out, or write it as \\xHH", "the byte 0x%02x in a string",
                                (unsigned int)(unsigned char)c);
                s->at++;
        }
        if (s->at > s->n)
                s->at = s->n;
        tell(s, from, "close it with \" on the same line", "the string %s is never closed",
                shown(s->bytes + begin, s->at - begin, buf));
}

/* From a digit, a sign or a point on: all that a person could take for one number ("0.10usd/h"). */
static void take_number(struct scan *s, struct token *t)
{
        char buf[SHOWN_MAX];
        bool plain = true;
        size_t digits = 0;

        for (; s->at < s->n && !is_blank(peek(s, 0)) && !strchr("\"=:;,{}[]()#", peek(s, 0)); s->at++) {
                bool sign = s->bytes + s->at == t->at && (peek(s, 0) == '+' || peek(s, 0) == '-');

                digits += is_digit(peek(s, 0));
                plain = plain && (is_digit(peek(s, 0)) || sign);
        }
        t->n = (size_t)(s->bytes + s->at - t->at);
        if (!plain || digits == 0)
                tell(s, s->line,
                        "write a quantity as a quoted string with its unit (\"72h\", \"1.5GiB\", \"0.10usd/h\")",
                        "%s is no plain whole number", shown(t->at, t->n, buf));
        else if (digits > PRESCAN_INT_DIGITS)
                tell(s, s->line, "quote it, as in \"3000000000\"; a size or a time is a quoted string with its unit",
                        "%s has more than 9 digits", shown(t->at, t->n, buf));
}

static void take_word(struct scan *s, struct token *t)
{
        while (s->at < s->n && is_word(peek(s, 0)))
                s->at++;
        t->n = (size_t)(s->bytes + s->at - t->at);
        if ((t->n == 4 && strncasecmp(t->at, "true", 4) == 0) || (t->n == 5 && strncasecmp(t->at, "false", 5) == 0))
                t->kind = BOOL;
}

/* Bytes that begin nothing: a run of them is one fault. */
static void take_other(struct scan *s, struct token *t)
{
        char buf[SHOWN_MAX];

        if (peek(s, 0) == '@') {
                tell(s, s->line, "put the file into conf.d instead", "@include is not allowed");
                skip_line(s);
                return;
        }
        for (s->at++; s->at < s->n && !is_blank(peek(s, 0)) && !strchr("\"=:;,{}[]()#@", peek(s, 0)); s->at++)
                ;
        t->n = (size_t)(s->bytes + s->at - t->at);
        tell(s, s->line, "quote text as in \"text\"; names are letters, digits, - and _", "%s means nothing here",
                shown(t->at, t->n, buf));
}

static struct token next_token(struct scan *s)
{
        struct token t;
        char c;

        skip_blank(s);
        t = (struct token){ .kind = END, .at = s->bytes + s->at, .n = 1, .line = s->line };
        if (s->at >= s->n)
                return t;
        c = peek(s, 0);
        if (c == '"') {
                t.kind = STRING;
                take_string(s);
                t.n = (size_t)(s->bytes + s->at - t.at);
        } else if (c && strchr("=:;,{}[]()", c)) {
                t.kind = PUNCT;
                t.punct = c;
                s->at++;
        } else if (is_digit(c) || c == '.' || c == '+' || c == '-') {
                t.kind = INTEGER;
                take_number(s, &t);
        } else if (is_letter(c)) {
                t.kind = NAME;
                take_word(s, &t);
        } else {
                t.kind = BAD;
                take_other(s, &t);
        }
        return t;
}

/* --- the grammar: the first fault ends it --- */

static bool take_settings(struct scan *s, char end);

static void advance(struct scan *s)
{
        s->now = next_token(s);
}

static bool at_punct(const struct scan *s, const char *which)
{
        return s->now.kind == PUNCT && strchr(which, s->now.punct);
}

static bool unexpected(struct scan *s, const char *wanted, const char *fix)
{
        char buf[SHOWN_MAX];

        if (s->now.kind == END)
                tell(s, s->now.line, fix, "the file ends where %s is wanted", wanted);
        else
                tell(s, s->now.line, fix, "%s stands where %s is wanted", shown(s->now.at, s->now.n, buf), wanted);
        return false;
}

static bool take_value(struct scan *s, bool scalar_only);

/* "[" or "(" is taken already. */
static bool take_list(struct scan *s, char end, bool scalar_only)
{
        char wanted[] = { '"', end, '"', '\0' };

        if (!at_punct(s, (char[]){ end, '\0' })) {
                for (;;) {
                        if (s->events->item)
                                s->events->item(s->events->arg, s->key_line, s->now.line);
                        if (!take_value(s, scalar_only))
                                return false;
                        if (!at_punct(s, ","))
                                break;
                        advance(s);
                }
        }
        if (!at_punct(s, (char[]){ end, '\0' }))
                return unexpected(s, wanted, "separate the values with commas, with none behind the last");
        advance(s);
        return true;
}

static bool take_nested(struct scan *s)
{
        char open = s->now.punct;
        unsigned int line = s->now.line;
        bool good;

        if (++s->depth > PRESCAN_DEPTH_MAX) {
                tell(s, line, "the config needs no more than 4", "blocks and lists are nested deeper than %d levels",
                        PRESCAN_DEPTH_MAX);
                return false;
        }
        advance(s);
        good = open == '{' ? take_settings(s, '}') : take_list(s, open == '[' ? ']' : ')', open == '[');
        s->depth--;
        return good;
}

static bool take_value(struct scan *s, bool scalar_only)
{
        if (s->now.kind == STRING) {
                do
                        advance(s);
                while (s->now.kind == STRING); /* libconfig joins them */
                return true;
        }
        if (s->now.kind == INTEGER || s->now.kind == BOOL) {
                advance(s);
                return true;
        }
        if (at_punct(s, "{[(") && !scalar_only)
                return take_nested(s);
        if (s->now.kind == NAME)
                return unexpected(s, "a value",
                        "quote text, as in \"text\"; only true, false and small whole numbers go without");
        return unexpected(s, "a value",
                scalar_only ? "write a quoted string, a whole number, true or false"
                            : "write a quoted string, a whole number, true, false, { ... } or [ ... ]");
}

static bool take_settings(struct scan *s, char end)
{
        while (s->now.kind == NAME) {
                s->key_line = s->now.line;
                advance(s);
                if (!at_punct(s, "=:"))
                        return unexpected(s, "\"=\"", "write key = value; or block: { ... };");
                advance(s);
                if (!take_value(s, false))
                        return false;
                if (at_punct(s, ";,"))
                        advance(s);
        }
        if (end == '\0')
                return s->now.kind == END || unexpected(s, "a key", "write key = value; and close each { with one }");
        if (!at_punct(s, "}"))
                return unexpected(s, "a key or \"}\"", "write key = value; and close each { with one }");
        advance(s);
        return true;
}

size_t prescan(const char *bytes, size_t n, const struct prescan_events *events)
{
        struct scan s = { .bytes = n ? bytes : "", .n = n, .line = 1, .events = events };
        const char *nul = n ? memchr(bytes, '\0', n) : NULL;

        if (n > PRESCAN_BYTES_MAX) {
                tell(&s, 1, "split it over files in conf.d", "the file is longer than 1 MiB");
                return s.faults;
        }
        if (nul) {
                for (const char *at = bytes; at < nul; at++)
                        s.line += *at == '\n';
                tell(&s, s.line, "is this a text file?", "a NUL byte");
                return s.faults;
        }
        while (s.faults < CONFIG_FAULTS_MAX && next_token(&s).kind != END)
                ;
        if (s.faults)
                return s.faults;
        s.at = 0;
        s.line = 1;
        advance(&s);
        (void)take_settings(&s, '\0');
        return s.faults;
}
