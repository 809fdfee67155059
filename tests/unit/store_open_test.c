/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: whose directory it is, upgrades with a backup before, old and newer files, damaged files. */
#include <fcntl.h>
#include <sys/wait.h>

#include "store/schema.h"
#include "store_lib.h"

static char *in_dir(const struct place *p, const char *name)
{
        static char path[2][PATH_MAX];
        static int which;

        which = !which;
        (void)snprintf(path[which], sizeof path[which], "%s/%s", p->dir, name);
        return path[which];
}

static void copy_file(const char *from, const char *to)
{
        static char buf[1 << 20];
        FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
        size_t n = in ? fread(buf, 1, sizeof buf, in) : 0;

        if (!in || !out || n == 0 || n == sizeof buf || fwrite(buf, 1, n, out) != n)
                abort();
        (void)fclose(in), (void)fclose(out);
}

static void test_installation(void)
{
        struct place p;
        char id[ID_TEXT_MAX];
        struct id parsed;
        struct stat st;

        place_make(&p);
        (void)chmod(p.dir, 0755);
        tap_int(place_open(&p, NULL, false), -PD_E_REFUSED, "an empty directory is refused");
        tap_has(p.err.text, "--new-installation", "with what to do");
        tap_ok(access(in_dir(&p, "portald.db"), F_OK) < 0, "and nothing is made in it");
        tap_int(place_open(&p, "ins_bad", true), -PD_E_INVALID, "a bad id file is refused");
        tap_int(place_open(&p, NULL, true), 0, "a new installation is opened (also after a refusal half way)");
        tap_ok(id_parse(ID_INSTALLATION, store_installation(p.store), &parsed), "it has an id");
        (void)snprintf(id, sizeof id, "%s", store_installation(p.store));
        tap_ok(stat(p.dir, &st) == 0 && (st.st_mode & 07777) == 0700, "its directory is closed to others");
        {
                struct store *second = NULL;

                tap_int(store_open(
                                &second, p.loop, &(struct store_options){ .dir = p.dir, .installation = id }, &p.err),
                        -PD_E_BUSY, "a second daemon cannot open it");
                tap_has(p.err.text, "stop it first", "and is told why");
        }
        p.store = store_close(p.store);
        tap_int(place_open(&p, NULL, false), -PD_E_REFUSED, "without the id file it is refused");
        tap_has(p.err.text, id, "and the sentence has the id to write");
        tap_int(place_open(&p, "ins_01abcdefghjkmnpqrstvwxyz01", false), -PD_E_REFUSED,
                "with a foreign id it is refused");
        tap_has(p.err.text, "ins_01abcdefghjkmnpqrstvwxyz01", "and the sentence has both");
        tap_int(place_open(&p, "ins_01abcdefghjkmnpqrstvwxyz01", true), -PD_E_REFUSED,
                "also when a new installation is asked for");
        tap_int(place_open(&p, NULL, true), 0, "a first start that was cut off before the id file is taken up");
        tap_str(store_installation(p.store), id, "under the same id");
        p.store = store_close(p.store);
        tap_int(place_open(&p, id, false), 0, "its own id opens it");
        place_end(&p);
}

static void test_directory(void)
{
        struct place p;
        char dir[64];
        FILE *f;

        place_make(&p);
        (void)chmod(p.dir, 01777);
        tap_int(place_open(&p, NULL, true), -PD_E_PERM, "a shared directory is refused");
        (void)chmod(p.dir, 0700);
        f = fopen(in_dir(&p, "portald.db.before-v2"), "w");
        (void)fclose(f);
        tap_int(place_open(&p, NULL, true), -PD_E_CORRUPT,
                "a directory with backups and no database is refused even as new");
        tap_has(p.err.text, "copy the newest", "with what to do");
        (void)unlink(in_dir(&p, "portald.db.before-v2"));
        f = fopen(in_dir(&p, "portald.db"), "w");
        (void)fclose(f);
        tap_int(place_open(&p, NULL, false), -PD_E_REFUSED, "an empty file is as good as none");
        (void)snprintf(dir, sizeof dir, "%s", p.dir);
        place_clear(p.dir);
        (void)rmdir(p.dir);
        tap_int(place_open(&p, NULL, true), 0, "an absent directory is made");
        place_end(&p);
}

static void test_ballast(void)
{
        struct place p;
        struct stat st;
        char id[ID_TEXT_MAX];

        place_make(&p);
        tap_int(store_open(&p.store, p.loop,
                        &(struct store_options){ .dir = p.dir, .new_installation = true, .ballast_bytes = 300000 },
                        &p.err),
                0, "a store with a ballast");
        tap_ok(stat(in_dir(&p, "ballast"), &st) == 0 && st.st_size == 300000 && st.st_blocks * 512 >= 300000,
                "holds its room for real");
        tap_ok(!store_is_low(p.store), "and is not low");
        (void)snprintf(id, sizeof id, "%s", store_installation(p.store));
        p.store = store_close(p.store);
        tap_int(store_open(&p.store, p.loop,
                        &(struct store_options){ .dir = p.dir, .installation = id, .ballast_bytes = 100000 }, &p.err),
                0, "opened with a smaller one");
        tap_ok(stat(in_dir(&p, "ballast"), &st) == 0 && st.st_size == 100000, "it is cut");
        place_end(&p);
}

