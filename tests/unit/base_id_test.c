/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"

#include "tap.h"

static const uint8_t zeros[10], ones[10] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };

static void test_order(void)
{
        /* the random part of the earlier one is the largest: only time may decide */
        static const int64_t steps_us[] = { 0, 1, 2, 999, 1000, 1001, 500000, 86400000000, INT64_C(1796070984000000) };
        char before[ID_TEXT_MAX], after[ID_TEXT_MAX];
        size_t wrong = 0;

        for (size_t i = 1; i < ARRAY_LEN(steps_us); i++) {
                id_format(ID_JOB, id_make(steps_us[i - 1], ones), before);
                id_format(ID_JOB, id_make(steps_us[i], zeros), after);
                wrong += strcmp(before, after) >= 0;
        }
        tap_int((long long)wrong, 0, "ids sort by time, down to the microsecond");
}

static void test_round_trip(void)
{
        for (int kind = 0; kind < ID_KIND_N; kind++) {
                struct id id = id_make(INT64_C(1796070984123456), ones), back = { { 0 } };
                char text[ID_TEXT_MAX];

                id_format((enum id_kind)kind, id, text);
                tap_ok(strlen(text) == 30 && id_parse((enum id_kind)kind, text, &back) && id_equal(id, back),
                        "%s reads back as the same id", text);
        }
        tap_ok((id_make(0, ones).b[6] >> 4) == 7 && (id_make(0, ones).b[8] >> 6) == 2, "ids are UUIDs of version 7");
        tap_ok(id_is_null((struct id){ { 0 } }) && !id_is_null(id_make(1, zeros)), "no id is null but the null id");
}

static void test_parse_refuses(void)
{
        static const struct {
                const char *name, *text;
        } rows[] = {
                { "another prefix", "mch_01abcdefghjkmnpqrstvwxyz01" },
                { "no prefix", "01abcdefghjkmnpqrstvwxyz01" },
                { "a character short", "job_01abcdefghjkmnpqrstvwxyz0" },
                { "a character long", "job_01abcdefghjkmnpqrstvwxyz012" },
                { "a letter that the alphabet leaves out", "job_01abcdefghjkmnpqrstvwxyzil" },
                { "upper case", "job_01ABCDEFGHJKMNPQRSTVWXYZ01" },
                { "more than 128 bits", "job_81abcdefghjkmnpqrstvwxyz01" },
                { "nothing", "" },
        };
        struct id id = { { 0 } };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                tap_ok(!id_parse(ID_JOB, rows[i].text, &id) && id_is_null(id), "%s is no id", rows[i].name);
        tap_ok(id_parse(ID_JOB, "job_7zzzzzzzzzzzzzzzzzzzzzzzzz", &id), "the largest id is one");
}

static void test_matches(void)
{
        struct id id = id_make(INT64_C(1796070984123456), ones);
        char text[ID_TEXT_MAX], part[ID_TEXT_MAX];

        id_format(ID_JOB, id, text);
        for (size_t n = 0; n <= 30; n++) {
                memcpy(part, text, n);
                part[n] = '\0';
                if (id_matches(ID_JOB, id, part) != (n >= 8) ||
                        (n >= 4 && id_matches(ID_JOB, id, part + 4) != (n >= 8)))
                        break;
                if (n == 30)
                        tap_ok(true, "every prefix of 4 and more characters matches, with and without job_");
        }
        tap_ok(!id_matches(ID_JOB, id, "job_zzzz") && !id_matches(ID_MACHINE, id, text),
                "another prefix or kind does not match");
}

int main(void)
{
        test_order();
        test_round_trip();
        test_parse_refuses();
        test_matches();
        return tap_done();
}
