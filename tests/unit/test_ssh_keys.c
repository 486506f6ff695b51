/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of keys, authorized_keys, ganeti_pub_keys and known_hosts as text. */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/files/ssh_keys.h"

#define A "ssh-rsa AAAA1111"
#define B "ecdsa-sha2-nistp256 BBBB2222="
#define C "ssh-ed25519 CCCC3333"
#define OURS(id, name) id " root@" name " gantry"

static void check_id(const char *line, const char *expected)
{
	auto_free char *id = ssh_keys_id(line, strlen(line));

	cr_expect(str_eq(id, expected), "%s: %s", line, id ?: "none");
}

Test(ssh_keys, only_plain_keys_have_an_identity)
{
	check_id(A, A);
	check_id(A "\n", A);
	check_id(A " root@node1 and more\r\n", A);
	check_id("ssh-rsa   AAAA1111\tx", A);
	check_id(B " x", B);
	check_id("", NULL);
	check_id("ssh-rsa", NULL);
	check_id("ssh-rsa ", NULL);
	check_id("ssh-rsa A*A x", NULL);
	check_id("# " A, NULL);
	check_id(" " A, NULL);
	check_id("from=\"10.0.0.1\" " A, NULL);
	check_id("ssh-new AAAA", NULL);
}

Test(ssh_keys, a_line_that_is_too_long_is_none)
{
	auto_buf struct buf line = {0};

	buf_adds(&line, "ssh-rsa ");
	for (size_t i = 0; i < SSH_KEYS_LINE_MAX; i++)
		buf_addc(&line, 'A');
	check_id(line.data, NULL);
}

Test(ssh_keys, sizes_are_those_of_the_type)
{
	static const struct {
		const char *type;
		int64_t bits, expected; /* 0: refused */
	} cases[] = {
		{"rsa", 0, 2048},   {"rsa", 4096, 4096}, {"rsa", 512, 0},
		{"rsa", 999999, 0}, {"dsa", 0, 1024},	 {"dsa", 2048, 0},
		{"ecdsa", 0, 256},  {"ecdsa", 521, 521}, {"ecdsa", 300, 0},
		{"rsa1", 0, 0},	    {"ed25519", 0, 256},
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t bits = cases[i].bits;
		int rc = ssh_keys_check_size(cases[i].type, &bits, &err);

		cr_expect_eq(rc == 0, cases[i].expected != 0, "%zu", i);
		cr_expect(rc < 0 || bits == cases[i].expected, "%zu", i);
	}
}

/* --- authorized_keys --- */

static void check(const char *before, const char *const *authorized,
		  const char *const *withdrawn, bool complete,
		  const char *after)
{
	auto_strv struct strv want = {0}, gone = {0};
	auto_free char *text = NULL, *again = NULL;
	struct ssh_keys_change change = {&want, &gone, complete};

	for (; *authorized != NULL; authorized++)
		strv_add(&want, *authorized);
	for (; *withdrawn != NULL; withdrawn++)
		strv_add(&gone, *withdrawn);
	text = ssh_keys_authorize(before, &change);
	cr_expect_str_eq(text, after);
	again = ssh_keys_authorize(text, &change);
	cr_expect_str_eq(again, after, "not the same when done twice");
}

#define LIST(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define OTHERS                                                                 \
	"# mine\n\n  " C " indented\r\nfrom=\"*\" " A " root@x gantry\n"       \
	"ssh-dss DDDD me@home"

Test(ssh_keys, what_is_wanted_comes_behind_the_others)
{
	check("", LIST(OURS(A, "n1")), LIST(), true, OURS(A, "n1") "\n");
	check(OTHERS, LIST(OURS(A, "n1"), OURS(B, "n2")), LIST(), true,
	      OTHERS "\n" OURS(A, "n1") "\n" OURS(B, "n2") "\n");
}

Test(ssh_keys, lines_of_others_keep_their_bytes)
{
	check(OTHERS, LIST(), LIST(), true, OTHERS);
	check(OTHERS "\n" OURS(A, "n1") "\n" C " her@home\n", LIST(), LIST(),
	      true, OTHERS "\n" C " her@home\n");
}

Test(ssh_keys, a_forgotten_one_goes_when_all_are_known)
{
	check(OURS(A, "n1") "\n" OURS(B, "n2") "\n", LIST(OURS(B, "n2")),
	      LIST(), true, OURS(B, "n2") "\n");
	check(OURS(A, "n1") "\n" OURS(B, "n2") "\n", LIST(OURS(B, "n2")),
	      LIST(), false, OURS(A, "n1") "\n" OURS(B, "n2") "\n");
}

Test(ssh_keys, a_withdrawn_one_goes_without_our_mark)
{
	check(A " root@node1\n" B " root@node2\n", LIST(), LIST(A), false,
	      B " root@node2\n");
}

Test(ssh_keys, a_wanted_one_is_there_once_and_marked)
{
	check(A " root@node1\n" C " me\n" A "\n", LIST(OURS(A, "n1")), LIST(),
	      true, OURS(A, "n1") "\n" C " me\n");
}

/* --- the other files --- */

Test(ssh_keys, public_keys_are_read_and_written)
{
	static const char text[] = "u1 " A " root@a\nu1 " B "\nu2 " C " x\n";
	auto_json json_t *keys = ssh_keys_read_public(text);
	auto_json json_t *rest = ssh_keys_read_public(
		"\n# x\nu1\nu1 nonsense\n" A "\nu2 " C " x\r\n");
	auto_free char *back = ssh_keys_public_text(keys);

	cr_expect_str_eq(back, text);
	cr_expect_eq(json_array_size(json_get(keys, "u1")), 2);
	cr_expect_eq(json_object_size(rest), 1);
	cr_expect_eq(json_array_size(json_get(rest, "u2")), 1);
}

static void check_hosts(const char *old, const char *hosts, const char *after)
{
	struct error err;
	auto_json json_t *told = json_parse(hosts, strlen(hosts), &err);
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;

	strv_add(&names, "n1");
	strv_add(&names, "n2");
	text = ssh_keys_known_hosts(old, "cl", told, &names);
	cr_expect_str_eq(text, after);
}

Test(ssh_keys, known_hosts_has_all_nodes_under_the_clusters_name)
{
	check_hosts("", "{\"n1\": [\"" A "\", \"" C "\"]}",
		    "cl " A " n1\ncl " C " n1\n");
	check_hosts("cl " A " n1\ncl " B " n2\n", "{\"n1\": [\"" C "\"]}",
		    "cl " C " n1\ncl " B " n2\n");
}

Test(ssh_keys, known_hosts_is_the_same_whoever_has_told_his_keys)
{
	check_hosts("cl " B " n2\ncl " A " n1\n", "{}",
		    "cl " A " n1\ncl " B " n2\n");
	check_hosts("cl " B " n2\ncl " A " n1\n", "{\"n2\": [\"" B "\"]}",
		    "cl " A " n1\ncl " B " n2\n");
}

Test(ssh_keys, known_hosts_forgets_nodes_that_are_gone)
{
	check_hosts("cl " A " n3\ncl " B " n2\n", "{}", "cl " B " n2\n");
}

Test(ssh_keys, known_hosts_keeps_ganetis_and_follows_the_name)
{
	check_hosts("old " A "\nnonsense\n\nold " B " n1\n", "{}",
		    "cl " A "\ncl " B " n1\n");
}