static void test_upgrade(void)
{
        static const struct schema_step newer[] = {
                { 3, "SELECT 1" },
                { 4, "ALTER TABLE job ADD COLUMN extra TEXT NOT NULL DEFAULT 'x'" },
                { 5, "CREATE TABLE third(a INTEGER) STRICT" },
        };
        static const struct schema_step broken[] = {
                { 3, "SELECT 1" },
                { 4, "CREATE TABLE half(a INTEGER); CREATE TABLE job(a INTEGER)" },
        };
        struct place p;
        struct job j = job_of(1);
        struct txn *t = txn_new();
        sqlite3 *db = NULL;
        char id[ID_TEXT_MAX];

        place_begin(&p);
        txn_submit(t, &j);
        (void)place_apply(&p, t);
        (void)snprintf(id, sizeof id, "%s", store_installation(p.store));
        p.store = store_close(p.store);

        (void)sqlite3_open(in_dir(&p, "portald.db"), &db);
        tap_ok(schema_upgrade(db, in_dir(&p, "portald.db"), broken, ARRAY_LEN(broken), &p.err) < 0,
                "a step that fails is an error: %s", p.err.text);
        tap_int(place_count(&p, "SELECT count(*) FROM sqlite_schema WHERE name='half'"), 0,
                "and leaves nothing of itself");
        tap_int(place_count(&p, "PRAGMA user_version"), 3, "the version is the old one");
        tap_int(schema_upgrade(db, in_dir(&p, "portald.db"), newer, ARRAY_LEN(newer), &p.err), 0,
                "an upgrade of two steps");
        sqlite3_close(db);
        tap_int(place_count(&p, "PRAGMA user_version"), 5, "takes it to the last version");
        tap_int(place_count(&p, "SELECT count(*) FROM job WHERE extra='x'"), 1, "with its rows");

        tap_int(place_open(&p, id, false), -PD_E_UNSUPPORTED, "a newer store is refused");
        tap_has(p.err.text, "schema 5", "by its version");
        tap_has(p.err.text, "before-v4", "with the backup to go back to");
        tap_int(place_count(&p, "PRAGMA user_version"), 5, "and is left as it was");

        (void)rename(in_dir(&p, "portald.db.before-v4"), in_dir(&p, "portald.db"));
        tap_int(place_count(&p, "PRAGMA user_version"), 3, "the backup is of the old version");
        tap_int(place_open(&p, id, false), 0, "and opens again");
        tap_int(store_get_job(p.store, j.id, &j, &p.err), 0, "with its job");
        place_end(&p);
}

static int count_any(void *arg)
{
        ++*(int *)arg;
        return 0;
}
static int each_job(void *arg, const struct job *j)
{
        (void)j;
        return count_any(arg);
}
static int each_machine(void *arg, const struct machine *m)
{
        (void)m;
        return count_any(arg);
}
static int each_intent(void *arg, const struct intent *i)
{
        (void)i;
        return count_any(arg);
}
static int each_doc(void *arg, const struct job *j, const json_t *d)
{
        (void)j, (void)d;
        return count_any(arg);
}
static int each_checkpoint(void *arg, const struct checkpoint *c)
{
        (void)c;
        return count_any(arg);
}

/* Everything that can be read; a job's lists by its id. Returns the first fault. */
static int read_all(struct store *s, struct id job, int *ret_n, struct pd_error *err)
{
        json_t *history = NULL, *decisions = NULL, *settings = NULL;
        struct id found;
        int r = store_load(s, each_job, each_machine, each_intent, ret_n, err), all = r;

        r = store_scan_jobs(s, &(struct store_filter){ .limit = 1000, .ended_too = true }, each_doc, ret_n, err);
        all = all < 0 ? all : r;
        r = store_history(s, job, &history, err);
        all = all < 0 ? all : r;
        *ret_n += r < 0 ? 0 : (int)json_array_size(history);
        r = store_decisions(s, job, INT64_MAX, &decisions, err);
        all = all < 0 ? all : r;
        *ret_n += r < 0 ? 0 : (int)json_array_size(decisions);
        r = store_checkpoints(s, job, each_checkpoint, ret_n, err);
        all = all < 0 ? all : r;
        r = store_settings(s, "", &settings, err);
        all = all < 0 ? all : r;
        *ret_n += r < 0 ? 0 : (int)json_object_size(settings);
        (void)store_find_job(s, 1000, true, "train", &found, err);
        (void)store_find_key(s, 1000, "k1", NULL, &found, err);
        json_decref(history), json_decref(decisions), json_decref(settings);
        return all;
}

