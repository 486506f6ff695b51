/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/config/reserve.h"

#include "lib/base/random.h"
#include "masterd/config/config.h"
#include "tests/lib/root.h"

#define LINK "bridged/br0"

static struct test_root root;
static struct config *config;
static struct reserve *reserve;
static struct error err;

static void setup(void)
{
	mem_init();
	test_root_create(&root);
	test_root_add_config(&root);
	config = config_load(disk_real(), root.paths, &err);
	cr_assert_not_null(config, "%s", err.text);
	reserve = reserve_create(config);
}

static void teardown(void)
{
	reserve_destroy(reserve);
	config_free(config);
	test_root_destroy(&root);
}

TestSuite(reserve, .init = setup, .fini = teardown);

Test(reserve, generates_macs_that_differ)
{
	auto_free char *a = NULL, *b = NULL, *c = NULL;

	random_seed(7);
	a = reserve_mac_generate(reserve, 1, NULL, &err);
	random_seed(7);
	b = reserve_mac_generate(reserve, 2, NULL, &err);
	cr_assert_str_neq(a, b, "the same random numbers, another address");
	cr_assert(str_starts(a, "aa:00:00:"), "%s", a);
	cr_assert_eq(strlen(a), 17);
	c = reserve_mac_generate(reserve, 2, "02:11:22", &err);
	cr_assert(str_starts(c, "02:11:22:"));
}

Test(reserve, refuses_what_is_taken)
{
	cr_assert_eq(reserve_mac(reserve, 1, "aa:00:00:08:9f:dd", &err), -1);
	cr_assert_eq(err.kind, ERR_RESERVATION);
	cr_assert_eq(reserve_mac(reserve, 1, "aa:00:00:00:00:01", &err), 0);
	cr_assert_eq(reserve_mac(reserve, 2, "aa:00:00:00:00:01", &err), -1);
	reserve_release(reserve, 1);
	cr_assert_eq(reserve_mac(reserve, 2, "aa:00:00:00:00:01", &err), 0);
}

Test(reserve, names_are_unique)
{
	cr_assert_eq(reserve_name(reserve, 1, "inst5.example.com", &err), -1);
	cr_assert_str_eq(err.ecode, ECODE_EXISTS);
	cr_assert_eq(reserve_name(reserve, 1, "inst5", &err), 0,
		     "a name of its own, though a prefix");
	cr_assert_eq(reserve_name(reserve, 2, "inst5", &err), -1);
}

Test(reserve, an_address_is_taken_on_its_link)
{
	cr_assert_eq(reserve_ip(reserve, 1, "192.0.2.77", LINK, &err), 0);
	cr_assert_eq(reserve_ip(reserve, 2, "192.0.2.77", LINK, &err), -1);
	cr_assert_eq(reserve_ip(reserve, 2, "192.0.2.77", "bridged/br1", &err),
		     0);
	reserve_release(reserve, 1);
	cr_assert_eq(reserve_ip(reserve, 2, "192.0.2.77", LINK, &err), 0);
}

Test(reserve, addresses_of_nodes_are_taken)
{
	cr_assert_eq(reserve_ip(reserve, 1, "198.51.100.13", LINK, &err), -1);
	cr_assert_eq(reserve_ip(reserve, 1, "198.51.100.99", LINK, &err), 0);
	cr_assert_eq(reserve_ip(reserve, 1, "198.51.100.99", LINK, &err), -1);
}

Test(reserve, ports_are_noted_in_the_cluster)
{
	int a = reserve_port(reserve, 1, &err);
	int b = reserve_port(reserve, 2, &err);

	cr_assert_eq(a, 11000);
	cr_assert_eq(b, 11001);
	cr_assert_eq(json_int(config_cluster(config), "highest_used_port", 0),
		     11001);
	reserve_release(reserve, 1);
	cr_assert_eq(reserve_port(reserve, 3, &err), 11000);
}

static void expect_free_ports(const char *wanted)
{
	auto_free char *text =
		json_text(json_get(config_cluster(config), "tcpudp_port_pool"));

	cr_expect_str_eq(text, wanted);
}

