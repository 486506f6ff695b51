/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is logged in to, and with what. */
#include <string.h>

#include "lib/login/login.h"
#include "tests/lib/root.h"

static struct test_root root;
static struct login login;
static struct error err;
static const struct login_place place = {.name = "node2.example.com"};

static void setup(void)
{
	test_root_create(&root);
	setenv("HOME", root.top, 1);
	unsetenv("SSH_AUTH_SOCK");
}

static void teardown(void)
{
	login_done(&login);
	test_root_destroy(&root);
}

TestSuite(login, .init = setup, .fini = teardown);

static void write_config(const char *text)
{
	auto_free char *folder = xprintf("%s/etc/ganeti", root.paths->root);

	cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0);
	cr_assert_eq(fs_write_atomic(path(root.paths, PATH_SSH_CONFIG), text,
				     strlen(text), 0600, &err),
		     0);
}

static void expect_ends(const char *text, const char *end)
{
	cr_expect(text != NULL && str_ends(text, end), "%s",
		  text == NULL ? "NULL" : text);
}

Test(login, a_virtual_node_needs_a_configuration)
{
	cr_expect_not(login_is_used(root.paths));
	write_config("");
	cr_expect(login_is_used(root.paths));
}

Test(login, nodes_are_known_by_the_clusters_file)
{
	const struct ssh_target *t = &login.target;
	struct login_place there = place;

	setenv("SSH_AUTH_SOCK", "/agent", 1);
	write_config("StrictHostKeyChecking no\nUserKnownHostsFile /x\n"
		     "HostKeyAlias y\n");
	there.address = "192.0.2.12";
	cr_assert_eq(login_to_node(&login, root.paths, "cluster.example.com",
				   &there, &err),
		     0, "%s", err.text);
	cr_expect_str_eq(t->name, "node2.example.com");
	cr_expect_str_eq(t->address, "192.0.2.12");
	cr_expect_str_eq(t->user, "root");
	cr_expect_str_eq(t->key_alias, "cluster.example.com");
	cr_expect_str_eq(t->agent, "/agent");
	cr_expect_not(t->any_key);
	cr_expect_null(t->person);
	cr_expect_null(t->remember);
	expect_ends(t->known_hosts[0], "/var/lib/ganeti/known_hosts");
	cr_expect_null(t->known_hosts[1]);
	expect_ends(t->keys[0], "/root/.ssh/id_ed25519");
	expect_ends(t->keys[1], "/root/.ssh/id_ecdsa");
	expect_ends(t->keys[2], "/root/.ssh/id_rsa");
	cr_expect_null(t->keys[3]);
}

Test(login, a_configuration_comes_first)
{
	const struct ssh_target *t = &login.target;
	struct login_place there = place;

	write_config("Host node2.*\n HostName 192.0.2.77\n Port 77\n"
		     " User me\n IdentityFile /key\n IdentityAgent none\n"
		     " ConnectTimeout 2\n");
	there.port = 22;
	cr_assert_eq(login_to_node(&login, root.paths, "c", &there, &err), 0);
	cr_expect_str_eq(t->address, "192.0.2.77");
	cr_expect_eq(t->port, 77);
	cr_expect_str_eq(t->user, "me");
	cr_expect_str_eq(t->keys[0], "/key");
	cr_expect_null(t->agent);
	cr_expect_eq(t->step_ms, 2000);
	login_done(&login);
	there.port = 2022; /* the cluster's own */
	cr_assert_eq(login_to_node(&login, root.paths, "c", &there, &err), 0);
	cr_expect_eq(t->port, 2022);
}

static WAITS char *secret(void *arg, const char *question)
{
	(void)arg, (void)question;
	return NULL;
}

static WAITS bool trusts(void *arg, const char *host, const char *key)
{
	(void)arg, (void)host, (void)key;
	return false;
}

/* StrictHostKeyChecking says nothing of passwords. */
Test(login, a_person_is_asked_for_secrets_whatever_is_known_of_hosts)
{
	static const struct ssh_person person = {.trusts = trusts,
						 .secret = secret};

	write_config("StrictHostKeyChecking yes\n");
	cr_assert_eq(login_to_host(&login, root.paths, &place, &person, &err),
		     0);
	cr_expect_eq(login.target.person->secret, secret);
	cr_expect_null(login.target.person->trusts);
	login_done(&login);
	write_config("StrictHostKeyChecking accept-new\n");
	cr_assert_eq(login_to_host(&login, root.paths, &place, &person, &err),
		     0);
	cr_expect_eq(login.target.person->secret, secret);
	cr_expect(login.target.person->trusts(NULL, "h", "k"));
}

Test(login, a_host_is_known_to_who_runs_the_program)
{
	static const struct ssh_person person = {.secret = secret};
	const struct ssh_target *t = &login.target;

	cr_assert_eq(login_to_host(&login, root.paths, &place, &person, &err),
		     0, "%s", err.text);
	expect_ends(t->known_hosts[0], "/.ssh/known_hosts");
	cr_expect_str_eq(t->known_hosts[1], "/etc/ssh/ssh_known_hosts");
	cr_expect_str_eq(t->remember, t->known_hosts[0]);
	cr_expect_eq(t->person->secret, secret);
	cr_expect(str_starts(t->keys[0], root.top));
	expect_ends(t->keys[0], "/.ssh/id_ed25519");
	login_done(&login);
	write_config("BatchMode yes\nUserKnownHostsFile /x\nIdentityFile /k\n"
		     "IdentitiesOnly yes\n");
	cr_assert_eq(login_to_host(&login, root.paths, &place, &person, &err),
		     0);
	cr_expect_null(t->person->secret);
	cr_expect_str_eq(t->remember, "/x");
	cr_expect_str_eq(t->keys[0], "/k");
	cr_expect_null(t->keys[1]);
}

Test(login, a_configuration_that_we_cannot_follow)
{
	write_config("ProxyJump gate\n");
	cr_expect_eq(login_to_node(&login, root.paths, "c", &place, &err), -1);
	cr_expect_not_null(strstr(err.text, "etc/ganeti/ssh_config, line 1"),
			   "%s", err.text);
}
