/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/store/journal.h"
#include "tests/lib/fake_disk.h"

#define SIZE (8 * JOURNAL_ALIGN) /* four small records a half */
#define PATH "/q/journal"

static struct fake_disk disk;
static struct journal journal;
static struct buf trace;

static void on_entry(const struct journal_entry *e, void *arg)
{
	static const char *const signs[] = {
		[JOURNAL_WRITE] = "=",
		[JOURNAL_REMOVE] = "-",
		[JOURNAL_MOVE] = "<",
		[JOURNAL_CUT] = "cut",
	};

	(void)arg;
	buf_addf(&trace, "%s%s%s ", e->name, signs[e->kind],
		 e->kind == JOURNAL_CUT ? "" : e->content);
}

static void open_journal(void)
{
	struct error err;

	buf_done(&trace);
	cr_assert_eq(journal_open(&journal, &disk.disk, PATH, SIZE, on_entry,
				  NULL, &err),
		     0, "%s", err.text);
}

static void expect(const char *expected)
{
	cr_assert_str_eq(trace.data == NULL ? "" : trace.data, expected);
}

static void setup(void)
{
	struct error err;

	fake_disk_init(&disk);
	disk.disk.mkdirs(&disk.disk, "/q", 0750, &err);
	open_journal();
	disk.disk.sync_all(&disk.disk, "/q", &err);
}

static void teardown(void)
{
	journal_close(&journal);
	fake_disk_done(&disk);
	buf_done(&trace);
}

TestSuite(journal, .init = setup, .fini = teardown);

static void commit(struct buf *record, bool sync)
{
	struct error err;

	journal_end(&journal, record);
	if (!journal_fits(&journal, record))
		journal_turn(&journal);
	cr_assert_eq(journal_write(&journal, record, &err), 0);
	if (sync)
		cr_assert_eq(journal_sync(&journal, &err), 0);
	journal_written(&journal, record);
}

static void put(const char *name, const char *content)
{
	auto_buf struct buf record = {0};

	journal_begin(&record);
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_WRITE,
						     .name = name,
						     .content = content,
						     .len = strlen(content)});
	commit(&record, true);
}

static void cut(uint64_t number)
{
	auto_buf struct buf record = {0};

	journal_begin(&record);
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_CUT,
						     .number = number});
	commit(&record, true);
}

Test(journal, gives_back_what_was_written)
{
	auto_buf struct buf record = {0};

	journal_begin(&record);
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_WRITE,
						     .name = "a",
						     .content = "one",
						     .len = 3});
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_REMOVE,
						     .name = "b"});
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_MOVE,
						     .name = "c",
						     .content = "a",
						     .len = 1});
	commit(&record, true);
	put("d", "");
	open_journal();
	expect("a=one b- c<a d= ");
	put("e", "1");
	open_journal();
	expect("a=one b- c<a d= e=1 ");
}

Test(journal, forgets_what_is_cut)
{
	put("a", "1");
	put("b", "2");
	put("c", "3");
	cut(2);
	open_journal();
	expect("c=3 cut ");
	cut(4);
	open_journal();
	expect("cut ");
}

Test(journal, begins_the_other_half_when_one_is_full)
{
	for (int i = 0; i < 11; i++) {
		auto_free char *text = xprintf("%d", i);

		put("n", text);
	}
	open_journal();
	expect("n=4 n=5 n=6 n=7 n=8 n=9 n=10 ");
}