static void give_port(int port)
{
	json_t *inst = config_edit(
		config_find(config, CONFIG_INSTANCE, "inst5.example.com"));

	json_set_int(inst, "network_port", port);
	config_put(config, CONFIG_INSTANCE, inst);
}

/* Ganeti takes only those, and those above the highest that was ever used. */
Test(reserve, ports_that_are_free_again_are_listed)
{
	json_t *cluster = config_edit(config_cluster(config));

	json_object_set_new(cluster, "tcpudp_port_pool",
			    json_make("[i, i]", 15007, 11002));
	config_put_cluster(config, cluster);
	for (uint64_t job = 1; job <= 4; job++)
		reserve_port(reserve, job, &err);
	give_port(11002);
	expect_free_ports("[15007]");
	reserve_release(reserve, 1);
	reserve_release(reserve, 2); /* both have failed */
	reserve_release(reserve, 3);
	cr_assert_eq(reserve_port(reserve, 5, &err), 11000);
	expect_free_ports("[11001,15007]");
	give_port(11001);
	cr_assert_eq(reserve_port(reserve, 6, &err), 11002);
	expect_free_ports("[15007]");
}

Test(reserve, ports_run_out)
{
	for (int i = 11000; i <= 14999; i++)
		cr_assert_eq(reserve_port(reserve, 1, &err), i);
	cr_assert_eq(reserve_port(reserve, 1, &err), 0);
	cr_assert_eq(err.kind, ERR_RESERVATION);
}

static json_t *mirror(const char *node, int minor)
{
	return json_make("{s:s, s:s, s:[s, s, i, i, i, s], s:i, s:f, s:f, "
			 "s:i}",
			 "uuid", "11111111-1111-4111-8111-111111111111",
			 "dev_type", "drbd", "logical_id", "elsewhere", node,
			 11000, 0, minor, "secret", "size", 64, "ctime", 0.0,
			 "mtime", 0.0, "serial_no", 1);
}

Test(reserve, minors_are_free_on_their_node)
{
	config_put(config, CONFIG_DISK, mirror("here", 1));
	cr_assert_eq(reserve_minor(reserve, 1, "here"), 0);
	cr_assert_eq(reserve_minor(reserve, 2, "here"), 2, "1 is a disk's");
	cr_assert_eq(reserve_minor(reserve, 2, "here"), 3);
	cr_assert_eq(reserve_minor(reserve, 2, "there"), 0);
	reserve_release(reserve, 1);
	cr_assert_eq(reserve_minor(reserve, 3, "here"), 0);
}

/* Nobody else has a turn meanwhile. */
Test(reserve, a_minor_is_found_among_thousands, .timeout = 60)
{
	for (int i = 0; i < 2000; i++) {
		auto_free char *uuid =
			xprintf("11111111-1111-4111-8111-11111111%04d", i);
		json_t *disk = mirror("here", i);

		json_set_str(disk, "uuid", uuid);
		config_put(config, CONFIG_DISK, disk);
	}
	for (int i = 0; i < 300; i++)
		cr_assert_eq(reserve_minor(reserve, 1, "here"), 2000 + i);
	cr_assert_eq(reserve_minor(reserve, 1, "there"), 0);
}

Test(reserve, a_path_is_one_disks)
{
	json_t *disk = mirror("here", 1);

	json_object_set_new(disk, "logical_id",
			    json_make("[s, s]", "loop", "ganeti/u.1"));
	json_set_str(disk, "dev_type", "gluster");
	config_put(config, CONFIG_DISK, disk);
	cr_assert(reserve_path(reserve, 1, "ganeti/u.0"));
	cr_assert(!reserve_path(reserve, 1, "ganeti/u.0"), "a job's");
	cr_assert(!reserve_path(reserve, 1, "ganeti/u.1"), "a disk's");
	reserve_release(reserve, 1);
	cr_assert(reserve_path(reserve, 2, "ganeti/u.0"));
}
