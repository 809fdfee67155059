/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include "tap.h"

static bool ends_sentence(const char *help)
{
        size_t n = help ? strlen(help) : 0;

        return n > 10 && help[n - 1] == '.' && help[0] >= 'A' && help[0] <= 'Z';
}

static bool lower_name(const char *name)
{
        return name && *name && strspn(name, "abcdefghijklmnopqrstuvwxyz_.") == strlen(name);
}

static void test_field(size_t i)
{
        const struct spec_field *f = &spec_fields[i];
        bool alone = true;

        for (size_t k = 0; k < spec_fields_n; k++) {
                const struct spec_field *o = &spec_fields[k];

                alone &= k == i || (!streq(o->name, f->name) && o->offset != f->offset &&
                                           (!f->flag || !o->flag || !streq(o->flag, f->flag)));
        }
        (void)tap_ok(alone, "%s has a name, a flag and a member of its own", f->name);
        (void)tap_ok(lower_name(f->name) && ends_sentence(f->help), "... a plain name, and a sentence of help");
        (void)tap_ok(
                !f->flag || (str_starts(f->flag, "--") && f->metavar), "... a flag with a word for its value, or none");
        (void)tap_ok(
                f->min <= f->max && f->offset < sizeof(struct spec) && f->type < SPEC_TYPE_N, "... bounds in order");
        (void)tap_ok(spec_field_find(f->name) == f && (!f->flag || spec_field_by_flag(f->flag) == f),
                "... and is found by both");
}

static void test_setting(size_t i)
{
        const struct setting_row *row = &setting_rows[i];
        struct pd_error e = { 0 };
        bool alone = true, off;

        for (size_t k = 0; k < setting_rows_n; k++)
                alone &= k == i || (!streq(setting_rows[k].key, row->key) && setting_rows[k].offset != row->offset);
        (void)tap_ok(alone && lower_name(row->key) && ends_sentence(row->help),
                "%s has a key, a member and a sentence of its own", row->key);
        (void)tap_ok(
                setting_check(row->key, row->fallback, &e) == 0, "... its default passes its own check %s", e.text);
        off = setting_check(row->key, "off", NULL) == 0;
        (void)tap_ok(off == (row->may_be_off || row->type == SPEC_BOOL),
                "P-23 ... it can be turned off exactly if its row says so");
        (void)tap_ok(
                row->min <= row->max && setting_find(row->key) == row, "... bounds in order, and found by its key");
}

static void test_names(void)
{
        static const struct {
                const char *said, *meant;
        } rows[] = {
                { "memroy", "memory" },
                { "gpu", "gpus" },
                { "shm-size", "shm_size" },
                { "enviroment", NULL },
                { "comand", "command" },
                { "checkpoints", "checkpoint" },
        };
        const struct spec_field *f = spec_field_by_flag("-e");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                (void)tap_str(spec_field_nearest(rows[i].said), rows[i].meant, rows[i].said);
        (void)tap_ok(f && streq(f->name, "env"), "-e is --env");
        (void)tap_ok(!spec_field_by_flag("-x") && !spec_field_by_flag("--nothing") && !spec_field_find("nothing"),
                "an unknown one is none");
        (void)tap_ok(setting_by_flag("--ttl") == setting_find("ttl") && !setting_by_flag("--no-ttl") &&
                             !setting_flag_value(setting_find("ttl"), "--ttl"),
                "--ttl is the setting ttl's flag, and takes a value");
        (void)tap_ok(setting_by_flag("--no-cheaper") == setting_find("cheaper") &&
                             streq(setting_flag_value(setting_find("cheaper"), "--no-cheaper"), "off"),
                "P-18: --no-cheaper is cheaper = off");
        (void)tap_ok(setting_by_flag("--spot") == setting_find("spot.use") &&
                             streq(setting_flag_value(setting_find("spot.use"), "--spot"), "on") &&
                             streq(setting_flag_value(setting_find("spot.use"), "--no-spot"), "off"),
                "P-12: --spot and --no-spot are spot.use");
        (void)tap_str(setting_nearest("idle.aftr"), "idle.after", "the nearest key");
}

static void test_on(void)
{
        static const struct {
                const char *text;
                bool good, exact, spot;
        } rows[] = {
                { "lab", true, false, false },
                { "lab/here", true, false, false },
                { "lab/here/host", true, true, false },
                { "aws/us-east-1a/m5.large/spot", true, true, true },
                { "", false, false, false },
                { "/", false, false, false },
                { "lab/", false, false, false },
                { "lab//host", false, false, false },
                { "lab/here/host/", false, false, false },
                { "lab/here/host/od", false, false, false },
                { "lab/here/host/spot/x", false, false, false },
                { "la b", false, false, false },
                { "lab/*", false, false, false },
                { "0123456789012345678901234567890123456789012345678", false, false, false },
                { "012345678901234567890123456789012345678901234567", true, false, false },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct spec_on on = { 0 };
                struct pd_error e = { 0 };
                int r = spec_on_parse(rows[i].text, &on, &e);

                (void)tap_ok((r == 0) == rows[i].good && on.exact == rows[i].exact && on.spot == rows[i].spot,
                        "P-19: --on \"%s\" is %s", rows[i].text,
                        !rows[i].good   ? "refused"
                        : rows[i].exact ? "one offer"
                                        : "a choice");
                if (r < 0)
                        (void)tap_has(e.text, "write CONNECTION[/ZONE[/TYPE[/spot]]]", "... with the grammar");
        }
}

int main(void)
{
        for (size_t i = 0; i < spec_fields_n; i++)
                test_field(i);
        for (size_t i = 0; i < setting_rows_n; i++)
                test_setting(i);
        test_names();
        test_on();
        return tap_done();
}