Test(journal, drops_a_torn_record_and_keeps_those_before)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		auto_buf struct buf record = {0};
		auto_free char *text = xprintf("%ju", (uintmax_t)seed);
		auto_free char *expected = NULL, *with_new = NULL;
		auto_free char *large = xalloc(3000);
		size_t tail;

		open_journal();
		put("n", text);
		open_journal();
		tail = trace.len;
		expected = xstrdup(trace.data);
		memset(large, 'x', 2999);
		journal_begin(&record);
		journal_add(&record,
			    &(struct journal_entry){.kind = JOURNAL_WRITE,
						    .name = "large",
						    .content = large,
						    .len = 2999});
		with_new = xprintf("%slarge=%s ", expected, large);
		commit(&record, false);
		fake_disk_crash(&disk, seed);
		open_journal();
		/* A turn may have dropped the older half, never the new. */
		cr_assert(strcmp(trace.data, with_new) == 0 ||
				  str_ends(expected, trace.data) ||
				  str_ends(with_new, trace.data),
			  "seed %ju: %s", (uintmax_t)seed, trace.data);
		cr_assert(strstr(trace.data, text) != NULL || tail == 0);
	}
}

Test(journal, random_garbage_is_no_record)
{
	size_t size;
	char *raw;

	put("a", "1");
	put("b", "2");
	raw = fake_disk_log(&disk, PATH, &size);
	raw[JOURNAL_ALIGN + 40] ^= 1;
	open_journal();
	expect("a=1 ");
	memset(raw, 0xff, size);
	open_journal();
	expect("");
	put("c", "3");
	open_journal();
	expect("c=3 ");
}

Test(journal, failed_write_can_be_tried_again)
{
	auto_buf struct buf record = {0};
	struct error err;

	journal_begin(&record);
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_WRITE,
						     .name = "a",
						     .content = "1",
						     .len = 1});
	journal_end(&journal, &record);
	disk.fail_log = true;
	cr_assert_eq(journal_write(&journal, &record, &err), -1);
	disk.fail_log = false;
	cr_assert_eq(journal_write(&journal, &record, &err), 0);
	cr_assert_eq(journal_sync(&journal, &err), 0);
	journal_written(&journal, &record);
	open_journal();
	expect("a=1 ");
}

/* Who wrote it was killed before the sync, or the sync failed: once somebody
 * has read it, it must stay. */
Test(journal, what_was_read_once_is_durable)
{
	for (int failed = 0; failed < 2; failed++) {
		auto_free char *name = xprintf("f%d", failed);
		auto_free char *seen = NULL;
		auto_buf struct buf record = {0};
		struct error err;

		journal_begin(&record);
		journal_add(&record,
			    &(struct journal_entry){.kind = JOURNAL_WRITE,
						    .name = name,
						    .content = "1",
						    .len = 1});
		commit(&record, false);
		disk.fail_syncs = failed;
		if (failed)
			cr_assert_eq(journal_sync(&journal, &err), -1);
		disk.fail_syncs = false;
		open_journal();
		cr_assert_not_null(strstr(trace.data, name));
		seen = xstrdup(trace.data);
		fake_disk_crash(&disk, 2);
		open_journal();
		expect(seen);
	}
}

/* A candidate makes a small journal; as master it asks for a large one. */
Test(journal, keeps_its_size_while_it_has_records)
{
	struct error err;

	for (int i = 0; i < 6; i++)
		put("a", i < 3 ? "in the first half" : "in the second");
	buf_done(&trace);
	cr_assert_eq(journal_open(&journal, &disk.disk, PATH, 4 * SIZE,
				  on_entry, NULL, &err),
		     0, "%s", err.text);
	expect("a=in the first half a=in the first half a=in the first half "
	       "a=in the second a=in the second a=in the second ");
	put("b", "1");
	open_journal();
	cr_assert_not_null(strstr(trace.data, "b=1 "));
}

Test(journal, a_look_changes_nothing)
{
	struct error err;
	size_t n_ops;

	put("a", "1");
	n_ops = disk.n_ops;
	buf_done(&trace);
	cr_assert_eq(journal_peek(&disk.disk, PATH, on_entry, NULL, &err), 0);
	expect("a=1 ");
	buf_done(&trace);
	cr_assert_eq(journal_peek(&disk.disk, "/q/none", on_entry, NULL, &err),
		     0);
	expect("");
	cr_assert_eq(disk.n_ops, n_ops);
}
