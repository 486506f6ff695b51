/* SPDX-License-Identifier: BSD-2-Clause */
/* What the clusters are asked for, from what the source says and the options.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/move/move_body.h"
#include "cli/move/move_options.h"
#include "lib/json/json.h"

static struct error err;
static struct move_options options;
static json_t *instance, *prepared, *tags;

static void read_options(char **words)
{
	char *argv[16] = {"move-instance"};
	int n = 1;

	while (words[n - 1] != NULL) {
		argv[n] = words[n - 1];
		n++;
	}
	argv[n++] = "alpha";
	argv[n++] = "beta";
	argv[n++] = "web1";
	move_options_done(&options);
	cr_assert_eq(move_options_read(&options, n, argv, &err), 0, "%s",
		     err.text);
}

/* Options of the command line, before the clusters. */
#define OPTIONS(...) read_options((char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void setup(void)
{
	mem_init();
	options = (struct move_options){0};
	OPTIONS();
	instance = json_make(
		"{s:s, s:s, s:s, s:s, s:s, s:{s:i}, s:{s:s}, s:{s:s},"
		" s:[{s:i, s:s, s:s, s:n, s:s}, {s:i, s:s, s:n, s:i, s:s}],"
		" s:[[n, s, n, s, s, s, s, n, n], [s, s, s, s, s, s, s, s, "
		"n]]}",
		"name", "web1.example.com", "config_state", "up",
		"disk_template", "drbd", "hypervisor", "kvm", "os",
		"debootstrap", "be_instance", "maxmem", 512, "hv_instance",
		"kernel_path", "/boot/vmlinuz", "os_instance", "dhcp", "yes",
		"disks", "size", 1024, "mode", "rw", "name", "root", "spindles",
		"dev_type", "drbd", "size", 512, "mode", "ro", "name",
		"spindles", 2, "dev_type", "drbd", "nics", "u1",
		"aa:00:00:01:02:03", "bridged", "br0", "", "lan", "u2",
		"192.0.2.7", "aa:00:00:01:02:04", "routed", "10", "", "net1");
	prepared = json_make("{s:[i, s, s], s:[s, s, s], s:s}", "handshake", 0,
			     "h", "s", "x509_key_name", "k", "h", "s",
			     "x509_ca", "PEM");
	tags = json_make("[s]", "a:b");
}

static void teardown(void)
{
	move_options_done(&options);
	json_decref(instance);
	json_decref(prepared);
	json_decref(tags);
}

TestSuite(move_body, .init = setup, .fini = teardown);

static json_t *created(void)
{
	json_t *body = move_body_create(&options, instance, tags, prepared,
					false, &err);

	cr_assert_not_null(body, "%s", err.text);
	return body;
}

/* A member of the body of the creation, as text. */
static void expect(const char *key, const char *wanted)
{
	auto_json json_t *body = created();
	const json_t *value = json_object_get(body, key);
	auto_free char *text =
		value == NULL ? xstrdup("missing") : json_text_sorted(value);

	cr_assert_str_eq(text, wanted, "%s is %s, not %s", key, text, wanted);
}

/* What is sent is as large as the volume. */
Test(move_body, disks_are_as_large_as_they_really_are)
{
	auto_json json_t *body = NULL;
	const json_t *disks;

	json_object_set_new(prepared, "disk_sizes", json_make("[i]", 1028));
	body = created();
	disks = json_get(body, "disks");
	cr_assert_eq(json_int(json_array_get(disks, 0), "size", 0), 1028);
	cr_assert_gt(json_int(json_array_get(disks, 1), "size", 0), 0);
}

Test(move_body, the_whole_of_a_creation)
{
	auto_json json_t *body = created();
	auto_free char *text = json_text_sorted(body);

	cr_assert_str_eq(
		text,
		"{\"__version__\":1,\"beparams\":{\"maxmem\":512},"
		"\"compress\":\"none\",\"disk_template\":\"drbd\","
		"\"disks\":[{\"mode\":\"rw\",\"name\":\"root\",\"size\":1024},"
		"{\"mode\":\"ro\",\"size\":512,\"spindles\":2}],"
		"\"hvparams\":{\"kernel_path\":\"/boot/vmlinuz\"},"
		"\"hypervisor\":\"kvm\",\"ip_check\":false,"
		"\"mode\":\"remote-import\",\"name\":\"web1.example.com\","
		"\"name_check\":false,"
		"\"nics\":[{\"link\":\"br0\",\"mac\":\"aa:00:00:01:02:03\","
		"\"mode\":\"bridged\"},{\"ip\":\"192.0.2.7\","
		"\"mac\":\"aa:00:00:01:02:04\",\"name\":\"lan\","
		"\"network\":\"net1\"}],"
		"\"opportunistic_locking\":false,\"os\":\"debootstrap\","
		"\"osparams\":{\"dhcp\":\"yes\"},"
		"\"source_handshake\":[0,\"h\",\"s\"],"
		"\"source_instance_name\":\"web1.example.com\","
		"\"source_x509_ca\":\"PEM\",\"start\":false,"
		"\"tags\":[\"a:b\"]}",
		"%s", text);
}

