/* SPDX-License-Identifier: Apache-2.0 */
/* portald-doc page: the manual page portal.yaml(5).
 * portald-doc FORMAT TABLE: one of the tables as a fragment, FORMAT markdown or man, TABLE fields, settings or life.
 * Made from the tables that the program goes by, so that the manual cannot say anything else. A build tool: not installed. */
#include "spec/check.h"
#include "spec/life.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const type_words[SPEC_TYPE_N] = {
        [SPEC_STRING] = "text",
        [SPEC_NAME] = "name: 1 to 64 of a-z, 0-9 and -",
        [SPEC_BOOL] = "true or false",
        [SPEC_INT] = "whole number",
        [SPEC_DURATION] = "duration: 45m, 6h, 1h30m, 3d",
        [SPEC_SIZE] = "size: 512MiB, 16GiB, 1TB",
        [SPEC_CPU] = "cores: 2, 0.5, 500m",
        [SPEC_MONEY] = "money: 20usd",
        [SPEC_PERCENT] = "percentage: 5%",
        [SPEC_CHOICE] = "one of the choices",
        [SPEC_ARGV] = "list of texts",
        [SPEC_ENV] = "object of names and texts",
        [SPEC_TAGS] = "object, free form",
        [SPEC_MOUNTS] = "list of SOURCE:TARGET[:ro]",
        [SPEC_CHECKPOINT] = "capture, or {capture, save, load, signal, done_file, timeout}",
        [SPEC_SETTINGS] = "object of settings",
        [SPEC_OFFER] = "CONNECTION[/ZONE[/TYPE[/spot]]]",
        [SPEC_IMAGE] = "oci:DIR[:TAG], docker://REF or dir:PATH",
        [SPEC_PATH] = "absolute path",
};

/* What both formats say of one row. */
struct entry {
        const char *name, *fallback, *help;
        char flag[64], kind[160], bounds[128];
};

static const char *bound(enum spec_type type, int64_t v, char *buf)
{
        if (type == SPEC_DURATION)
                return duration_format(v, buf);
        if (type == SPEC_SIZE)
                return size_exact((uint64_t)v, buf);
        if (type == SPEC_CPU)
                return cpu_format((int32_t)v, buf);
        if (type == SPEC_PERCENT)
                (void)snprintf(buf, QUANTITY_MAX, "%" PRId64 ".%02" PRId64 "%%", v / 100, v % 100);
        else
                (void)snprintf(buf, QUANTITY_MAX, "%" PRId64, v);
        return buf;
}

static void describe(
        struct entry *e, enum spec_type type, int64_t min, int64_t max, const char *choices, bool may_be_off)
{
        char low[QUANTITY_MAX], high[QUANTITY_MAX];

        if (choices)
                (void)str_format(e->kind, sizeof e->kind, "%s", choices);
        else
                (void)str_format(e->kind, sizeof e->kind, "%s", type_words[type]);
        if (type == SPEC_MONEY)
                (void)str_format(e->bounds, sizeof e->bounds, "more than 0, or off");
        else if (min != 0 || max != 0)
                (void)str_format(e->bounds, sizeof e->bounds, "%s to %s%s", bound(type, min, low),
                        bound(type, max, high), may_be_off ? ", or off" : "");
}

static struct entry entry_of_field(const struct spec_field *f)
{
        struct entry e = { .name = f->name, .fallback = f->fallback, .help = f->help };

        if (f->flag && f->letter)
                (void)str_format(e.flag, sizeof e.flag, "-%c, %s %s", f->letter, f->flag, f->metavar);
        else if (f->flag)
                (void)str_format(e.flag, sizeof e.flag, "%s %s", f->flag, f->metavar);
        describe(&e, f->type, f->min, f->max, f->choices, false);
        if (f->type == SPEC_INT) /* the one number with a gap */
                (void)str_format(e.bounds, sizeof e.bounds, "0 to 8, or 16");
        return e;
}

