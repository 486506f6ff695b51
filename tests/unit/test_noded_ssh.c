/* SPDX-License-Identifier: BSD-2-Clause */
/* The call ssh_keys: what it does to root's .ssh below the node's root. */
#include "lib/base/array.h"
#include "lib/model/files/ssh_keys.h"
#include "tests/lib/node.h"

TEST_NODE_SUITE(noded_ssh);

#define AUTHORIZED "/root/.ssh/authorized_keys"
#define KEY_A "ssh-rsa AAAA1111"
#define KEY_B "ssh-ed25519 BBBB2222"

/* The answer to a step about keys of that type. */
static json_t *step(const char *what, const char *type)
{
	return test_node_ok(
		&node, "ssh_keys",
		json_make("[s, {s:s, s:i}]", what, "type", type, "bits", 0));
}

static const char *only_key(const json_t *state)
{
	const json_t *keys = json_get(state, "keys");

	cr_assert_eq(json_array_size(keys), 1, "%zu", json_array_size(keys));
	return json_string_value(json_array_get(keys, 0));
}

static json_t *give(const char *authorized, const char *withdrawn)
{
	return json_make("[s, {s:[s], s:[s], s:b, s:{s:[s]}, s:s}]", "give",
			 "authorized", authorized, "withdrawn", withdrawn,
			 "complete", 1, "public", "uuid-1", authorized,
			 "known_hosts", "cl " KEY_A " n1\n");
}

static void expect_file(const char *name, const char *text, mode_t mode)
{
	auto_free char *file = paths_local(node.root.paths, name);
	auto_free char *got = test_node_read(&node, name);
	struct stat info;

	cr_expect(str_eq(got, text), "%s: %s", name, got ?: "none");
	cr_expect_eq(lstat(file, &info), 0);
	cr_expect_eq(info.st_mode & 07777, mode, "%s: %o", name, info.st_mode);
}

static bool exists(const char *name)
{
	auto_free char *file = paths_local(node.root.paths, name);

	return fs_exists(file);
}

static void remove_file(const char *name)
{
	auto_free char *file = paths_local(node.root.paths, name);

	cr_assert_eq(unlink(file), 0, "%s", file);
}

static void move_file(const char *from, const char *to)
{
	auto_free char *a = paths_local(node.root.paths, from);
	auto_free char *b = paths_local(node.root.paths, to);

	cr_assert_eq(rename(a, b), 0, "%s", from);
}

Test(noded_ssh, a_pair_is_made_once)
{
	auto_json json_t *before = step("look", "ecdsa");
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *again = step("make", "ecdsa");
	const char *line = only_key(made);

	cr_expect_eq(json_array_size(json_get(before, "keys")), 0);
	cr_expect(json_equal(made, again));
	cr_expect(ssh_keys_marked(line, strlen(line)));
	cr_expect(str_starts(line, "ecdsa-sha2-nistp256 "));
	cr_expect_null(json_get(made, "staged"));
	cr_expect_not(exists("/root/.ssh/gantry_next"));
}

Test(noded_ssh, no_private_key_is_in_an_answer)
{
	auto_json json_t *made = step("stage", "ecdsa");
	auto_free char *text = json_text(made);

	cr_expect_null(strstr(text, "PRIVATE"));
	cr_expect_not_null(json_get(made, "staged"));
}

Test(noded_ssh, a_next_pair_is_staged_and_taken)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *staged = step("stage", "ecdsa");
	auto_json json_t *taken = step("switch", "ecdsa");
	auto_json json_t *again = step("switch", "ecdsa");

	cr_expect_str_eq(only_key(made), only_key(staged));
	cr_expect_str_neq(only_key(made), json_str(staged, "staged", ""));
	cr_expect_str_eq(only_key(taken), json_str(staged, "staged", ""));
	cr_expect_null(json_get(taken, "staged"));
	cr_expect(json_equal(taken, again));
}

Test(noded_ssh, another_type_lives_beside_until_the_finish)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *staged = step("stage", "rsa");
	auto_json json_t *taken = step("switch", "rsa");
	auto_json json_t *done = step("finish", "rsa");

	(void)made, (void)staged;
	cr_expect_eq(json_array_size(json_get(taken, "keys")), 2);
	cr_expect(str_starts(only_key(done), "ssh-rsa "));
	cr_expect_not(exists("/root/.ssh/id_ecdsa"));
}

Test(noded_ssh, what_is_staged_is_dropped_by_finish)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *staged = step("stage", "ecdsa");
	auto_json json_t *done = step("finish", "ecdsa");

	(void)staged;
	cr_expect(json_equal(made, done));
}

