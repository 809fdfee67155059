/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may ask for: one row a field. A new field is a row here, a member of struct spec, and nothing else unless its type is new. */
#include "spec/spec.h"

#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)
#define MEMBER(member_) .offset = offsetof(struct spec, member_)

const struct spec_field spec_fields[] = {
        { .name = "name",
                .type = SPEC_NAME,
                .flag = "--name",
                .metavar = "NAME",
                MEMBER(name),
                .help = "What to call the job; one is made up where none is given." },
        { .name = "project",
                .type = SPEC_NAME,
                .flag = "--project",
                .metavar = "NAME",
                MEMBER(project),
                .help = "What it is accounted to; the submitting user where none is given." },
        { .name = "image",
                .type = SPEC_IMAGE,
                .flag = "--image",
                .metavar = "IMAGE",
                MEMBER(image),
                .help = "The container's files: oci:DIR[:TAG], docker://REF, or dir:PATH." },
        { .name = "command",
                .type = SPEC_ARGV,
                .metavar = "CMD...",
                MEMBER(command),
                .help = "The program and its arguments; replaces the image's entry point. Always needed." },
        { .name = "on",
                .type = SPEC_OFFER,
                .flag = "--on",
                .metavar = "OFFER",
                MEMBER(on),
                .help = "Where it may run: CONNECTION[/ZONE[/TYPE[/spot]]]. All three parts pin it to one offer." },
        { .name = "workdir",
                .type = SPEC_PATH,
                .flag = "--workdir",
                .metavar = "DIR",
                MEMBER(workdir),
                .help = "The directory in the container in which the command starts; the image's own where none is "
                        "given." },
        { .name = "cpus",
                .type = SPEC_CPU,
                .flag = "--cpus",
                .metavar = "CORES",
                .fallback = "1",
                MEMBER(cpu_milli),
                .min = 10,
                .max = INT64_C(1024) * 1000,
                .help = "CPU cores: 2, 0.5 or 500m." },
        { .name = "memory",
                .type = SPEC_SIZE,
                .flag = "--memory",
                .metavar = "SIZE",
                .fallback = "1GiB",
                MEMBER(memory_bytes),
                .min = 16 * MIB,
                .max = 64 * TIB,
                .help = "Memory, with everything that the job maps or caches." },
        { .name = "gpus",
                .type = SPEC_INT,
                .flag = "--gpus",
                .metavar = "N",
                .fallback = "0",
                MEMBER(gpus),
                .min = 0,
                .max = 16,
                .help = "GPUs: 1 to 8 on one machine, or 16 on two." },
        { .name = "disk",
                .type = SPEC_SIZE,
                .flag = "--disk",
                .metavar = "SIZE",
                MEMBER(disk_bytes),
                .min = 16 * MIB,
                .max = 1024 * TIB,
                .help = "Room for what it writes; as much as there is where none is given." },
        { .name = "shm_size",
                .type = SPEC_SIZE,
                .flag = "--shm-size",
                .metavar = "SIZE",
                .fallback = "64MiB",
                MEMBER(shm_bytes),
                .min = 4096,
                .max = 64 * TIB,
                .help = "The size of /dev/shm; what lies there counts as memory." },
        { .name = "user_ns",
                .type = SPEC_BOOL,
                .fallback = "true",
                MEMBER(user_ns),
                .help = "A user namespace, so that root in the container is nobody outside." },
        { .name = "mounts",
                .type = SPEC_MOUNTS,
                .flag = "--mount",
                .metavar = "SOURCE:TARGET[:ro]",
                MEMBER(mounts),
                .help = "Directories of the machine in the container. They never travel with a checkpoint." },
        { .name = "env",
                .type = SPEC_ENV,
                .flag = "--env",
                .letter = 'e',
                .metavar = "NAME=VALUE",
                MEMBER(env),
                .help = "Environment variables, kept byte for byte. Not for secrets." },
        { .name = "tags",
                .type = SPEC_TAGS,
                .flag = "--tag",
                .metavar = "NAME=VALUE",
                MEMBER(tags),
                .help = "Notes of your own, free form, kept byte for byte." },
        { .name = "checkpoint",
                .type = SPEC_CHECKPOINT,
                .flag = "--checkpoint",
                .metavar = "CAPTURE",
                MEMBER(capture),
                .choices = "values|command|criu|restart",
                .help = "How its state is saved: by named values, by its own commands or a signal, whole and without "
                        "its help (criu), or not at all (restart)." },
        { .name = "settings",
                .type = SPEC_SETTINGS,
                .flag = "--set",
                .metavar = "KEY=VALUE",
                MEMBER(settings),
                .help = "Policy settings for this job; see the table of settings." },
};
const size_t spec_fields_n = ARRAY_LEN(spec_fields);

const struct spec_field *spec_field_find(const char *name)
{
        for (size_t i = 0; i < spec_fields_n; i++)
                if (streq(spec_fields[i].name, name))
                        return &spec_fields[i];
        return NULL;
}

const struct spec_field *spec_field_by_flag(const char *flag)
{
        for (size_t i = 0; i < spec_fields_n; i++) {
                const struct spec_field *f = &spec_fields[i];

                if (f->flag && streq(f->flag, flag))
                        return f;
                if (f->letter && flag[0] == '-' && flag[1] == f->letter && flag[2] == '\0')
                        return f;
        }
        return NULL;
}

const char *spec_field_nearest(const char *name)
{
        const char *names[ARRAY_LEN(spec_fields) + 1] = { NULL };

        for (size_t i = 0; i < spec_fields_n; i++)
                names[i] = spec_fields[i].name;
        return str_nearest(name, names);
}