static struct entry entry_of_setting(const struct setting_row *row)
{
        struct entry e = { .name = row->key, .fallback = row->fallback, .help = row->help };

        if (row->flag)
                (void)str_format(e.flag, sizeof e.flag, "%s VALUE", row->flag);
        else
                (void)str_format(e.flag, sizeof e.flag, "--set %s=VALUE", row->key);
        describe(&e, row->type, row->min, row->max, row->choices, row->may_be_off);
        if (row->type == SPEC_BOOL)
                (void)str_format(e.kind, sizeof e.kind, "on or off");
        return e;
}

/* --- markdown --- */

/* A cell: a bar would end it. */
static void cell(const char *text)
{
        for (fputs("| ", stdout); *text; text++)
                printf(*text == '|' ? "\\|" : "%c", *text);
        putchar(' ');
}

static void markdown_row(const struct entry *e)
{
        char name[96];

        (void)str_format(name, sizeof name, "`%s`", e->name);
        cell(name);
        cell(e->flag);
        cell(e->kind);
        cell(str_or(e->fallback, ""));
        cell(e->bounds);
        cell(e->help);
        puts("|");
}

static void markdown_head(const char *name)
{
        printf("| %s | flag | value | default | bounds | |\n|---|---|---|---|---|---|\n", name);
}

/* --- man --- */

static void man_text(const char *text)
{
        for (; *text; text++) {
                if (*text == '-')
                        fputs("\\-", stdout);
                else if (*text == '\\')
                        fputs("\\e", stdout);
                else
                        putchar(*text);
        }
}

static void man_row(const struct entry *e)
{
        fputs(".TP\n.B ", stdout);
        man_text(e->name);
        fputs("\n\\&", stdout); /* a line that begins with a dot would be an order */
        man_text(e->help);
        fputs("\n\\&", stdout);
        man_text(e->kind);
        if (e->bounds[0]) {
                fputs("; ", stdout);
                man_text(e->bounds);
        }
        if (e->fallback) {
                fputs("; default ", stdout);
                man_text(e->fallback);
        }
        if (e->flag[0]) {
                fputs(". Flag: ", stdout);
                man_text(e->flag);
        }
        puts(".");
}

/* --- the tables --- */

static void print_fields(bool man)
{
        if (!man)
                markdown_head("field");
        for (size_t i = 0; i < spec_fields_n; i++) {
                struct entry e = entry_of_field(&spec_fields[i]);

                (man ? man_row : markdown_row)(&e);
        }
}

static void print_settings(bool man)
{
        if (!man)
                markdown_head("setting");
        for (size_t i = 0; i < setting_rows_n; i++) {
                struct entry e = entry_of_setting(&setting_rows[i]);

                (man ? man_row : markdown_row)(&e);
        }
}

static const char *causes_text(uint32_t causes, char *buf, size_t n)
{
        size_t used = 0;

        buf[0] = '\0';
        for (unsigned int c = 0; c < CAUSE_N && used < n; c++)
                if (causes & BIT(c))
                        used += (size_t)snprintf(
                                buf + used, n - used, "%s%s", used ? ", " : "", job_cause_name((enum job_cause)c));
        return buf;
}

static void print_life(bool man)
{
        char causes[256], line[512];

        if (!man)
                puts("| from | event | to | result | causes |\n|---|---|---|---|---|");
        for (size_t i = 0; i < life_edges_n; i++) {
                const struct life_edge *e = &life_edges[i];
                const char *from = e->from == JOB_STATE_N ? "(new)" : job_state_name(e->from);

                (void)causes_text(e->causes, causes, sizeof causes);
                if (!man) {
                        printf("| %s | %s | %s | %s | %s |\n", from, job_event_name(e->event), job_state_name(e->to),
                                job_result_name(e->result), causes);
                        continue;
                }
                fputs(".TP\n.B ", stdout);
                man_text(from);
                (void)str_format(line, sizeof line, "%s -> %s%s%s%s%s", job_event_name(e->event), job_state_name(e->to),
                        e->result ? ", " : "", job_result_name(e->result), e->causes ? "; cause " : "", causes);
                fputs("\n\\&", stdout);
                man_text(line);
                putchar('\n');
        }
}

