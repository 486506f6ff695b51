/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands and files to other nodes: what ssh and scp are told, by programs of
 * these names that write it down, and what is done instead in a virtual
 * cluster.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/remote/run.h"
#include "cli/remote/ssh.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "tests/lib/root.h"

static struct test_root root;
static struct paths *real;
static struct ssh ssh;
static const struct ssh_node node = {
	.name = "node2.example.com", .address = "192.0.2.12", .port = 2222};
static struct error err;

static void write_file(const char *path, const char *text, mode_t mode)
{
	cr_assert_eq(fs_write_atomic(path, text, strlen(text), mode, &err), 0,
		     "%s", err.text);
}

/* A program that is found first, and what it does. */
static void put_program(const char *name, const char *body)
{
	auto_free char *file = xprintf("%s/%s", root.top, name);
	auto_free char *text = xprintf("#!/bin/sh\n%s\n", body);

	write_file(file, text, 0755);
}

static void setup(void)
{
	auto_free char *search = NULL;

	test_root_create(&root);
	real = paths_create("", "node1.example.com");
	ssh = (struct ssh){.paths = real, .cluster = "cluster.example.com"};
	search = xprintf("%s:/usr/bin:/bin", root.top);
	setenv("PATH", search, 1);
}

static void teardown(void)
{
	paths_destroy(real);
	test_root_destroy(&root);
}

TestSuite(cli_ssh, .init = setup, .fini = teardown, .timeout = 60);

/* Whether one of the lines is this one. */
static bool has_line(const char *text, const char *line)
{
	auto_strv struct strv lines = {0};

	str_split(&lines, text, '\n');
	return strv_has(&lines, line);
}

Test(cli_ssh, a_command_goes_as_one_word_to_root_of_the_node)
{
	auto_free char *output = NULL;
	int status;

	put_program("ssh", "printf '%s\\n' \"$@\"; exit 3");
	status = ssh_run(&ssh, &node, "echo 'a b'; false", &output, &err);
	cr_assert_eq(status, 3);
	cr_expect(has_line(output, "root@192.0.2.12"));
	cr_expect(has_line(output, "echo 'a b'; false"));
	cr_expect(has_line(output, "-oPort=2222"));
	cr_expect_not(has_line(output, "-6"));
}

Test(cli_ssh, only_the_clusters_host_key_is_good)
{
	auto_free char *output = NULL;
	auto_free char *known = xprintf("-oGlobalKnownHostsFile=%s",
					path(real, PATH_KNOWN_HOSTS));

	put_program("ssh", "printf '%s\\n' \"$@\"");
	ssh.ipv6 = true;
	cr_assert_eq(ssh_run(&ssh, &node, "true", &output, &err), 0);
	cr_expect(has_line(output, "-oHostKeyAlias=cluster.example.com"));
	cr_expect(has_line(output, known));
	cr_expect(has_line(output, "-oUserKnownHostsFile=/dev/null"));
	cr_expect(has_line(output, "-oStrictHostKeyChecking=yes"));
	cr_expect(has_line(output, "-6"));
}

Test(cli_ssh, without_ssh_there_is_an_error)
{
	char *output = NULL;

	setenv("PATH", root.top, 1);
	cr_assert_eq(ssh_run(&ssh, &node, "true", &output, &err), -1);
	cr_expect_not_null(strstr(err.text, "ssh"), "%s", err.text);
	cr_expect_eq(ssh_copy(&ssh, &node, "/etc/hosts", &err), -1);
	cr_expect_not_null(strstr(err.text, "scp"), "%s", err.text);
}

