/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are one text with a grammar: names, images, paths, places. */
#include "spec/check.h"

#include <ctype.h>

#define PATH_LONGEST 4095
#define REF_LONGEST 512

static const char *text_of(
        struct check *c, const struct spec_field *f, const json_t *v, const char *want, const char *fix)
{
        const char *text = json_string_value(v);

        if (!text)
                check_fault_type(c, f->name, v, want, fix);
        return text;
}

static bool lower_or_digit(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_name(const char *text)
{
        size_t n = strlen(text);

        if (n == 0 || n > 64 || !lower_or_digit(text[0]) || !lower_or_digit(text[n - 1]))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!lower_or_digit(text[i]) && text[i] != '-')
                        return false;
        return true;
}

/* "My Job" -> "my-job": what a person would write next; "" when nothing is left. */
static const char *nearest_name(const char *text, char *buf, size_t size)
{
        size_t n = 0;

        for (; *text && n + 1 < size; text++) {
                char low = (char)tolower((unsigned char)*text);

                if (lower_or_digit(low))
                        buf[n++] = low;
                else if (n && buf[n - 1] != '-')
                        buf[n++] = '-';
        }
        while (n && buf[n - 1] == '-')
                n--;
        buf[n] = '\0';
        return buf;
}

void take_name(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        char shown[SHOWN_MAX], near[65], fix[160] = "write 1 to 64 of a-z, 0-9 and -, for example train-2";
        const char *text = text_of(c, f, v, "a name", fix);

        if (!text)
                return;
        if (is_name(text)) {
                check_keep(c, check_member(s, f, char *), text);
                return;
        }
        if (*nearest_name(text, near, sizeof near))
                (void)str_format(
                        fix, sizeof fix, "write 1 to 64 of a-z, 0-9 and -, neither end a dash, for example %s", near);
        check_fault(c, f->name, fix, "\"%s\" is not a name", check_shown(text, shown));
}

void take_offer(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        const char *text = text_of(c, f, v, "a text", "write CONNECTION[/ZONE[/TYPE[/spot]]], for example lab");
        struct spec_on on;
        struct pd_error e;

        if (!text)
                return;
        if (spec_on_parse(text, &on, &e) < 0)
                check_fault_error(c, f->name, &e);
        else
                check_keep(c, check_member(s, f, char *), text);
}

const char *path_fault(const char *path)
{
        if (path[0] != '/')
                return "is not absolute";
        if (strlen(path) > PATH_LONGEST)
                return "is longer than 4095 bytes";
        for (const char *s = path; *s; s++) {
                if ((unsigned char)*s < ' ' || *s == 0x7f)
                        return "holds a control character";
                if (str_starts(s, "/..") && (s[3] == '/' || s[3] == '\0'))
                        return "goes up by \"..\"";
        }
        return NULL;
}

void take_path(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        const char *fix = "write the whole path, for example /srv/work";
        const char *text = text_of(c, f, v, "a path", fix), *wrong;
        char shown[SHOWN_MAX];

        if (!text)
                return;
        wrong = path_fault(text);
        if (wrong)
                check_fault(c, f->name, fix, "\"%s\" %s", check_shown(text, shown), wrong);
        else
                check_keep(c, check_member(s, f, char *), text);
}

/* --- images --- */

/* DIR[:TAG]: a colon behind the last slash begins the tag. */
static const char *oci_fault(const char *rest)
{
        const char *slash = strrchr(rest, '/'), *colon = slash ? strchr(slash, ':') : NULL;
        const char *wrong = path_fault(rest);

        if (wrong || !colon)
                return wrong;
        if (colon[1] == '\0' || strlen(colon + 1) > 128)
                return "has no tag of 1 to 128 characters behind the colon";
        for (const char *s = colon + 1; *s; s++)
                if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
                        return "has a tag that is not of letters, digits, dots, dashes and underscores";
        return NULL;
}

static const char *ref_fault(const char *rest)
{
        if (!isalnum((unsigned char)rest[0]))
                return "names no image behind docker://";
        if (strlen(rest) > REF_LONGEST)
                return "is longer than 512 bytes";
        for (const char *s = rest; *s; s++)
                if (!isalnum((unsigned char)*s) && !strchr("._-/:@+", *s))
                        return "holds a character that no image reference has";
        return NULL;
}

static const struct {
        const char *prefix, *example;
        const char *(*fault)(const char *rest);
} image_kinds[] = {
        { "oci:", "oci:/srv/images/debian:latest", oci_fault },
        { "docker://", "docker://debian:12", ref_fault },
        { "dir:", "dir:/srv/roots/debian", path_fault },
};

static void refuse_image(struct check *c, const struct spec_field *f, const char *text)
{
        char shown[SHOWN_MAX], fix[192];

        (void)check_shown(text, shown);
        if (text[0] == '/')
                (void)str_format(fix, sizeof fix, "write oci:%s for an OCI layout, or dir:%s for a root directory",
                        shown, shown);
        else if (ref_fault(text) || strchr(text, ':') != strrchr(text, ':'))
                (void)str_format(fix, sizeof fix, "write oci:DIR[:TAG], docker://REF or dir:PATH, for example %s",
                        image_kinds[0].example);
        else
                (void)str_format(fix, sizeof fix, "write docker://%s to pull it, or oci:DIR[:TAG] or dir:PATH", shown);
        check_fault(c, f->name, fix, "\"%s\" does not say what kind of image it is", shown);
}

void take_image(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        const char *text = text_of(c, f, v, "a text", "write oci:DIR[:TAG], docker://REF or dir:PATH"), *wrong;
        char shown[SHOWN_MAX], fix[96];

        if (!text)
                return;
        for (size_t i = 0; i < ARRAY_LEN(image_kinds); i++) {
                if (!str_starts(text, image_kinds[i].prefix))
                        continue;
                wrong = image_kinds[i].fault(text + strlen(image_kinds[i].prefix));
                if (!wrong) {
                        check_keep(c, check_member(s, f, char *), text);
                        return;
                }
                (void)str_format(fix, sizeof fix, "write for example %s", image_kinds[i].example);
                check_fault(c, f->name, fix, "\"%s\" %s", check_shown(text, shown), wrong);
                return;
        }
        refuse_image(c, f, text);
}
