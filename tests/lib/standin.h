/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of storage that a node below a root of its own finds in /usr/sbin:
 * they note their arguments, and say what a test has written for them.
 *
 * A stand-in NAME adds a line "NAME ARGUMENT..." to /usr/sbin/log, keeps its
 * input in NAME.input, prints NAME.VERB.out (VERB is its first argument) or
 * NAME.out, puts NAME.VERB.proc in the place of /proc/drbd and NAME.lvs in that
 * of what lvs prints, and fails with the
 * text of NAME.VERB.err or NAME.err if there is one. */
#ifndef TESTS_LIB_STANDIN_H
#define TESTS_LIB_STANDIN_H

#include "tests/lib/node.h"

#define STANDIN_FOLDER "/usr/sbin/"

static inline void standin_say(struct test_node *t, const char *name,
			       const char *text)
{
	auto_free char *file = xprintf(STANDIN_FOLDER "%s", name);

	test_node_write(t, file, text, 0644);
}

static inline void standin_forget(struct test_node *t, const char *name)
{
	auto_free char *file = xprintf(STANDIN_FOLDER "%s", name);
	auto_free char *local = paths_local(t->root.paths, file);

	unlink(local);
}

static inline void standin_make(struct test_node *t, const char *name)
{
	static const char script[] =
		"#!/bin/sh\n"
		"me=${0##*/} dir=${0%/*}\n"
		"echo \"$me $*\" >>\"$dir/log\"\n"
		"cat >\"$dir/$me.input\"\n"
		"verb=$(echo \"${1-}\" | tr -d /)\n"
		"for f in \"$dir/$me.$verb.proc\"; do\n"
		"    [ ! -f \"$f\" ] || cp \"$f\" \"$dir/../../proc/drbd\"\n"
		"done\n"
		"[ ! -f \"$dir/$me.lvs\" ] || cp \"$dir/$me.lvs\" "
		"\"$dir/lvs.out\"\n"
		"for f in \"$dir/$me.$verb.err\" \"$dir/$me.err\"; do\n"
		"    [ ! -f \"$f\" ] || { cat \"$f\" >&2; exit 5; }\n"
		"done\n"
		"for f in \"$dir/$me.$verb.out\" \"$dir/$me.out\"; do\n"
		"    [ ! -f \"$f\" ] || { cat \"$f\"; exit 0; }\n"
		"done\n"
		"exit 0\n";
	auto_free char *file = xprintf(STANDIN_FOLDER "%s", name);

	test_node_write(t, file, script, 0755);
}

/* The commands since the last question, to be freed. */
static inline char *standin_log(struct test_node *t)
{
	char *text = test_node_read(t, STANDIN_FOLDER "log");

	standin_forget(t, "log");
	return text != NULL ? text : xstrdup("");
}

/* The commands since the last question are these, in this order; those that
 * only ask (lvs, vgs, pvs, drbdsetup show) are left out. */
static inline void standin_did(struct test_node *t, const char *expected)
{
	auto_free char *log = standin_log(t);
	auto_strv struct strv lines = {0}, acts = {0};
	auto_free char *found = NULL;

	str_split(&lines, log, '\n');
	for (size_t i = 0; i < lines.n; i++)
		if (*lines.items[i] != '\0' &&
		    !str_starts(lines.items[i], "lvs ") &&
		    !str_starts(lines.items[i], "vgs ") &&
		    !str_starts(lines.items[i], "pvs ") &&
		    !str_starts(lines.items[i], "drbdsetup show"))
			strv_add(&acts, lines.items[i]);
	found = strv_join(&acts, "\n");
	cr_assert_str_eq(found, expected);
}

#endif