Test(cli_ssh, a_file_is_copied_to_the_same_place)
{
	auto_free char *list = xprintf("%s/list", root.top);
	auto_free char *body = xprintf("printf '%%s\\n' \"$@\" >%s", list);
	auto_free char *first = NULL, *second = NULL;
	struct ssh_node other = node;

	put_program("scp", body);
	cr_assert_eq(ssh_copy(&ssh, &node, "/etc/x y", &err), 0);
	first = fs_read(list, 10000, NULL, &err);
	cr_expect(has_line(first, "-p"));
	cr_expect(has_line(first, "/etc/x y"));
	cr_expect(has_line(first, "192.0.2.12:/etc/x y"));
	other.address = "2001:db8::2";
	cr_assert_eq(ssh_copy(&ssh, &other, "/etc/x", &err), 0);
	second = fs_read(list, 10000, NULL, &err);
	cr_expect(has_line(second, "[2001:db8::2]:/etc/x"));
}

Test(cli_ssh, a_copy_that_failed_says_why)
{
	put_program("scp", "echo 'no such host' >&2; exit 1");
	cr_assert_eq(ssh_copy(&ssh, &node, "/etc/x", &err), -1);
	cr_expect_not_null(strstr(err.text, "status 1: no such host"), "%s",
			   err.text);
}

Test(cli_ssh, words_are_what_a_shell_reads)
{
	static const char *const words[] = {"a-b",	 "",   "it's",
					    "$HOME `x`", "\\", "\"q\""};
	auto_strv struct strv list = {0}, none = {0};
	auto_free char *quoted = NULL, *command = NULL, *output = NULL,
		       *nothing = ssh_quoted(&none);
	const char *argv[] = {"sh", "-c", NULL, NULL};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strv_add(&list, words[i]);
	quoted = ssh_quoted(&list);
	command = xprintf("printf '%%s\\n' %s", quoted);
	argv[2] = command;
	cr_assert_eq(run_output(argv, NULL, &output, &err), 0);
	cr_expect_str_eq(output, "a-b\n\nit's\n$HOME `x`\n\\\n\"q\"\n");
	cr_expect_str_eq(nothing, "");
}

Test(cli_ssh, a_session_has_a_terminal_there)
{
	auto_strv struct strv command = {0}, there = {0}, here = {0};
	auto_free char *line = NULL, *own = NULL;
	struct ssh virtual = {.paths = root.paths, .cluster = "c"};

	strv_add(&command, "xl");
	strv_add(&command, "console");
	strv_add(&command, "a b");
	ssh_session(&ssh, &node, "gnt-console", &command, &there);
	line = strv_join(&there, " ");
	cr_expect_str_eq(there.items[0], "ssh");
	cr_expect_not_null(strstr(line, " -t -t gnt-console@192.0.2.12 "
					"xl console 'a b'"),
			   "%s", line);
	ssh_session(&virtual, &node, "gnt-console", &command, &here);
	own = strv_join(&here, " ");
	cr_expect_str_eq(own, "xl console a b");
}

Test(cli_ssh, in_a_virtual_cluster_the_node_is_a_folder)
{
	auto_free char *source =
		xprintf("%s/motd", path(root.paths, PATH_DATA_DIR));
	auto_free char *target =
		xprintf("%s/node2.example.com/var/lib/ganeti", root.top);
	auto_free char *file = xprintf("%s/motd", target);
	auto_free char *output = NULL, *text = NULL;
	struct stat st;

	ssh.paths = root.paths;
	cr_assert_eq(
		ssh_run(&ssh, &node, "echo $GANETI_HOSTNAME", &output, &err),
		0);
	cr_expect_str_eq(output, "node2.example.com\n");
	write_file(source, "hello\n", 0640);
	cr_expect_eq(ssh_copy(&ssh, &node, source, &err), -1);
	cr_expect_not_null(strstr(err.text, "There is no folder"), "%s",
			   err.text);
	cr_assert_eq(fs_mkdirs(target, 0755, &err), 0);
	cr_assert_eq(ssh_copy(&ssh, &node, source, &err), 0, "%s", err.text);
	text = fs_read(file, 100, NULL, &err);
	cr_expect_str_eq(text, "hello\n");
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_expect_eq(ssh_copy(&ssh, &node, "/nonexistent", &err), -1);
}
