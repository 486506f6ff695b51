/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/ippool.h"

static struct error err;

static json_t *network(const char *subnet)
{
	json_t *object =
		json_make("{s:s, s:s}", "name", "net1", "network", subnet);

	cr_assert_eq(ippool_begin(object, &err), 0, "%s", err.text);
	return object;
}

Test(ippool, subnets_have_a_size_and_no_host_bits)
{
	static const char *const bad[] = {"",
					  "192.0.2.0",
					  "192.0.2.0/",
					  "192.0.2.1/24",
					  "192.0.2.0/31",
					  "10.0.0.0/8",
					  "192.0.2.0/-1",
					  "192.0.2/24",
					  "192.0.2.0/24x",
					  "fe80::/64"};
	struct ippool p;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect_eq(ippool_parse(bad[i], &p, &err), -1, "%s", bad[i]);
	cr_assert_eq(ippool_parse("10.1.0.0/16", &p, &err), 0);
	cr_expect_eq(p.size, 65536);
	cr_assert_eq(ippool_parse("192.0.2.4/30", &p, &err), 0);
	cr_expect_eq(p.size, 4);
}

Test(ippool, a_new_network_keeps_its_first_and_last_address)
{
	auto_json json_t *net = network("192.0.2.0/30");
	auto_free char *first = ippool_find(net, NULL, &err);

	cr_expect_str_eq(json_str(net, "reservations", ""), "0000");
	cr_expect_str_eq(json_str(net, "ext_reservations", ""), "1001");
	cr_expect_str_eq(first, "192.0.2.1");
}

Test(ippool, an_address_is_taken_once_and_given_back_once)
{
	auto_json json_t *net = network("192.0.2.0/29");

	cr_assert_eq(ippool_take(net, "192.0.2.3", false, &err), 0);
	cr_expect_str_eq(json_str(net, "reservations", ""), "00010000");
	cr_expect(ippool_is_taken(net, "192.0.2.3"));
	cr_expect(ippool_is_used(net, "192.0.2.3"));
	cr_expect_eq(ippool_take(net, "192.0.2.3", false, &err), -1);
	cr_expect_eq(ippool_give(net, "192.0.2.3", true, &err), -1);
	cr_expect_eq(ippool_give(net, "192.0.2.3", false, &err), 0);
	cr_expect_eq(ippool_give(net, "192.0.2.3", false, &err), -1);
	cr_expect_eq(ippool_take(net, "192.0.3.3", false, &err), -1);
	cr_expect_eq(ippool_take(net, "nonsense", false, &err), -1);
}

Test(ippool, what_an_instance_has_may_be_kept_from_all)
{
	auto_json json_t *net = network("192.0.2.0/29");

	cr_assert_eq(ippool_take(net, "192.0.2.3", false, &err), 0);
	cr_expect_eq(ippool_take(net, "192.0.2.3", true, &err), 0);
	cr_expect_eq(ippool_take(net, "192.0.2.3", true, &err), -1);
	cr_expect_eq(ippool_give(net, "192.0.2.3", false, &err), 0);
	cr_expect(ippool_is_taken(net, "192.0.2.3"));
	cr_expect_not(ippool_is_used(net, "192.0.2.3"));
	cr_expect_eq(ippool_take(net, "192.0.2.3", false, &err), 0);
}

Test(ippool, a_full_network_says_so)
{
	auto_json json_t *net = network("192.0.2.0/30");
	auto_strv struct strv others = {0};

	strv_add(&others, "192.0.2.2");
	cr_assert_eq(ippool_take(net, "192.0.2.1", false, &err), 0);
	cr_expect_null(ippool_find(net, &others, &err));
	cr_expect_not_null(strstr(err.text, "no free address"));
}

Test(ippool, short_strings_count_as_free)
{
	auto_json json_t *net = json_make(
		"{s:s, s:s, s:s, s:s}", "name", "n", "network", "192.0.2.0/29",
		"reservations", "0", "ext_reservations", "");

	cr_assert_eq(ippool_take(net, "192.0.2.6", true, &err), 0);
	cr_expect_str_eq(json_str(net, "ext_reservations", ""), "00000010");
}

/* Each digit that is looked at, or set, must not cost as much as all of them:
 * of a network of 65,536 addresses that would be seconds. */
Test(ippool, the_largest_network_is_quick, .timeout = 60)
{
	auto_json json_t *network = json_make("{s:s, s:s}", "name", "big",
					      "network", "198.18.0.0/16");
	char ip[32];

	cr_assert_eq(ippool_begin(network, &err), 0);
	for (unsigned i = 1; i < 65534; i++) {
		snprintf(ip, sizeof(ip), "198.18.%u.%u", i / 256, i % 256);
		cr_assert_eq(ippool_take(network, ip, i % 2 == 0, &err), 0);
	}
	for (int i = 0; i < 500; i++) {
		auto_free char *last = ippool_find(network, NULL, &err);

		cr_assert_str_eq(last, "198.18.255.254");
	}
}
