/* SPDX-License-Identifier: Apache-2.0 */
#include "precheck.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that has no name in any file system can be shared only by those who have it mapped. */
static bool nameless(const struct parse_map *m)
{
        size_t n = strcspn(m->name, "\n");

        return m->shared && m->inode && n > 10 && strncmp(m->name + n - 10, " (deleted)", 10) == 0;
}

static bool maps_it(int32_t pid, const struct parse_map *what)
{
        char *text = proc_text("/proc/%d/maps", pid);
        struct parse_map m;
        bool found = false;

        for (const char *at = text; at && *at && !found;) {
                found = parse_map(at, &m) && nameless(&m) && m.inode == what->inode && m.major == what->major &&
                        m.minor == what->minor;
                at = parse_next(at);
        }
        free(text);
        return found;
}

static int32_t outsider(const struct look *l, const struct parse_map *what)
{
        DIR *all = opendir("/proc");
        int32_t found = 0;

        for (struct dirent *p; all && !found && (p = readdir(all));) {
                int32_t pid = (int32_t)strtol(p->d_name, NULL, 10);

                if (pid > 0 && !proc_pids_has(&l->pids, pid) && maps_it(pid, what))
                        found = pid;
        }
        if (all)
                (void)closedir(all);
        return found;
}

static int look_map(struct look *l, const struct parse_map *m)
{
        int n = (int)strcspn(m->name, "\n");
        int32_t other;

        if (strncmp(m->name, "/dev/nvidia", 11) == 0 || strncmp(m->name, "/dev/dri/", 9) == 0)
                return look_value(l, -1, "GPU",
                        "memory of a GPU is mapped, which is not in a checkpoint of the process",
                        "use checkpoint values or command for jobs on a GPU", "%.*s", n, m->name);
        if (!nameless(m))
                return 0;
        other = outsider(l, m);
        return other ? look_value(l, -1, "outside shared memory",
                               "a process that does not travel with the job shares it",
                               "unmap it before the save, or share through a file of a mount",
                               "%.*s shared with pid %d", n, m->name, other)
                     : 0;
}

int look_maps(struct look *l)
{
        char *text = proc_text("/proc/%d/maps", l->pid);
        uint64_t last = 0; /* one object is mapped in many pieces */
        struct parse_map m;
        int r = 0;

        for (const char *at = text; r == 0 && at && *at;) {
                if (parse_map(at, &m) && (!m.inode || m.inode != last)) {
                        last = m.inode;
                        r = look_map(l, &m);
                }
                at = parse_next(at);
        }
        free(text);
        return r;
}

/* ---- locks ---- */

static bool same(const struct parse_lock *a, const struct parse_lock *b)
{
        return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

static int look_lock(struct look *l, const char *all, const struct parse_lock *own)
{
        struct parse_lock other;

        for (const char *at = all; at && *at;) {
                if (parse_lock(at, &other) && same(own, &other) && other.pid > 0 &&
                        !proc_pids_has(&l->pids, other.pid)) {
                        l->pid = own->pid;
                        return look_value(l, -1, "file lock",
                                "a process outside of the job holds or waits for the same lock",
                                "release it before the save", "lock %s on inode %llu of %x:%x shared with pid %d",
                                own->kind, (unsigned long long)own->inode, own->major, own->minor, other.pid);
                }
                at = parse_next(at);
        }
        return 0;
}

int look_locks(struct look *l)
{
        char *all = proc_text("/proc/locks");
        struct parse_lock own;
        int r = 0;

        for (const char *at = all; r == 0 && at && *at;) {
                if (parse_lock(at, &own) && own.pid > 0 && proc_pids_has(&l->pids, own.pid))
                        r = look_lock(l, all, &own);
                at = parse_next(at);
        }
        free(all);
        return r;
}
