/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/pulse.h"

static char folder[] = "/tmp/pulse.XXXXXX";
static char file[64];

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/pulse", folder);
}

static void teardown(void)
{
	unlink(file);
	rmdir(folder);
}

TestSuite(pulse, .init = setup, .fini = teardown);

Test(pulse, a_beat_is_another_number)
{
	struct pulse_view v = {0};
	struct error err;
	uint64_t first;

	pulse_beat(); /* of nobody: nothing */
	pulse_look(&v, file);
	cr_assert_eq(pulse_now(&v), 0, "without a file nothing is known");
	cr_assert_eq(pulse_begin(file, &err), 0);
	pulse_look(&v, file);
	first = pulse_now(&v);
	cr_assert_neq(first, 0);
	cr_assert_eq(pulse_now(&v), first);
	pulse_beat();
	cr_assert_gt(pulse_now(&v), first);
	pulse_view_done(&v);
}

Test(pulse, the_next_process_goes_on)
{
	struct pulse_view v = {0};
	struct error err;
	uint64_t last;

	cr_assert_eq(pulse_begin(file, &err), 0);
	pulse_look(&v, file);
	last = pulse_now(&v);
	cr_assert_eq(pulse_begin(file, &err), 0);
	cr_assert_gt(pulse_now(&v), last);
	pulse_view_done(&v);
}

Test(pulse, another_file_is_noticed)
{
	struct pulse_view v = {0};
	struct error err;
	FILE *f;

	cr_assert_eq(pulse_begin(file, &err), 0);
	pulse_look(&v, file);
	unlink(file);
	f = fopen(file, "w"); /* too short for a number */
	fclose(f);
	pulse_look(&v, file);
	cr_assert_eq(pulse_now(&v), 0);
	cr_assert_eq(pulse_begin(file, &err), 0);
	pulse_look(&v, file);
	cr_assert_neq(pulse_now(&v), 0);
	unlink(file);
	pulse_look(&v, file);
	cr_assert_eq(pulse_now(&v), 0);
}
