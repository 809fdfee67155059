/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include "tap.h"

/* One flag into an empty object: what it becomes, or what is said. Flags without a row (such as --ttl) are the settings'. */
static const struct {
        const char *flag, *value, *want; /* want: JSON of the raw object; NULL = refused     */
        const char *has;                 /* of the refusal: a part, besides the flag's name  */
} rows[] = {
        { "--name", "train-2", "{\"name\":\"train-2\"}", NULL },
        { "--image", "docker://debian:12", "{\"image\":\"docker://debian:12\"}", NULL },
        { "--on", "lab/here", "{\"on\":\"lab/here\"}", NULL },
        { "--cpus", "0.5", "{\"cpus\":\"0.5\"}", NULL },
        { "--memory", "16GiB", "{\"memory\":\"16GiB\"}", NULL },
        { "--gpus", "2", "{\"gpus\":2}", NULL },
        { "--disk", "1TB", "{\"disk\":\"1TB\"}", NULL },
        { "--shm-size", "1GiB", "{\"shm_size\":\"1GiB\"}", NULL },
        { "--workdir", "/srv", "{\"workdir\":\"/srv\"}", NULL },
        { "--mount", "/data:/data:ro", "{\"mounts\":[\"/data:/data:ro\"]}", NULL },
        { "--tag", "team=vision", "{\"tags\":{\"team\":\"vision\"}}", NULL },
        { "-e", "A=b=c", "{\"env\":{\"A\":\"b=c\"}}", NULL },
        { "--env", "A=", "{\"env\":{\"A\":\"\"}}", NULL },
        { "--checkpoint", "values", "{\"checkpoint\":\"values\"}", NULL },
        { "--set", "idle.after=1h", "{\"settings\":{\"idle.after\":\"1h\"}}", NULL },
        { "--project", "vision", "{\"project\":\"vision\"}", NULL },
        { "--name", "Train", NULL, "\"Train\"" },
        { "--name", "", NULL, "write" },
        { "--image", "debian:12", NULL, "docker://debian:12" },
        { "--image", "oci:images/debian", NULL, "is not absolute" },
        { "--on", "lab/", NULL, "CONNECTION" },
        { "--cpus", "0", NULL, "\"0\"" },
        { "--cpus", "5m", NULL, "from 0.01 to 1024" },
        { "--cpus", "two", NULL, "\"two\"" },
        { "--memory", "16", NULL, "write 16GiB" },
        { "--memory", "16G", NULL, "GiB" },
        { "--memory", "1B", NULL, "from 16MiB" },
        { "--gpus", "9", NULL, "1 to 8" },
        { "--gpus", "17", NULL, "\"17\"" },
        { "--gpus", "-1", NULL, "\"-1\"" },
        { "--gpus", "all", NULL, "\"all\"" },
        { "--gpus", "02", NULL, "\"02\"" },
        { "--disk", "1.0000000001KB", NULL, "write" },
        { "--shm-size", "4KB", NULL, "4KiB" },
        { "--workdir", "srv", NULL, "is not absolute" },
        { "--mount", "/data", NULL, "no target" },
        { "--mount", "/data:/data:rx", NULL, "ro" },
        { "--mount", "data:/data", NULL, "is not absolute" },
        { "--mount", "/a/../b:/data", NULL, "\"..\"" },
        { "--mount", "/a:/", NULL, "root" },
        { "--tag", "team", NULL, "NAME=VALUE" },
        { "-e", "HOME", NULL, "NAME=VALUE" },
        { "-e", "=x", NULL, "NAME=VALUE" },
        { "-e", "A=\xff", NULL, "UTF-8" },
        { "-e", "PORTAL_JOB_ID=x", NULL, "portald sets this variable itself" },
        { "--checkpoint", "magic", NULL, "values, command, criu or restart" },
        { "--checkpoint", "command", NULL, "how to save" },
        { "--set", "idle.aftr=1h", NULL, "idle.after" },
        { "--set", "idle.after", NULL, "KEY=VALUE" },
        { "--project", "a/b", NULL, "a-b" },
};

static void test_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct spec_field *f = spec_field_by_flag(rows[i].flag);
                js_owned *raw = json_object();
                struct pd_error e = { 0 };
                int r = f ? spec_set_flag(raw, f, rows[i].value, &e) : -1;
                pd_cleanup(freep) char *text = js_dump(raw);

                if (rows[i].want) {
                        (void)tap_ok(r == 0 && streq(text, rows[i].want), "%s %s gives %s", rows[i].flag, rows[i].value,
                                text);
                        continue;
                }
                (void)tap_ok(r < 0 && f && strstr(e.text, f->flag) && strstr(e.text, rows[i].has),
                        "%s \"%s\" is refused: %s", rows[i].flag,
                        (const char *)(strchr(rows[i].value, '\xff') ? "(not UTF-8)" : rows[i].value), e.text);
                (void)tap_ok(streq(text, "{}"), "... and nothing was added: %s", text);
        }
}

