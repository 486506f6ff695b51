/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of move-instance. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/move/move_options.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

static struct error err;
static struct move_options options;
static struct strv words;

/* Words with blanks between. */
static int read_line(const char *line)
{
	strv_done(&words);
	words = (struct strv){0};
	move_options_done(&options);
	str_split(&words, line, ' ');
	return move_options_read(&options, (int)words.n, words.items, &err);
}

static void teardown(void)
{
	move_options_done(&options);
	strv_done(&words);
}

TestSuite(move_options, .fini = teardown);

Test(move_options, the_destination_is_as_the_source)
{
	cr_assert_eq(read_line("x --src-ca-file ca --src-username u "
			       "--src-password-file p --src-rapi-port 99 "
			       "alpha beta i1 i2"),
		     0, "%s", err.text);
	cr_assert_str_eq(options.dest.ca_file, "ca");
	cr_assert_str_eq(options.dest.user, "u");
	cr_assert_str_eq(options.dest.password_file, "p");
	cr_assert_eq(options.dest.port, 99);
	cr_assert_str_eq(options.source.cluster, "alpha");
	cr_assert_str_eq(options.dest.cluster, "beta");
	cr_assert_eq(options.n_instances, 2);
	cr_assert_str_eq(options.instances[1], "i2");
}

Test(move_options, what_is_not_said_has_a_value)
{
	cr_assert_eq(read_line("x alpha beta i1"), 0, "%s", err.text);
	cr_assert_eq(options.source.port, 5080);
	cr_assert_eq(options.dest.port, 5080);
	cr_assert_eq(options.parallel, 1);
	cr_assert_eq(options.delay_s, 30);
	cr_assert_eq(options.shutdown_s, -1);
	cr_assert_str_eq(options.compress, "none");
}

Test(move_options, options_may_stand_anywhere)
{
	cr_assert_eq(read_line("x alpha -I hail beta i1 -p 3 -vv"), 0);
	cr_assert_str_eq(options.allocator, "hail");
	cr_assert_eq(options.parallel, 3);
	cr_assert_eq(options.verbose, 2);
}

/* A line, and what the error has to name. */
static const struct {
	const char *line, *named;
} refused[] = {
	{"x", "Two clusters"},
	{"x alpha beta", "Two clusters"},
	{"x alpha/2 beta i", "alpha/2"},
	{"x root@alpha beta i", "root@alpha"},
	{"x alpha beta i/../j", "i/../j"},
	{"x alpha beta i?x=1", "i?x=1"},
	{"x alpha beta i i", "twice"},
	{"x alpha beta i --dest-instance-name a/b", "a/b"},
	{"x alpha beta i j --dest-instance-name a", "--dest-instance-name"},
	{"x alpha beta i j --dest-primary-node a", "--dest-primary-node"},
	{"x alpha beta i j -B memory=1", "--backend-parameters"},
	{"x alpha beta i j -H a=1", "--hypervisor-parameters"},
	{"x alpha beta i j -O a=1", "--os-parameters"},
	{"x alpha beta i j --net 0:link=a", "--net"},
	{"x alpha beta i -I hail --dest-primary-node a", "allocator"},
	{"x alpha beta i --dest-secondary-node a", "primary"},
	{"x alpha beta i --dest-primary-node a --opportunistic-tries 2",
	 "--opportunistic-tries"},
	{"x alpha beta i --opportunistic-delay 2", "--opportunistic-tries"},
	{"x alpha beta i --opportunistic-tries -1", "tries"},
	{"x alpha beta i -p 0", "parallel"},
	{"x alpha beta i -p many", "many"},
	{"x alpha beta i --src-rapi-port 65536", "port"},
	{"x alpha beta i --src-username u", "--src-password-file"},
	{"x alpha beta i --dest-password-file p", "--dest-username"},
	{"x alpha beta i --src-username u:v --src-password-file p", "u:v"},
	{"x alpha beta i --net add:link=a", "add"},
	{"x alpha beta i --net no_0", "interface"},
	{"x alpha beta i --net -1:link=a", "-1"},
	{"x alpha beta i -B =1", "name"},
	{"x alpha beta i --nothing", "--nothing"},
	{"x alpha beta i --compress", "--compress"},
};

Test(move_options, what_makes_no_sense_is_refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		cr_assert_eq(read_line(refused[i].line), -1, "%s",
			     refused[i].line);
		cr_assert_neq(strstr(err.text, refused[i].named), NULL,
			      "%s: %s", refused[i].line, err.text);
	}
}

Test(move_options, an_address_may_be_one_of_ipv6)
{
	cr_assert_eq(read_line("x ::1 127.0.0.1 i"), 0, "%s", err.text);
}

Test(move_options, help_needs_nothing_else)
{
	cr_assert_eq(read_line("x --help"), 0);
	cr_assert(options.help);
	cr_assert_eq(read_line("x --version alpha"), 0);
	cr_assert(options.version);
}

/* --- passwords --- */

static char folder[] = "/tmp/gnt-move.XXXXXX";

static char *write_file(const char *text)
{
	char *path = xprintf("%s/password", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

Test(move_options, a_password_is_the_first_line)
{
	static const char *const texts[] = {"secret", "secret\n", "secret\r\n",
					    "secret\nmore\n"};
	auto_free char *path = NULL, *empty = NULL;

	cr_assert_not_null(mkdtemp(folder));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_free char *password = NULL;

		free(path);
		path = write_file(texts[i]);
		password = move_options_password(path, &err);
		cr_assert_str_eq(password, "secret");
	}
	empty = write_file("\nsecret\n");
	cr_assert_null(move_options_password(empty, &err));
	cr_assert_null(strstr(err.text, "secret"));
	unlink(path);
	cr_assert_null(move_options_password(path, &err));
	rmdir(folder);
}