Test(move_body, options_say_where_and_as_what)
{
	OPTIONS("--dest-primary-node", "n1", "--dest-secondary-node", "n2",
		"--dest-instance-name", "new.example.com",
		"--dest-disk-template", "plain");
	expect("pnode", "\"n1\"");
	expect("snode", "\"n2\"");
	expect("name", "\"new.example.com\"");
	expect("source_instance_name", "\"web1.example.com\"");
	expect("disk_template", "\"plain\"");
	expect("iallocator", "missing");
}

Test(move_body, an_allocator_and_times_are_passed_on)
{
	OPTIONS("-I", "hail", "--shutdown-timeout", "7", "--compress", "gzip");
	expect("iallocator", "\"hail\"");
	expect("pnode", "missing");
	expect("source_shutdown_timeout", "7");
	expect("compress", "\"gzip\"");
}

Test(move_body, parameters_are_laid_over_the_instance_s_own)
{
	OPTIONS("-B", "vcpus=2", "-H", "kernel_path=/x,acpi", "-O",
		"no_dhcp,a=b");
	expect("beparams", "{\"maxmem\":512,\"vcpus\":\"2\"}");
	expect("hvparams", "{\"acpi\":true,\"kernel_path\":\"/x\"}");
	expect("osparams", "{\"a\":\"b\",\"dhcp\":false}");
}

Test(move_body, a_minus_takes_a_parameter_away)
{
	OPTIONS("-H", "-kernel_path", "-B", "-maxmem,-vcpus");
	expect("hvparams", "{}");
	expect("beparams", "{}");
}

Test(move_body, memory_stands_for_both_amounts)
{
	OPTIONS("-B", "memory=1g");
	expect("beparams", "{\"memory\":\"1g\"}");
}

Test(move_body, interfaces_are_changed_one_by_one)
{
	OPTIONS("--net", "0:link=br7,mac=generate", "--net", "0:ip=192.0.2.9");
	expect("nics",
	       "[{\"ip\":\"192.0.2.9\",\"link\":\"br7\",\"mac\":\"generate\","
	       "\"mode\":\"bridged\"},{\"ip\":\"192.0.2.7\","
	       "\"mac\":\"aa:00:00:01:02:04\",\"name\":\"lan\","
	       "\"network\":\"net1\"}]");
}

/* A cluster refuses mode and link of an interface in a network. */
Test(move_body, a_network_brings_its_mode_and_link)
{
	OPTIONS("--net", "0:network=net9", "--net", "1:network=none,-name");
	expect("nics", "[{\"mac\":\"aa:00:00:01:02:03\",\"network\":\"net9\"},"
		       "{\"ip\":\"192.0.2.7\",\"link\":\"10\","
		       "\"mac\":\"aa:00:00:01:02:04\",\"mode\":\"routed\","
		       "\"network\":\"none\"}]");
}

Test(move_body, an_interface_that_is_not_there_is_refused)
{
	OPTIONS("--net", "2:link=br7");
	cr_assert_null(move_body_create(&options, instance, tags, prepared,
					false, &err));
	cr_assert_neq(strstr(err.text, "has 2"), NULL, "%s", err.text);
}

Test(move_body, storage_of_the_site_keeps_its_provider)
{
	json_t *disk = json_array_get(json_object_get(instance, "disks"), 0);

	json_set_str(disk, "dev_type", "ext");
	json_object_set_new(disk, "logical_id",
			    json_make("[s, s]", "nas", "v"));
	json_array_remove(json_object_get(instance, "disks"), 1);
	expect("disks", "[{\"mode\":\"rw\",\"name\":\"root\",\"size\":1024}]");
	OPTIONS("--dest-disk-template", "ext");
	expect("disks", "[{\"mode\":\"rw\",\"name\":\"root\","
			"\"provider\":\"nas\",\"size\":1024}]");
}

Test(move_body, what_is_not_there_is_left_out)
{
	json_object_set_new(instance, "os", json_null());
	json_array_clear(tags);
	expect("os", "missing");
	expect("tags", "missing");
}

static void expect_export(const char *key, const char *wanted)
{
	auto_json json_t *import =
		json_make("{s:[[s]], s:s}", "disks", "h", "x509_ca", "CA");
	auto_json json_t *body = move_body_export(&options, prepared, import);
	const json_t *value = json_object_get(body, key);
	auto_free char *text =
		value == NULL ? xstrdup("missing") : json_text_sorted(value);

	cr_assert_str_eq(text, wanted, "%s is %s", key, text);
}

Test(move_body, an_export_goes_where_it_is_awaited)
{
	expect_export("mode", "\"remote\"");
	expect_export("destination", "[[\"h\"]]");
	expect_export("destination_x509_ca", "\"CA\"");
	expect_export("x509_key_name", "[\"k\",\"h\",\"s\"]");
	expect_export("shutdown", "true");
	expect_export("remove_instance", "false");
	expect_export("shutdown_timeout", "missing");
	OPTIONS("--keep-source-instance", "--shutdown-timeout=0");
	expect_export("remove_instance", "false");
	expect_export("shutdown_timeout", "0");
}