static int set(json_t *raw, const char *flag, const char *value)
{
        return spec_set_flag(raw, spec_field_by_flag(flag), value, NULL);
}

static void test_adding(void)
{
        js_owned *raw = json_object();
        pd_cleanup(freep) char *text = NULL;

        (void)tap_ok(set(raw, "-e", "A=1") == 0 && set(raw, "-e", "B=2") == 0 && set(raw, "-e", "A=3") == 0 &&
                             set(raw, "--mount", "/a:/b") == 0 && set(raw, "--mount", "/c:/d") == 0 &&
                             set(raw, "--cpus", "1") == 0 && set(raw, "--cpus", "2") == 0,
                "flags given again");
        text = js_dump(raw);
        (void)tap_str(text, "{\"cpus\":\"2\",\"env\":{\"A\":\"3\",\"B\":\"2\"},\"mounts\":[\"/a:/b\",\"/c:/d\"]}",
                "... add up in env and mounts; of one value the last counts");
}

static void test_over_file(void)
{
        js_owned *raw = json_pack(
                "{s:{s:s,s:[s]},s:s}", "checkpoint", "capture", "command", "save", "./save", "env", "not an object");
        struct pd_error e = { 0 };

        (void)tap_ok(set(raw, "--checkpoint", "command") == 0 && json_is_object(json_object_get(raw, "checkpoint")),
                "--checkpoint with the file's own capture keeps the file's commands");
        (void)tap_ok(set(raw, "--checkpoint", "restart") == 0 && json_is_string(json_object_get(raw, "checkpoint")),
                "--checkpoint with another replaces them");
        (void)tap_ok(spec_set_flag(raw, spec_field_by_flag("-e"), "A=1", &e) < 0,
                "-e on a file whose env is no object is refused");
        (void)tap_has(e.text, "--env cannot add to \"env\"", "... saying so");
        (void)tap_ok(spec_set_flag(raw, spec_field_find("command"), "true", &e) < 0, "the command has no flag");
        (void)tap_ok(spec_set_flag(raw, spec_field_find("user_ns"), "off", &e) == 0 &&
                             json_is_false(json_object_get(raw, "user_ns")),
                "a switch takes off");
        (void)tap_ok(spec_set_flag(raw, spec_field_find("user_ns"), "maybe", &e) < 0, "... and refuses maybe");
}

static const char *getter(void *arg, const char *name)
{
        return streq(name, arg) ? "from outside" : NULL;
}

static int env_file(const char *text, size_t n, bool with_getter, char **ret, struct pd_error *err)
{
        char name[] = "OUTER";
        js_owned *raw = json_object();
        int r = with_getter ? spec_env_file_from(raw, text, n, "job.env", getter, name, err)
                            : spec_env_file(raw, text, n, "job.env", err);

        *ret = js_dump(raw);
        return r;
}

static void test_env_file(void)
{
        static const char good[] = "# a comment\n\nA=1\nB=\"x y\" # kept\r\nC=a=b\nA=2\nD=$HOME";
        static const struct {
                const char *text;
                size_t n;
                const char *has;
        } bad[] = {
                { "A=1\nB\n", 6, "job.env:2: the line has no \"=\"" },
                { "=x", 2, "job.env:1:" },
                { "A=1\nB=\xc3\x28\n", 9, "job.env:2:: the value is not UTF-8" },
                { "A=1\n\nB=\0x\n", 11, "job.env:3: the line holds a NUL byte" },
                { "PORTAL_SOCKET=x\n", 16, "job.env.PORTAL_SOCKET" },
        };
        pd_cleanup(freep) char *text = NULL, *outer = NULL;
        struct pd_error e = { 0 };

        (void)tap_ok(env_file(good, sizeof good - 1, false, &text, &e) == 0, "an env file is read %s", e.text);
        (void)tap_str(text, "{\"env\":{\"A\":\"2\",\"B\":\"\\\"x y\\\" # kept\",\"C\":\"a=b\",\"D\":\"$HOME\"}}",
                "F-03 ... byte for byte, without expansion, the last one counts");
        (void)tap_ok(env_file("OUTER\nABSENT\n", 13, true, &outer, &e) == 0, "a name alone asks the caller's getter");
        (void)tap_str(
                outer, "{\"env\":{\"OUTER\":\"from outside\"}}", "... and is left out when that does not know it");
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                pd_cleanup(freep) char *none = NULL;

                (void)tap_ok(env_file(bad[i].text, bad[i].n, false, &none, &e) < 0 && streq(none, "{}"),
                        "a bad env file is refused");
                (void)tap_has(e.text, bad[i].has, "... with file and line");
        }
}

int main(void)
{
        test_rows();
        test_adding();
        test_over_file();
        test_env_file();
        return tap_done();
}
