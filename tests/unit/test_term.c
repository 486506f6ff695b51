/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/model/files/term.h"
#include "tests/lib/fake_disk.h"

static struct fake_disk disk;
static struct paths *paths;
static struct error err;

static void begin(void)
{
	mem_init();
	fake_disk_init(&disk);
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

TestSuite(term, .init = begin, .fini = end);

Test(term, a_node_without_one_obeys_everybody)
{
	auto_term struct term t = {0};

	cr_assert_eq(term_load(&disk.disk, paths, &t, &err), 0);
	cr_assert_eq(t.number, 0);
	cr_assert_str_eq(t.master, "");
}

Test(term, what_was_saved_survives_a_power_cut)
{
	auto_term struct term t = {.number = 7, .master = xstrdup("node2")};
	auto_term struct term found = {0};

	cr_assert_eq(term_save(&disk.disk, paths, &t, &err), 0);
	fake_disk_crash(&disk, 1);
	cr_assert_eq(term_load(&disk.disk, paths, &found, &err), 0);
	cr_assert_eq(found.number, 7);
	cr_assert_str_eq(found.master, "node2");
}

Test(term, a_damaged_file_is_an_error_and_not_a_missing_promise)
{
	static const char *const bad[] = {"",
					  "{",
					  "{\"term\": -1}",
					  "[7]",
					  "{\"term\": 9223372036854775807}",
					  "{\"term\": 1e300}"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_term struct term t = {0};

		fake_disk_put(&disk, path(paths, PATH_MASTER_TERM), bad[i]);
		cr_assert_eq(term_load(&disk.disk, paths, &t, &err), -1, "%s",
			     bad[i]);
		cr_assert_not_null(strstr(err.text, "master-term"));
	}
}
