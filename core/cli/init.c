/* SPDX-License-Identifier: Apache-2.0 */
/* portal init: a portal.yaml in which every field and setting stands with its default and meaning; made from the tables of core/spec. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const char head[] =
        "# portal.yaml: what `portal run` in this directory submits. Flags of `portal run` go before it, and\n"
        "# `portal run -- CMD...` replaces its command. Quantities have units: 2GiB, 45m, 0.5 (cores).\n"
        "# Lines that begin with # show what may be said, and the default where there is one.\n"
        "\n"
        "# The container's files: oci:DIR (an OCI layout), docker://REF, or dir:PATH.\n"
        "image: oci:/srv/portal-images/debian\n"
        "\n"
        "# The program and its arguments, one item each; no shell is between.\n"
        "command: [python3, -u, train.py]\n"
        "\n"
        "# How its state is saved when the job must leave its machine:\n"
        "#   values   the program registers what it needs (five lines with portal.py)\n"
        "#   command  its own commands or a signal write it; as below\n"
        "#   restart  nothing is saved: it begins again\n"
        "checkpoint: values\n"
        "#checkpoint:\n"
        "#  capture: command\n"
        "#  save: [./save.sh]        # writes into $PORTAL_CHECKPOINT_DIR\n"
        "#  load: [./load.sh]        # reads it there before the command starts\n"
        "#  timeout: 2m\n"
        "\n";

static const char *sample(const struct spec_field *f)
{
        static const struct {
                const char *name, *text;
        } samples[] = { { "name", "train" }, { "project", "research" }, { "on", "lab" }, { "workdir", "/work" },
                { "disk", "20GiB" }, { "mounts", "[/srv/data:/data:ro]" }, { "env", "{EPOCHS: \"10\"}" },
                { "tags", "{paper: \"2\"}" } };

        for (size_t i = 0; i < ARRAY_LEN(samples); i++)
                if (streq(samples[i].name, f->name))
                        return samples[i].text;
        return str_or(f->fallback, "\"\"");
}

static bool said_above(const char *name)
{
        return streq(name, "image") || streq(name, "command") || streq(name, "checkpoint") || streq(name, "settings");
}

static void write_text(FILE *to)
{
        (void)fputs(head, to);
        for (size_t i = 0; i < spec_fields_n; i++)
                if (!said_above(spec_fields[i].name))
                        (void)fprintf(to, "# %s\n#%s: %s\n", spec_fields[i].help, spec_fields[i].name,
                                sample(&spec_fields[i]));
        (void)fputs("\n# What the policies go by, for this project. `portal run --set KEY=VALUE` goes before "
                    "it.\n#settings:\n",
                to);
        for (size_t i = 0; i < setting_rows_n; i++)
                (void)fprintf(to, "#  %s: %s  # %s\n", setting_rows[i].key, str_or(setting_rows[i].fallback, "\"\""),
                        setting_rows[i].help);
}

int cmd_init(struct cli *c, const struct cli_line *line)
{
        int fd = open(CLI_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        FILE *to;
        bool good;

        (void)line;
        if (fd < 0 && errno == EEXIST) {
                say(c, "./" CLI_FILE " is there already and is not overwritten: move it away first");
                return CLI_REFUSED;
        }
        to = fd < 0 ? NULL : fdopen(fd, "w");
        if (!to) {
                say(c, "./" CLI_FILE " cannot be written (%s): go to a directory of yours", strerror(errno));
                (void)safe_close(fd);
                return CLI_REFUSED;
        }
        write_text(to);
        good = !ferror(to);
        if (fclose(to) != 0 || !good) {
                (void)unlink(CLI_FILE);
                say(c, "./" CLI_FILE " could not be written whole (%s): free some space", strerror(errno));
                return CLI_FAILED;
        }
        (void)printf("./" CLI_FILE "\n");
        say(c, "written; set image and command in it, then `portal run`");
        return CLI_OK;
}
