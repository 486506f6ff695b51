/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenSSH's configuration of clients. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/ssh/ssh_config.h"

static struct ssh_config c;
static struct error err;

static int read_for(const char *host, const char *text)
{
	return ssh_config_read(&c, text, "FILE", host, "/home/me", &err);
}

Test(ssh_config, the_first_value_counts)
{
	cr_assert_eq(read_for("a.example.com",
			      "# comment\n"
			      "User one\n"
			      "Host b.example.com\n"
			      "  HostName 192.0.2.2\n"
			      "  User two\n"
			      "HOST *.example.com !c.example.com\n"
			      "\thostname=192.0.2.1\n"
			      "  Port = 2222\n"
			      "  User three\n"
			      "  ConnectTimeout 3\n"
			      "Host *\n"
			      "  Port 4\n"),
		     0, "%s", err.text);
	cr_expect_str_eq(c.user, "one");
	cr_expect_str_eq(c.hostname, "192.0.2.1");
	cr_expect_eq(c.port, 2222);
	cr_expect_eq(c.connect_s, 3);
	ssh_config_done(&c);
}

Test(ssh_config, a_host_can_be_excepted)
{
	cr_assert_eq(read_for("c.example.com", "Host *.example.com !c.*\n"
					       "  User x\nMatch all\n"
					       "User y\n"),
		     0);
	cr_expect_null(c.user);
	ssh_config_done(&c);
}

Test(ssh_config, files_of_keys_add_up)
{
	cr_assert_eq(read_for("h", "IdentityFile ~/.ssh/a\n"
				   "IdentityFile \"/x y/b\"\r\n"
				   "IdentitiesOnly yes\nIdentityAgent none\n"
				   "UserKnownHostsFile /a ~/b\n"
				   "UserKnownHostsFile /c\n"
				   "GlobalKnownHostsFile none\n"
				   "HostKeyAlias cluster\n"
				   "BatchMode yes\nBatchMode no\n"),
		     0, "%s", err.text);
	cr_assert_eq(c.keys.n, 2);
	cr_expect_str_eq(c.keys.items[0], "/home/me/.ssh/a");
	cr_expect_str_eq(c.keys.items[1], "/x y/b");
	cr_assert_eq(c.known_hosts.n, 2);
	cr_expect_str_eq(c.known_hosts.items[0], "/a");
	cr_expect_str_eq(c.known_hosts.items[1], "/home/me/b");
	cr_expect(c.keys_only);
	cr_expect(c.batch);
	cr_expect_str_eq(c.agent, "none");
	cr_expect_str_eq(c.key_alias, "cluster");
	ssh_config_done(&c);
}

Test(ssh_config, how_strict)
{
	static const struct {
		const char *text;
		enum ssh_strict strict;
	} cases[] = {
		{"", SSH_STRICT_UNSET},
		{"StrictHostKeyChecking ask", SSH_STRICT_ASK},
		{"StrictHostKeyChecking yes", SSH_STRICT_YES},
		{"StrictHostKeyChecking=no\nStrictHostKeyChecking yes",
		 SSH_STRICT_NO},
		{"stricthostkeychecking accept-new", SSH_STRICT_NEW},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect_eq(read_for("h", cases[i].text), 0);
		cr_expect_eq(c.strict, cases[i].strict, "%s", cases[i].text);
		ssh_config_done(&c);
	}
}

Test(ssh_config, what_we_cannot_do_is_an_error)
{
	static const char *const texts[] = {
		"\nProxyJump gate",    "\nProxyCommand nc %h %p",
		"\nPort http",	       "\nPort 0",
		"\nPort 65536",	       "\nPort",
		"\nBatchMode perhaps", "\nStrictHostKeyChecking perhaps",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		cr_expect_eq(read_for("h", texts[i]), -1, "%s", texts[i]);
		cr_expect_not_null(strstr(err.text, "FILE, line 2: "), "%s",
				   err.text);
		ssh_config_done(&c);
	}
	cr_expect_eq(read_for("h", "Host other\nProxyJump gate\n"
				   "Host h\nProxyJump none\nCiphers x\n"),
		     0);
	ssh_config_done(&c);
}
