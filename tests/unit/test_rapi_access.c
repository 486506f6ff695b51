/* SPDX-License-Identifier: BSD-2-Clause */
/* Who asks: addresses behind proxies, guesses of passwords; and the limits of
 * the daemon. */
#include <criterion/criterion.h>

#include "lib/base/mem.h"
#include "rapi/access/forwarded.h"
#include "rapi/access/guard.h"
#include "rapi/limits.h"

TestSuite(rapi_access, .init = mem_init);

static void expect(const char *peer, const char *list, const char *wanted)
{
	auto_strv struct strv proxies = {0};
	auto_free char *address = NULL;

	strv_add(&proxies, "192.0.2.1");
	strv_add(&proxies, "10.1.0.0/17");
	strv_add(&proxies, "2001:db8::/64");
	address = forwarded_address(&proxies, peer, list);
	cr_assert_str_eq(address, wanted, "%s of %s: %s", peer, list, address);
}

Test(rapi_access, who_is_no_proxy_is_himself)
{
	expect("192.0.2.2", "198.51.100.7", "192.0.2.2");
	expect("10.1.128.1", "198.51.100.7", "10.1.128.1");
	expect("::1", "198.51.100.7", "::1");
}

Test(rapi_access, a_proxy_tells_who_asks)
{
	expect("192.0.2.1", "198.51.100.7", "198.51.100.7");
	expect("192.0.2.1", NULL, "192.0.2.1");
	expect("::ffff:192.0.2.1", " 198.51.100.7:4711 ", "198.51.100.7");
	expect("2001:db8::9", "[2001:db8:1::1]:443", "2001:db8:1::1");
	expect("10.1.127.255", "2001:DB8:1:0::1", "2001:db8:1::1");
}

/* What the client itself has written into the header comes first. */
Test(rapi_access, what_a_client_claims_does_not_count)
{
	expect("192.0.2.1", "127.0.0.1, 198.51.100.7", "198.51.100.7");
	expect("192.0.2.1", "127.0.0.1, 198.51.100.7, 10.1.2.3, 2001:db8::1",
	       "198.51.100.7");
	expect("192.0.2.1", "198.51.100.7, , 10.1.2.3", "10.1.2.3");
	expect("192.0.2.1", "x\"y", "192.0.2.1");
	expect("192.0.2.1", "", "192.0.2.1");
	expect("192.0.2.1", ",", "192.0.2.1");
	expect("192.0.2.1", "[", "192.0.2.1");
	expect("192.0.2.1", "10.1.2.3", "10.1.2.3");
}

Test(rapi_access, networks_are_checked)
{
	static const char *const bad[] = {
		"",	      "x",	 "192.0.2.1/33",
		"192.0.2.1/", "::1/129", "192.0.2.1/-1",
		"10.0.0.0/8x"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(forwarded_valid_proxy(bad[i]), "%s", bad[i]);
	cr_assert(forwarded_valid_proxy("0.0.0.0/0"));
	cr_assert(forwarded_valid_proxy("::/0"));
}

Test(rapi_access, a_guesser_is_known_by_his_network)
{
	static struct guard g;

	guard_wrong(&g, "2001:db8::1", "root", 0);
	cr_assert_gt(guard_turn(&g, "2001:db8::2", 1), 0);
	cr_assert_eq(guard_turn(&g, "2001:db8:0:1::2", 1), 0);
	cr_assert_not(guard_trusts(&g, "2001:db8::1"));
	cr_assert_not(guard_trusts(&g, "2001:db8::2"));
	cr_assert(guard_trusts(&g, "2001:db8:0:1::2"));
	guard_wrong(&g, "192.0.2.1", "root", 0);
	cr_assert_eq(guard_turn(&g, "192.0.2.2", 1), 0);
}

/* A server of IPv6 may have clients of IPv4. */
Test(rapi_access, addresses_of_ipv4_are_told_apart_in_ipv6)
{
	static struct guard g;

	guard_wrong(&g, "::ffff:192.0.2.1", "root", 0);
	cr_assert_not(guard_trusts(&g, "::ffff:192.0.2.1"));
	cr_assert_eq(guard_turn(&g, "::ffff:192.0.2.2", 1), 0);
}

Test(rapi_access, only_who_guessed_nobody_elses_password_is_forgiven)
{
	static struct guard g;

	guard_wrong(&g, "192.0.2.1", "me", 0);
	guard_right(&g, "192.0.2.1", "me");
	cr_assert(guard_trusts(&g, "192.0.2.1"));
	guard_wrong(&g, "192.0.2.1", "root", 0);
	guard_wrong(&g, "192.0.2.1", "me", 0);
	guard_right(&g, "192.0.2.1", "me");
	cr_assert_not(guard_trusts(&g, "192.0.2.1"));
	cr_assert_eq(
		guard_turn(&g, "192.0.2.1", (GUARD_FORGET_S + 1) * 1000000LL),
		0);
}

/* --- limits --- */

static int set(struct limits *l, const char *text)
{
	struct error err = {0};
	int rc = limits_set(l, text, &err);

	cr_assert_eq(rc < 0, err.text[0] != '\0');
	return rc;
}

Test(rapi_access, limits_are_set_by_name)
{
	struct limits l = limits_default();

	cr_assert_eq(l.body, RAPI_BODY_MAX);
	cr_assert_eq(set(&l, "body=3M"), 0);
	cr_assert_eq(l.body, 3 << 20);
	cr_assert_eq(set(&l, "clients_per_address=7"), 0);
	cr_assert_eq(l.clients_per_address, 7);
	cr_assert_eq(l.clients, RAPI_CONNECTIONS_MAX);
}

Test(rapi_access, limits_that_are_none_are_refused)
{
	static const char *const bad[] = {"",
					  "body",
					  "body=",
					  "body=0",
					  "body=-1",
					  "body=1.5",
					  "body=1x",
					  "body=1MM",
					  "bod=1",
					  "bodys=1",
					  "body=1025M",
					  "idle=1G",
					  "body=99999999999999999999"};
	struct limits l = limits_default(), before = l;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(set(&l, bad[i]), -1, "%s", bad[i]);
	cr_assert_arr_eq(&l, &before, sizeof(l));
}
