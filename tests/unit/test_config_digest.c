/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/array.h"
#include "lib/model/config/config_digest.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/fake_disk.h"

static struct fake_disk disk;
static struct paths *paths;
static struct error err;
static int64_t now_ns; /* of the file */

static int64_t written(struct disk *d, const char *file)
{
	(void)d;
	(void)file;
	return now_ns;
}

static void begin(void)
{
	mem_init();
	fake_disk_init(&disk);
	disk.disk.written_ns = written;
	now_ns = 1000;
	cr_assert_eq(disk.disk.mkdirs(&disk.disk, "/root/var/lib/ganeti", 0755,
				      &err),
		     0);
	paths = paths_create("/root", "node1");
}

static void end(void)
{
	paths_destroy(paths);
	fake_disk_done(&disk);
}

TestSuite(config_digest, .init = begin, .fini = end);

static void note(const char *text)
{
	cr_assert_eq(
		config_digest_note(&disk.disk, paths, text, strlen(text), &err),
		0, "%s", err.text);
}

static enum config_origin judge(const char *text)
{
	int64_t serial;

	return config_digest_judge(&disk.disk, paths, text, strlen(text),
				   &serial);
}

Test(config_digest, the_serial_is_that_of_the_whole)
{
	static const struct {
		const char *text;
		int64_t serial;
	} cases[] = {
		{"{\"serial_no\":5}", 5},
		{"{\"serial_no\" : 17 ,", 17},
		{"{\"cluster\":{\"serial_no\":3},\"serial_no\":5}", 5},
		{"{\"a\":[{\"serial_no\":3}],\"serial_no\":5", 5},
		{"{\"a\":\"\\\"serial_no\\\":9}\",\"serial_no\":5}", 5},
		{"{\"a\":\"serial_no\",\"serial_no\":5}", 5},
		{"{\"serial_no\":\"5\"}", -1},
		{"{\"serial_no\":-5}", -1},
		{"{\"serial_no\":99999999999999999999}", -1},
		{"{\"serial_no\"", -1},
		{"{\"serial_no", -1},
		{"{\"serial_no\\", -1},
		{"", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_eq(config_digest_text_serial(cases[i].text,
						       strlen(cases[i].text)),
			     cases[i].serial, "%s", cases[i].text);
}

Test(config_digest, damage_is_told_from_what_somebody_wrote)
{
	cr_expect_eq(judge("{\"serial_no\":5}"), CONFIG_UNKNOWN);
	note("{\"serial_no\":5,\"a\":1}");
	cr_expect_eq(judge("{\"serial_no\":5,\"a\":1}"), CONFIG_WHOLE);
	cr_expect_eq(judge("{\"serial_no\":5,\"a\":2}"), CONFIG_DAMAGED);
	cr_expect_eq(judge("{\"serial_no\":4,\"a\":1}"), CONFIG_DAMAGED);
	cr_expect_eq(judge("no JSON"), CONFIG_DAMAGED);
	cr_expect_eq(judge("{\"serial_no\":6,\"a\":1}"), CONFIG_NEWER);
	now_ns = 2000;
	cr_expect_eq(judge("{\"serial_no\":5,\"a\":2}"), CONFIG_EDITED);
	cr_expect_eq(judge("{\"serial_no\":6,\"a\":2}"), CONFIG_NEWER);
	cr_expect_eq(judge("{\"serial_no\":5,\"a\":1}"), CONFIG_WHOLE);
}

Test(config_digest, a_note_survives_a_power_cut)
{
	note("{\"serial_no\":5}");
	fake_disk_crash(&disk, 1);
	cr_expect_eq(judge("{\"serial_no\":5}"), CONFIG_WHOLE);
}

static void announce(const char *text)
{
	cr_assert_eq(config_digest_announce(&disk.disk, paths, text,
					    strlen(text), &err),
		     0, "%s", err.text);
}

static void put(const char *text)
{
	fake_disk_put(&disk, path(paths, PATH_CONFIG_DATA), text);
}

Test(config_digest, a_write_that_was_announced_may_have_come_or_not)
{
	put("{\"serial_no\":5}");
	note("{\"serial_no\":5}");
	announce("{\"serial_no\":6}");
	cr_expect_eq(judge("{\"serial_no\":5}"), CONFIG_WHOLE);
	cr_expect_eq(judge("{\"serial_no\":6}"), CONFIG_WHOLE);
	announce("{\"serial_no\":7}");
	cr_expect_eq(judge("{\"serial_no\":5}"), CONFIG_WHOLE);
	cr_expect_eq(judge("{\"serial_no\":6}"), CONFIG_NEWER);
	cr_expect_eq(judge("{\"serial_no\":7}"), CONFIG_WHOLE);
}

/* The process ended, or the disk was full, between a write and its note. */
Test(config_digest, what_was_written_and_not_noted_stays_ours)
{
	put("{\"serial_no\":5}");
	note("{\"serial_no\":5}");
	announce("{\"serial_no\":6}");
	put("{\"serial_no\":6}");
	now_ns = 2000;
	announce("{\"serial_no\":7}");
	cr_expect_eq(judge("{\"serial_no\":6}"), CONFIG_WHOLE);
	cr_expect_eq(judge("{\"serial_no\":6,\"a\":1}"), CONFIG_DAMAGED);
	cr_expect_eq(judge("{\"serial_no\":7}"), CONFIG_WHOLE);
	put("{\"serial_no\":7}");
	announce("{\"serial_no\":8}");
	cr_expect_eq(judge("{\"serial_no\":7}"), CONFIG_WHOLE);
}

Test(config_digest, a_note_that_says_nothing_is_none)
{
	static const char *const notes[] = {
		"",
		"x",
		"5 1000",
		"5 1000 abc\n",
		"-5 1000 0123456789abcdef0123456789abcdef"
		"0123456789abcdef0123456789abcdef\n",
		"99999999999999999999 1 0123456789abcdef0123456789abcdef"
		"0123456789abcdef0123456789abcdef\n"};

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		fake_disk_put(&disk, path(paths, PATH_CONFIG_DIGEST), notes[i]);
		cr_expect_eq(judge("{\"serial_no\":5}"), CONFIG_UNKNOWN, "%s",
			     notes[i]);
	}
}