/* tests/abi/golden/store-1.db must open for ever. */
static void test_golden(void)
{
        struct place p;
        struct job j;
        struct id id;
        json_t *doc = NULL;
        int n = 0;

        place_make(&p);
        copy_file(TEST_SOURCE_DIR "/tests/abi/golden/store-1.db", in_dir(&p, "portald.db"));
        tap_int(place_open(&p, "ins_01jdvqgq9g0000000000000000", false), 0, "the golden store of version 1 opens");
        tap_int(store_find_job(p.store, 1000, false, "golden", &id, &p.err), 0, "its job is found by name");
        tap_int(read_all(p.store, id, &n, &p.err), 0, "all of it is read");
        tap_int(n, 10, "every row of it");
        (void)store_get_job(p.store, id, &j, &p.err);
        tap_ok(j.state == JOB_SUSPENDED && j.cause == CAUSE_NOTICE && j.generation == 1 && j.ran_us == 12345 &&
                        j.ttl_us == 72 * USEC_PER_HOUR && !id_is_null(j.checkpoint),
                "the job is as it was written");
        tap_ok(id_is_null(j.other) && j.move == MOVE_NONE && j.moved_wall_us == 0 && j.state_bytes == 0,
                "what version 2 brought is empty in it");
        tap_int(place_count(&p, "PRAGMA user_version"), 3, "the file is of version 3 now");
        tap_int(place_count(&p, "SELECT count(*) FROM price"), 0, "with no prices of the past");
        tap_ok(access(in_dir(&p, "portald.db.before-v2"), F_OK) == 0, "and a copy of the old one lies beside it");
        (void)store_get_doc(p.store, id, &doc, &p.err);
        tap_str(json_string_value(json_object_get(doc, "message")), "saved before the machine goes",
                "and so is its doc");
        json_decref(doc);
        place_end(&p);
}

static uint64_t rng_state;
static uint32_t rng(void)
{
        rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(rng_state >> 33);
}

static void damage(const char *path)
{
        static uint8_t bytes[1 << 20];
        int fd = open(path, O_RDWR);
        ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
        uint32_t how = rng() % 4, at, len;

        if (n <= 0)
                abort();
        at = rng() % (uint32_t)n;
        len = 1 + rng() % (how == 1 ? 4096 : 8);
        for (uint32_t i = at; i < at + len && i < (uint32_t)n; i++)
                bytes[i] = how == 2 ? 0 : (uint8_t)rng();
        if (how == 3 && ftruncate(fd, at) < 0)
                abort();
        if (how != 3 && pwrite(fd, bytes, (size_t)n, 0) != n)
                abort();
        (void)close(fd);
}

/* In a process of its own: a crash is seen as a signal. 0 = opened and read, 1 = refused or found out, 2 = refused without a sentence. */
static int read_damaged(struct place *p)
{
        struct id job;
        pid_t pid = fork();
        int status = 0, n = 0;

        if (pid == 0) {
                int r;

                (void)alarm(60);
                sd_event_unref(p->loop); /* the parent's: a loop does not cross a fork */
                if (sd_event_new(&p->loop) < 0)
                        _exit(3);
                p->err = (struct pd_error){ 0 };
                r = place_open(p, "ins_01jdvqgq9g0000000000000000", false);
                if (r >= 0) {
                        (void)id_parse(ID_JOB, "job_01jdvqgq9g0000000000000001", &job);
                        r = read_all(p->store, job, &n, &p->err);
                        p->store = store_close(p->store);
                }
                _exit(r >= 0 ? 0 : p->err.text[0] && p->err.code ? 1 : 2);
        }
        (void)waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void test_damage(void)
{
        int read_on = 0, found_out = 0, bad = 0, n = 0;
        struct place p;

        place_make(&p);
        rng_state = 2;
        for (int i = 0; i < 100; i++) {
                int r;

                place_clear(p.dir);
                copy_file(TEST_SOURCE_DIR "/tests/abi/golden/store-1.db", in_dir(&p, "portald.db"));
                damage(in_dir(&p, "portald.db"));
                r = read_damaged(&p);
                read_on += r == 0, found_out += r == 1, bad += r > 1;
                if (r > 1)
                        tap_note("damage %d: %d", i, r);
        }
        tap_note("of 100 damaged files %d were refused or found out, %d read on (the bytes were in no row)", found_out,
                read_on);
        tap_ok(bad == 0 && found_out > 0, "100 damaged stores: no crash, no hang, a sentence for each refusal");
        place_clear(p.dir);
        copy_file(TEST_SOURCE_DIR "/tests/unit/store_open_test.c", in_dir(&p, "portald.db"));
        n = place_open(&p, NULL, true);
        tap_int(n, -PD_E_CORRUPT, "a file that is no database is refused");
        tap_has(p.err.text, "backup", "with what to do");
        place_end(&p);
}

int main(void)
{
        test_installation();
        test_directory();
        test_ballast();
        test_upgrade();
        test_golden();
        test_damage();
        return tap_done();
}
