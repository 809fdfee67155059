/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/life.h"

#include "tap.h"

static bool reach(bool seen[JOB_STATE_N + 1], bool backwards)
{
        bool grew = false;

        for (size_t i = 0; i < life_edges_n; i++) {
                enum job_state from = backwards ? life_edges[i].to : life_edges[i].from;
                enum job_state to = backwards ? life_edges[i].from : life_edges[i].to;

                if (seen[from] && !seen[to])
                        grew = seen[to] = true;
        }
        return grew;
}

static void test_reachable(void)
{
        bool from_new[JOB_STATE_N + 1] = { [JOB_STATE_N] = true }, to_end[JOB_STATE_N + 1] = { [JOB_ENDED] = true };
        char name[96];

        while (reach(from_new, false))
                ;
        while (reach(to_end, true))
                ;
        for (unsigned int s = 0; s < JOB_STATE_N; s++) {
                (void)snprintf(name, sizeof name, "a new job can become %s", job_state_name(s));
                (void)tap_ok(from_new[s], "%s", name);
                (void)snprintf(name, sizeof name, "a job that is %s can end", job_state_name(s));
                (void)tap_ok(to_end[s], "%s", name);
        }
}

static void test_edges(void)
{
        for (size_t i = 0; i < life_edges_n; i++) {
                const struct life_edge *e = &life_edges[i];
                bool ends = e->to == JOB_ENDED, clean = true;

                for (size_t k = 0; k < i; k++)
                        clean &= life_edges[k].from != e->from || life_edges[k].event != e->event ||
                                 life_edges[k].to != e->to || life_edges[k].result != e->result;
                (void)tap_ok(clean, "law 20: %s --%s--> %s %s stands once",
                        e->from == JOB_STATE_N ? "(new)" : job_state_name(e->from), job_event_name(e->event),
                        job_state_name(e->to), job_result_name(e->result));
                (void)tap_ok(
                        ends == (e->result != RESULT_NONE), "... and has a result exactly because it ends the job");
                (void)tap_ok(e->causes < BIT(CAUSE_N) && (!ends || e->causes != 0),
                        "... and each end has a cause that exists");
        }
}

/* life_find() agrees with the table for every combination there is. */
static void test_find(void)
{
        long long found = 0, want = 0, wrong = 0;
        struct pd_error e;

        for (unsigned int from = 0; from <= JOB_STATE_N; from++)
                for (unsigned int event = 0; event < EVENT_N; event++)
                        for (unsigned int to = 0; to < JOB_STATE_N; to++)
                                for (unsigned int result = 0; result < RESULT_N; result++)
                                        for (unsigned int cause = 0; cause < CAUSE_N; cause++) {
                                                const struct life_edge *x =
                                                        life_find(from, event, to, result, cause, &e);

                                                found += x != NULL;
                                                wrong += !x && !strstr(e.text, "no edge");
                                        }
        for (size_t i = 0; i < life_edges_n; i++)
                want += life_edges[i].causes ? __builtin_popcount(life_edges[i].causes) : 1;
        (void)tap_int(found, want, "life_find() allows what the table says, and nothing else");
        (void)tap_int(wrong, 0, "each refusal is a sentence");
}

static void test_names(void)
{
        enum job_state s;
        enum job_result r;
        enum job_cause c;
        bool good = true;

        for (unsigned int i = 0; i < JOB_STATE_N; i++)
                good &= job_state_parse(job_state_name(i), &s) && s == i;
        (void)tap_ok(good, "each state's name is read back");
        good = true;
        for (unsigned int i = 0; i < RESULT_N; i++)
                good &= job_result_parse(job_result_name(i), &r) && r == i;
        (void)tap_ok(good, "each result's name is read back");
        good = true;
        for (unsigned int i = 0; i < CAUSE_N; i++)
                good &= job_cause_parse(job_cause_name(i), &c) && c == i && (i == 0 || *job_cause_text(i));
        (void)tap_ok(good, "each cause's name is read back, and has a text");
        (void)tap_ok(!job_state_parse("Queued", &s) && !job_result_parse("won", &r) && !job_cause_parse("bored", &c),
                "an unknown name is none of them");
        (void)tap_str(job_state_name(JOB_STATE_N), "?", "a number out of range is no state");
        (void)tap_str(job_event_name(EVENT_N), "?", "... and no event");
}

/* What the rules of the house forbid stands in no row. */
static void test_laws(void)
{
        bool resumed_by_request = true, ended_stays = true, refused_runs = true;

        for (size_t i = 0; i < life_edges_n; i++) {
                const struct life_edge *e = &life_edges[i];

                if (e->from == JOB_SUSPENDED && e->to != JOB_ENDED)
                        resumed_by_request &= e->event == EVENT_RESUME;
                if (e->from == JOB_ENDED)
                        ended_stays &= e->event == EVENT_RESUME;
                if (e->event == EVENT_REFUSED || e->event == EVENT_KEPT)
                        refused_runs &= e->to == JOB_RUNNING;
        }
        (void)tap_ok(resumed_by_request, "N-01 law 5: a suspended job goes on only by a resume");
        (void)tap_ok(ended_stays, "an ended job leaves its end only by a resume");
        (void)tap_ok(refused_runs, "P-21 law 10: a refused save leaves the job running");
        (void)tap_ok(life_find(JOB_SUSPENDED, EVENT_TTL, JOB_ENDED, RESULT_STOPPED, CAUSE_TTL, NULL) != NULL,
                "P-02: the clock limit ends a suspended job as stopped, cause ttl");
        (void)tap_ok(life_find(JOB_SUSPENDED, EVENT_EXPIRE, JOB_ENDED, RESULT_FAILED, CAUSE_EXPIRED, NULL) != NULL,
                "P-03: its checkpoint's end fails it, cause expired");
        (void)tap_ok(life_find(JOB_RUNNING, EVENT_SAVED, JOB_SUSPENDED, RESULT_NONE, CAUSE_TTL, NULL) == NULL,
                "P-01: ttl never suspends");
}

int main(void)
{
        test_reachable();
        test_edges();
        test_find();
        test_names();
        test_laws();
        return tap_done();
}
