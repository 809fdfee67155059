/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that loses, tears, is full or fails, under the daemon's store: what was acknowledged is there when it is back. */
#include "world/scene.h"

#include "simulate/disk.h"

#define ROUNDS 48 /* a commit of a submit is fewer writes */

struct round {
        enum disk_trouble what;
        uint64_t away, seed;
        bool lies, cut; /* cut: the power goes, too */
};
struct seen {
        bool struck, acknowledged, up, before_kept, kept, runs, stopped;
};

static bool submit(struct world *w, char id[40])
{
        struct reply r;

        world_ask(w, "submit", NULL,
                json_pack("{s:{s:s,s:[s]},s:{}}", "spec", "image", "oci:/srv/images/debian", "command", "train",
                        "settings"),
                NULL, &r);
        (void)str_format(id, 40, "%s", js_str(json_object_get(r.body, "job"), "id", ""));
        reply_clear(&r);
        return id[0] != '\0';
}

static bool known(struct world *w, const char *id)
{
        struct reply r;
        bool there;

        world_ask(w, "show", id, NULL, NULL, &r);
        there = r.done && r.err.code == PD_OK;
        reply_clear(&r);
        return there;
}

/* One job is there; the trouble strikes while a second one is submitted; the daemon dies, and starts again. */
static struct seen play(const struct round *x)
{
        struct world w;
        struct seen s = { 0 };
        char before[40], id[40];

        if (disk_install() < 0 ||
                world_new_with(&w, &(struct world_options){ .vfs = DISK_VFS, .seed = x->seed + 1 }) < 0)
                abort();
        world_submit(&w, "{}", before);
        world_run(&w, USEC_PER_MIN);
        disk_lie(x->lies);
        disk_arm(x->what, x->away);
        s.acknowledged = submit(&w, id);
        s.struck = disk_struck();
        s.stopped = w.dying;
        w.power_cut = x->cut;
        world_die(&w);
        disk_lie(false);
        s.up = world_restart(&w) == 0;
        if (s.up) {
                world_run(&w, 5 * USEC_PER_MIN);
                s.before_kept = known(&w, before);
                s.runs = streq(world_job(&w, before, "state"), "running");
                s.kept = s.acknowledged && known(&w, id);
        }
        world_free(&w);
        return s;
}

struct sums {
        int struck, acknowledged, lost, down, stopped, idle;
};

static struct sums rounds(enum disk_trouble what, bool cut, bool lies)
{
        struct sums n = { 0 };

        for (uint64_t i = 0; i < ROUNDS; i++) {
                struct seen s = play(&(struct round){ .what = what, .away = i, .seed = i, .lies = lies, .cut = cut });

                n.struck += s.struck;
                n.acknowledged += s.acknowledged;
                n.stopped += s.stopped;
                n.down += !s.up;
                n.lost += s.up && (!s.before_kept || (s.acknowledged && !s.kept));
                n.idle += s.up && !s.runs;
        }
        return n;
}

static void honest(enum disk_trouble what, bool cut, const char *name)
{
        struct sums n = rounds(what, cut, false);

        tap_ok(n.struck > 3 && n.acknowledged > 3, "%s: %d of %d struck, %d were acknowledged", name, n.struck, ROUNDS,
                n.acknowledged);
        tap_ok(n.down == 0, "%s: the store comes up: %d times not", name, n.down);
        tap_ok(n.lost == 0, "law 3 S-01 %s: what was acknowledged is there: %d times not", name, n.lost);
        tap_ok(n.idle == 0, "%s: the job that ran runs: %d times not", name, n.idle);
        if (what != DISK_CUT)
                tap_ok(n.stopped == n.struck,
                        "law 4 %s: a change that does not reach the disk stops the daemon: %d of %d", name, n.stopped,
                        n.struck);
}

static void lying(void)
{
        struct sums n = rounds(DISK_CUT, true, true);

        tap_ok(n.lost + n.down > 0, "a disk that answers syncs and does not do them is seen: %d lost, %d not up",
                n.lost, n.down);
}

static int asked(struct world *w, const char *verb, const char *id, char text[400])
{
        struct reply r;
        int code;

        world_ask(w, verb, id, json_pack("{}"), NULL, &r);
        code = (int)r.err.code;
        (void)str_format(text, 400, "%s", r.err.text);
        reply_clear(&r);
        return code;
}

/* The ballast lets what is under way finish; nothing new begins on it. */
static void refuses(void)
{
        char runs[40], rests[40], none[40], text[400];
        struct world w;

        if (disk_install() < 0 ||
                world_new_with(&w, &(struct world_options){ .vfs = DISK_VFS, .seed = 7, .ballast_bytes = 1 << 20 }) < 0)
                abort();
        world_submit(&w, "{}", runs);
        world_submit(&w, "{}", rests);
        world_run(&w, USEC_PER_MIN);
        tap_int(asked(&w, "suspend", rests, text), PD_OK, "a job is suspended");
        world_run(&w, USEC_PER_MIN);
        (void)str_format(text, sizeof text, "%s/ballast", w.dir);
        disk_arm_full(text, 1);
        tap_int(asked(&w, "suspend", runs, text), PD_OK, "law 4 the disk is full, and a save still begins");
        world_run(&w, USEC_PER_MIN);
        tap_ok(disk_struck(), "... it was");
        tap_str(world_job(&w, runs, "state"), "suspended", "... and is finished");
        tap_ok(!submit(&w, none), "no new job is taken then");
        tap_int(asked(&w, "resume", rests, text), PD_E_FULL, "... nor is one resumed");
        tap_has(text, "the disk under the state directory is full", "... which is said");
        tap_int(asked(&w, "move", runs, text), PD_E_FULL, "... nor moved");
        world_free(&w);
}

int main(void)
{
        honest(DISK_CUT, true, "power cut at each write");
        honest(DISK_FULL, false, "no room at each write");
        honest(DISK_ERROR, false, "an I/O error at each write");
        honest(DISK_ERROR, true, "an I/O error, then a power cut");
        lying();
        refuses();
        return tap_done();
}
