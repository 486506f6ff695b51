/* SPDX-License-Identifier: BSD-2-Clause */
#include "queue/history/chain.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "queue/history/chain_check.h"
#include "queue/jobs/job.h"

#define N 6

/* An archive of jobs 10, 20, ... in this order. */
static struct chain_link head;
static char *texts[N];
static struct chain_entry entries[N + 2];
static size_t n_entries;

static char *job_text(uint64_t id)
{
	return xprintf("{\"id\": %ju, \"ops\": [{\"input\": {\"OP_ID\": "
		       "\"OP_TEST_DELAY\", \"livelock\": \"archive-chain 1 - "
		       "-\"}, \"status\": \"success\", \"result\": \", "
		       "\\\"livelock\\\": \\\"archive-chain 1 - -\", \"log\": "
		       "[]}]}",
		       (uintmax_t)id);
}

static void setup(void)
{
	mem_init();
	head = (struct chain_link){0};
	for (uint64_t i = 0; i < N; i++)
		texts[i] =
			chain_seal(&head, 10 * (i + 1), job_text(10 * (i + 1)));
}

static void teardown(void)
{
	for (size_t i = 0; i < N; i++)
		free(texts[i]);
}

TestSuite(chain, .init = setup, .fini = teardown);

static void add(uint64_t id, const char *text)
{
	struct chain_entry *e = &entries[n_entries++];

	*e = (struct chain_entry){.id = id};
	chain_hash(text, strlen(text), e->sha256);
	chain_read(text, strlen(text), &e->number, &e->previous);
}

static void add_all(void)
{
	n_entries = 0;
	for (size_t i = 0; i < N; i++)
		if (texts[i] != NULL)
			add(10 * (i + 1), texts[i]);
}

static struct chain_verdict check_entries(void)
{
	struct chain_verdict v;

	chain_check(&head, head.number, entries, n_entries, &v);
	return v;
}

static void expect(int kind, uint64_t id, uint64_t witness)
{
	struct chain_verdict v;

	add_all();
	v = check_entries();
	cr_assert_eq((int)v.kind, kind, "kind %d, job %ju", (int)v.kind,
		     (uintmax_t)v.id);
	cr_assert_eq(v.id, id, "job %ju", (uintmax_t)v.id);
	cr_assert_eq(v.witness, witness, "witness %ju", (uintmax_t)v.witness);
}

static void replace(size_t i, const char *what, const char *by)
{
	char *at = strstr(texts[i], what);

	cr_assert_not_null(at);
	cr_assert_eq(strlen(what), strlen(by));
	memcpy(at, by, strlen(by));
}

static void take_away(size_t i)
{
	free(steal(&texts[i]));
}

/* Remove the member from the file of entry i. */
static void unlink_entry(size_t i)
{
	strcpy(strrchr(texts[i], ','), "}");
}

Test(chain, an_entry_is_still_a_job_file)
{
	struct error err;
	struct job *j = job_from_text(texts[1], strlen(texts[1]), &err);

	cr_assert_not_null(j, "%s", err.text);
	cr_assert_eq(j->id, 20);
	job_free(j);
}

Test(chain, each_entry_names_the_one_before)
{
	struct chain_link previous;
	uint64_t number;
	char hash[CHAIN_HEX];

	cr_assert(chain_read(texts[0], strlen(texts[0]), &number, &previous));
	cr_assert_eq(number, 1);
	cr_assert_eq(previous.id, 0);
	cr_assert(chain_read(texts[3], strlen(texts[3]), &number, &previous));
	chain_hash(texts[2], strlen(texts[2]), hash);
	cr_assert_eq(number, 4);
	cr_assert_eq(previous.id, 30);
	cr_assert_str_eq(previous.sha256, hash);
}

/* What a job's own texts contain is no place in the chain. */
Test(chain, a_job_without_place_has_none)
{
	auto_free char *text = job_text(5);
	struct chain_link previous;
	uint64_t number;

	cr_assert_not(chain_read(text, strlen(text), &number, &previous));
	cr_assert_eq(number, 0);
	cr_assert_not(chain_read("", 0, &number, &previous));
	cr_assert_not(chain_read("}", 1, &number, &previous));
}

