/* SPDX-License-Identifier: BSD-2-Clause */
/* By systemd-run, which becomes the program after it has made the scope: the
 * process, its descriptors and its exit status are the program's. */
#include "noded/hv/scope.h"

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"

/* systemd's own sign that it runs (sd_booted(3)). */
#define BOOTED "/run/systemd/system"
#define SYSTEMD_RUN "/usr/bin/systemd-run"

void scope_add_words(const struct paths *p, const char *what, struct strv *argv)
{
	/* The name of the scope is systemd's: one of a guest that has just
	 * ended may still be there. */
	static const char *const words[] = {SYSTEMD_RUN, "--scope", "--quiet",
					    "--collect",
					    "--slice=gantry-guests.slice"};

	if (*p->root != '\0' || !fs_is_dir(BOOTED) ||
	    !fs_is_executable(SYSTEMD_RUN))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strv_add(argv, words[i]);
	strv_addf(argv, "--description=%s", what);
	strv_add(argv, "--");
}

void scope_of_instance(const struct paths *p, const char *instance_name,
		       const char *const *argv, struct strv *words)
{
	auto_free char *what = xprintf("Instance %s", instance_name);

	scope_add_words(p, what, words);
	for (size_t i = 0; argv[i] != NULL; i++)
		strv_add(words, argv[i]);
}
