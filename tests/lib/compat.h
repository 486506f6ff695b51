/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded files of real Ganeti for tests, which run in the source folder:
 * the small cuts in tests/compat, and the whole records beside the checkout
 * where they are present. */
#ifndef TESTS_LIB_COMPAT_H
#define TESTS_LIB_COMPAT_H

#include <criterion/criterion.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"

#define COMPAT_FILE_MAX (8 * 1024 * 1024)
#define COMPAT_SHARED "../shared/cases/"

/* A file of tests/compat, parsed; the test fails without it. */
static inline json_t *compat_read(const char *name)
{
	auto_free char *path = xprintf("tests/compat/%s", name);
	struct error err;
	json_t *value = json_read_file(path, COMPAT_FILE_MAX, &err);

	cr_assert_not_null(value, "%s", err.text);
	return value;
}

/* End the test as skipped when this is not among the records, or none are
 * there. */
static inline void compat_need(const char *path)
{
	if (!fs_exists(path))
		cr_skip_test("%s is not there", path);
}

/* A recorded file, parsed; without it the test is skipped. */
static inline json_t *compat_read_shared(const char *name)
{
	auto_free char *path = xprintf(COMPAT_SHARED "%s", name);
	struct error err;
	json_t *value;

	compat_need(path);
	value = json_read_file(path, COMPAT_FILE_MAX, &err);
	cr_assert_not_null(value, "%s", err.text);
	return value;
}

/* Both equal in value; prints them otherwise. */
#define compat_assert_same(ours, theirs)                                       \
	do {                                                                   \
		auto_free char *ours_ = json_text_sorted(ours);                \
		auto_free char *theirs_ = json_text_sorted(theirs);            \
		cr_assert(json_same(ours, theirs),                             \
			  "ours:   %.6000s\ntheirs: %.6000s", ours_, theirs_); \
	} while (0)

#endif