/* As a crash leaves it after the private key was renamed. */
Test(noded_ssh, a_switch_that_was_cut_off_is_completed)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *staged = step("stage", "ecdsa");
	auto_json json_t *after = NULL;

	(void)made;
	remove_file("/root/.ssh/id_ecdsa.pub");
	move_file("/root/.ssh/gantry_next", "/root/.ssh/id_ecdsa");
	after = step("look", "ecdsa");
	cr_expect_str_eq(only_key(after), json_str(staged, "staged", ""));
	cr_expect_null(json_get(after, "staged"));
}

/* And before it. */
Test(noded_ssh, one_that_only_began_is_made_again)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *staged = step("stage", "ecdsa");
	auto_json json_t *after = NULL;

	(void)made;
	remove_file("/root/.ssh/id_ecdsa.pub");
	after = step("make", "ecdsa");
	cr_expect_str_eq(only_key(after), json_str(staged, "staged", ""));
}

Test(noded_ssh, a_key_of_the_site_is_used_and_kept)
{
	auto_json json_t *used = NULL, *staged = NULL, *taken = NULL;
	auto_strv struct strv names = {0};
	struct error err;
	size_t kept = 0;

	test_node_write(&node, "/root/.ssh/id_rsa", "mine", 0600);
	test_node_write(&node, "/root/.ssh/id_rsa.pub", KEY_A " me@home\n",
			0644);
	used = step("make", "rsa");
	cr_expect_str_eq(only_key(used), KEY_A " me@home");
	expect_file("/root/.ssh/id_rsa", "mine", 0600);
	staged = step("stage", "rsa");
	taken = step("switch", "rsa");
	cr_expect_str_eq(only_key(taken), json_str(staged, "staged", ""));
	cr_assert_eq(fs_list(path(node.root.paths, PATH_SSH_DIR), &names, &err),
		     0);
	for (size_t i = 0; i < names.n; i++)
		kept += str_starts(names.items[i], "id_rsa.backup-");
	cr_expect_eq(kept, 2);
}

Test(noded_ssh, a_type_or_step_that_there_is_not_is_refused)
{
	test_node_fails(&node, "ssh_keys",
			json_make("[s, {s:s}]", "make", "type", "rot13"),
			"no type of SSH keys");
	test_node_fails(
		&node, "ssh_keys",
		json_make("[s, {s:s, s:i}]", "make", "type", "rsa", "bits", 12),
		"12 bits");
	test_node_fails(&node, "ssh_keys",
			json_make("[s, {s:s}]", "jump", "type", "rsa"),
			"no step");
}

/* --- who is let in --- */

Test(noded_ssh, files_are_brought_to_what_is_given)
{
	auto_json json_t *done =
		test_node_ok(&node, "ssh_keys", give(KEY_A " gantry", KEY_B));

	(void)done;
	expect_file(AUTHORIZED, KEY_A " gantry\n", 0600);
	expect_file("/var/lib/ganeti/ganeti_pub_keys",
		    "uuid-1 " KEY_A " gantry\n", 0600);
	expect_file("/var/lib/ganeti/known_hosts", "cl " KEY_A " n1\n", 0644);
}

Test(noded_ssh, lines_of_others_stay)
{
	auto_json json_t *done = NULL;

	test_node_write(&node, AUTHORIZED, "# x\n" KEY_B " a\ncommand=\"y\" z",
			0644);
	done = test_node_ok(&node, "ssh_keys", give(KEY_A " gantry", KEY_B));
	expect_file(AUTHORIZED, "# x\ncommand=\"y\" z\n" KEY_A " gantry\n",
		    0600);
}

Test(noded_ssh, a_link_is_not_followed)
{
	auto_free char *link = paths_local(node.root.paths, AUTHORIZED);

	test_node_write(&node, "/root/.ssh/elsewhere", KEY_B "\n", 0600);
	cr_assert_eq(symlink("elsewhere", link), 0);
	test_node_fails(&node, "ssh_keys", give(KEY_A " gantry", KEY_B),
			"symbolic link");
	expect_file("/root/.ssh/elsewhere", KEY_B "\n", 0600);
}

Test(noded_ssh, a_folder_that_is_a_link_is_left_alone)
{
	auto_free char *link = paths_local(node.root.paths, "/root/.ssh");

	test_node_write(&node, "/root/other/x", "", 0600);
	cr_assert_eq(symlink("other", link), 0);
	test_node_fails(&node, "ssh_keys", give(KEY_A " gantry", KEY_B),
			"left alone");
	test_node_fails(&node, "ssh_keys",
			json_make("[s, {s:s}]", "make", "type", "ecdsa"),
			"left alone");
	cr_expect_not(exists("/root/other/authorized_keys"));
	cr_expect_not(exists("/root/other/id_ecdsa"));
}

Test(noded_ssh, what_is_no_key_is_not_written)
{
	static const char *const bad[] = {"", "no key", KEY_A "\n" KEY_B,
					  "command=\"sh\" " KEY_A};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		test_node_fails(&node, "ssh_keys", give(bad[i], KEY_B),
				"no public key");
	cr_expect_not(exists(AUTHORIZED));
}