/* --- the page portal.yaml(5) --- */

static const char page_head[] =
        ".TH PORTAL.YAML 5\n"
        ".SH NAME\n"
        "portal.yaml \\- a job for portald\n"
        ".SH DESCRIPTION\n"
        "The file that\n.B portal run\nreads: one job, as lines of\n.I field: value\n"
        "in YAML 1.2. The same fields are the members of a job's JSON body, and most are flags of\n.BR \"portal run\" "
        ",\n"
        "which win over the file.\n"
        ".PP\n"
        "What stands there is what is meant:\n.BR no ,\n.BR on ,\n.BR 012 ,\n.B 1:30\nand\n.B ~\n"
        "are texts. Only a field that wants a whole number reads plain digits as one, and only one that wants\n"
        ".B true\nor\n.B false\nreads these so. A quantity has its unit:\n.BR 16GiB ,\n.BR 45m ,\n.BR 20usd .\n"
        "Anchors, aliases, tags, several documents, a key given twice, and unknown fields are refused, each with its "
        "line.\n"
        ".SH FIELDS\n";
static const char page_checkpoint[] =
        ".SH CHECKPOINT\n"
        ".TP\n.B checkpoint: values\nThe program registers its values with portald's library; they are saved by name.\n"
        ".TP\n.B checkpoint: restart\nNothing is carried: after a suspension the command starts anew.\n"
        ".TP\n.B checkpoint: {capture: command, ...}\n"
        "The job saves by itself: either\n.B save\n(a command run in the container; its mate is\n.BR load ),\nor\n.B "
        "signal\n"
        "(sent to the main process) with\n.B done_file\n(written in the checkpoint directory once it has saved).\n"
        ".TP\n.B timeout\nHow long that may take, 1s to 1d.\n"
        ".SH SETTINGS\n"
        "Under\n.BR settings: ,\nor by\n.BR \"\\-\\-set KEY=VALUE\" .\n"
        "A flag wins over the file, the file over the settings of the console, these over the site's config, and that "
        "over the built\\-in value.\n";
static const char page_life[] =
        ".SH THE LIFE OF A JOB\n"
        "Each line is a state, what happens in it, and the state that follows. Nothing else can happen to a job.\n";
static const char page_tail[] = ".SH EXAMPLE\n"
                                ".nf\n"
                                "name: train\n"
                                "image: docker://python:3\n"
                                "command: [python3, train.py]\n"
                                "memory: 4GiB\n"
                                "env:\n"
                                "  EPOCHS: 20\n"
                                "checkpoint: values\n"
                                "settings:\n"
                                "  idle.after: 1h\n"
                                ".fi\n"
                                ".SH SEE ALSO\n"
                                ".BR portal (1)\n";

static void print_page(void)
{
        fputs(page_head, stdout);
        print_fields(true);
        fputs(page_checkpoint, stdout);
        print_settings(true);
        fputs(page_life, stdout);
        print_life(true);
        fputs(page_tail, stdout);
}

static int finished(void)
{
        return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*print)(bool man);
        } tables[] = { { "fields", print_fields }, { "settings", print_settings }, { "life", print_life } };

        if (argc == 2 && streq(argv[1], "page")) {
                print_page();
                return finished();
        }
        if (argc == 3 && (streq(argv[1], "man") || streq(argv[1], "markdown")))
                for (size_t i = 0; i < ARRAY_LEN(tables); i++)
                        if (streq(argv[2], tables[i].name)) {
                                tables[i].print(streq(argv[1], "man"));
                                return finished();
                        }
        fputs("usage: portald-doc page | markdown|man fields|settings|life\n", stderr);
        return 2;
}