Test(chain, the_head_survives_its_file)
{
	auto_free char *text = chain_head_text(&head);
	auto_free char *none = chain_head_text(&(struct chain_link){0});
	struct chain_link back;

	cr_assert(chain_head_read(text, strlen(text), &back));
	cr_assert_eq(back.number, N);
	cr_assert_eq(back.id, 10 * N);
	cr_assert_str_eq(back.sha256, head.sha256);
	cr_assert(chain_head_read(none, strlen(none), &back));
	cr_assert_eq(back.number, 0);
	cr_assert_not(chain_head_read("x", 1, &back));
	cr_assert_not(chain_head_read(text, strlen(text) / 2, &back));
}

Test(chain, an_unaltered_one_is_good)
{
	expect(CHAIN_GOOD, 0, 0);
	cr_assert_eq(check_entries().n_linked, N);
}

Test(chain, nothing_is_good)
{
	struct chain_verdict v;

	chain_check(&(struct chain_link){0}, 0, NULL, 0, &v);
	cr_assert_eq((int)v.kind, CHAIN_GOOD);
}

Test(chain, jobs_from_before_it_began_are_counted)
{
	auto_free char *old = job_text(5);

	add_all();
	add(5, old);
	cr_assert_eq((int)check_entries().kind, CHAIN_GOOD);
	cr_assert_eq(check_entries().n_before, 1);
}

/* The next entry is archived while the files are read. */
Test(chain, entries_above_the_head_may_have_come_meanwhile)
{
	struct chain_link later = head;
	auto_free char *next = chain_seal(&later, 70, job_text(70));
	struct chain_verdict v;

	add_all();
	add(70, next);
	chain_check(&head, later.number, entries, n_entries, &v);
	cr_assert_eq((int)v.kind, CHAIN_GOOD);
	v = check_entries();
	cr_assert_eq((int)v.kind, CHAIN_ADDED);
	cr_assert_eq(v.id, 70);
}

Test(chain, altered_content_is_named)
{
	for (size_t i = 0; i < N; i++) {
		replace(i, "success", "erroneo");
		expect(CHAIN_ALTERED, 10 * (i + 1),
		       i + 1 < N ? 10 * (i + 2) : 0);
		replace(i, "erroneo", "success");
	}
}

Test(chain, the_first_of_several_is_named)
{
	replace(4, "success", "erroneo");
	replace(1, "success", "erroneo");
	expect(CHAIN_ALTERED, 20, 30);
}

Test(chain, a_missing_entry_is_named)
{
	for (size_t i = 0; i < N; i++) {
		char *kept = steal(&texts[i]);

		expect(CHAIN_MISSING, 10 * (i + 1),
		       i + 1 < N ? 10 * (i + 2) : 0);
		texts[i] = kept;
	}
}

Test(chain, all_missing_is_told_by_the_head)
{
	for (size_t i = 0; i < N; i++)
		take_away(i);
	expect(CHAIN_MISSING, 10 * N, 0);
}

Test(chain, the_newest_of_a_gap_is_the_one_that_is_known)
{
	take_away(2);
	take_away(3);
	expect(CHAIN_MISSING, 40, 50);
}

Test(chain, a_broken_link_is_the_fault_of_the_one_that_has_it)
{
	char *hash = strrchr(texts[3], ' ') + 1;

	hash[0] = hash[0] == '0' ? '1' : '0';
	expect(CHAIN_ALTERED, 40, 50);
	cr_assert(check_entries().unsure);
}

Test(chain, an_entry_that_lost_its_place_is_altered)
{
	unlink_entry(2);
	expect(CHAIN_ALTERED, 30, 40);
}

Test(chain, a_copy_under_another_id_is_added)
{
	add_all();
	add(25, texts[2]);
	cr_assert_eq((int)check_entries().kind, CHAIN_ADDED);
	cr_assert_eq(check_entries().id, 25);
}

Test(chain, a_replaced_head_shows)
{
	head.sha256[5] = head.sha256[5] == '0' ? '1' : '0';
	expect(CHAIN_ALTERED, 60, 0);
}