Test(noded_ssh, who_leaves_keeps_what_is_its_own)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_json json_t *left = NULL;

	(void)made;
	test_node_write(&node, "/root/.ssh/id_rsa", "mine", 0600);
	test_node_write(&node, "/root/.ssh/id_rsa.pub", KEY_B " me\n", 0644);
	test_node_write(&node, "/var/lib/ganeti/ganeti_pub_keys",
			"uuid-1 " KEY_A "\n", 0600);
	test_node_write(&node, AUTHORIZED,
			KEY_A " root@node1\n" KEY_B " me\n" KEY_B
			      " root@n gantry\n",
			0600);
	left = test_node_ok(&node, "node_leave_cluster", json_make("[b]", 1));
	expect_file(AUTHORIZED, KEY_B " me\n", 0600);
	cr_expect_not(exists("/root/.ssh/id_ecdsa"));
	cr_expect(exists("/root/.ssh/id_rsa"));
}

/* --- what verify finds --- */

static json_t *verify(const char *keys)
{
	struct error err;
	const char *me = node.root.paths->hostname;

	return test_node_ok(
		&node, "node_verify",
		json_make("[{s:[[[s, s, b, b, b], [s, s, b, b, b]], s], s:o, "
			  "s:b}, s, {}]",
			  "ssh-setup", "u1", me, 0, 1, 1, "u2", "n2", 1, 1, 1,
			  "ecdsa", "ssh-public-keys",
			  json_parse(keys, strlen(keys), &err), "ssh-clutter",
			  1, "cluster"));
}

static bool found(const json_t *answer, const char *check, const char *part)
{
	const json_t *list = json_get(answer, check);

	for (size_t i = 0; i < json_array_size(list); i++)
		if (strstr(json_string_value(json_array_get(list, i)), part))
			return true;
	return false;
}

/* Of very many nodes each tries those behind itself; nobody is there. */
Test(noded_ssh, verify_tries_a_hundred_peers)
{
	enum { ALL = 250, OWN = 200, TRIED = 100 };
	json_t *nodes = json_array();
	auto_json json_t *answer = NULL;
	const json_t *peers;

	for (int i = 0; i < ALL; i++) {
		auto_free char *name = xprintf("n%d", i);

		json_array_append_new(
			nodes,
			json_make("[s, s, s]",
				  i == OWN ? node.root.paths->hostname : name,
				  "127.61.62.63", "127.61.62.63"));
	}
	answer = test_node_ok(&node, "node_verify",
			      json_make("[{s:[o, []]}, s, {}]", "node-net-test",
					nodes, "cluster"));
	peers = json_get(answer, "node-net-test");
	cr_expect_eq(json_object_size(peers), TRIED);
	cr_expect_not_null(json_get(peers, node.root.paths->hostname));
	cr_expect_not_null(json_get(peers, "n249"));
	cr_expect_not_null(json_get(peers, "n49"));
	cr_expect_null(json_get(peers, "n50"));
	cr_expect_null(json_get(peers, "n199"));
}

Test(noded_ssh, verify_names_what_is_not_right)
{
	auto_json json_t *answer = NULL;

	test_node_write(
		&node, AUTHORIZED,
		KEY_B " root@n9 gantry\n" KEY_B " x@y\nssh-rsa CC x@y\n", 0600);
	answer = verify("{\"u2\": [\"" KEY_A " root@n2 gantry\"]}");
	cr_expect(found(answer, "ssh-setup", "there is no SSH key id_ecdsa"));
	cr_expect(found(answer, "ssh-setup", "candidate n2 is missing"));
	cr_expect(found(answer, "ssh-setup", "no master candidate: ssh-ed"));
	cr_expect(found(answer, "ssh-setup", "ganeti_pub_keys is missing"));
	cr_expect(found(answer, "ssh-clutter", "several keys of x@y"));
}

Test(noded_ssh, verify_is_silent_when_all_is_well)
{
	auto_json json_t *made = step("make", "ecdsa");
	auto_free char *keys =
		xprintf("{\"u1\": [\"%s\"], \"u2\": [\"" KEY_A " gantry\"]}",
			only_key(made));
	auto_free char *list =
		xprintf("u1 %s\nu2 " KEY_A " gantry\n", only_key(made));
	auto_json json_t *answer = NULL;

	test_node_write(&node, AUTHORIZED, KEY_A " gantry\n", 0600);
	test_node_write(&node, "/var/lib/ganeti/ganeti_pub_keys", list, 0600);
	answer = verify(keys);
	cr_expect_eq(json_array_size(json_get(answer, "ssh-setup")), 0, "%s",
		     json_text(answer));
	cr_expect_eq(json_array_size(json_get(answer, "ssh-clutter")), 0);
}
