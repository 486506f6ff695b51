/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of a site's /etc/hosts. */
#include <criterion/criterion.h>

#include "lib/base/mem.h"
#include "lib/model/files/etc_hosts.h"

static void expect(char *text STEALS, const char *wanted)
{
	auto_free char *owned = text;

	cr_expect_str_eq(owned, wanted);
}

Test(etc_hosts, a_host_has_its_name_and_the_first_part_of_it)
{
	expect(etc_hosts_add("", "192.0.2.1", "n1.example.com"),
	       "192.0.2.1\tn1.example.com n1\n");
	expect(etc_hosts_add("127.0.0.1 localhost\n", "192.0.2.1",
			     "n1.example.com"),
	       "127.0.0.1 localhost\n192.0.2.1\tn1.example.com n1\n");
	expect(etc_hosts_add("127.0.0.1 localhost", "192.0.2.1", "n1"),
	       "127.0.0.1 localhost\n192.0.2.1\tn1\n");
}

Test(etc_hosts, an_address_stands_there_once)
{
	expect(etc_hosts_add("#192.0.2.1 old\n"
			     "192.0.2.1 former.example.com\n"
			     "192.0.2.11 n1.example.com n1\n"
			     "\n"
			     " 192.0.2.1\tagain\n",
			     "192.0.2.1", "n1.example.com"),
	       "#192.0.2.1 old\n"
	       "192.0.2.1\tn1.example.com n1\n"
	       "192.0.2.11 n1.example.com n1\n"
	       "\n");
}

Test(etc_hosts, other_names_stay)
{
	expect(etc_hosts_remove("127.0.0.1 localhost n1.example.com n1\n"
				"192.0.2.1\tn1.example.com n1\n"
				"192.0.2.2\tn1 storage # of n1\n"
				"192.0.2.3\tn10 # n1 is elsewhere\n"
				"# n1 was here\n"
				"192.0.2.4\n"
				"\n",
				"n1.example.com"),
	       "127.0.0.1 localhost\n"
	       "192.0.2.2 storage # of n1\n"
	       "192.0.2.3\tn10 # n1 is elsewhere\n"
	       "# n1 was here\n"
	       "192.0.2.4\n"
	       "\n");
	expect(etc_hosts_remove("192.0.2.1 n1\n", "n1"), "");
	expect(etc_hosts_remove("", "n1"), "");
}
