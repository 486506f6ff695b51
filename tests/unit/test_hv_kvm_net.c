/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of NICs: as command lines, and with real devices in a network of
 * the test's own, where that may be made. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_net.h"
#include "noded/hv/kvm/hv_kvm_tap.h"
#include "tests/lib/netns.h"

static struct error err;

TestSuite(hv_kvm_net, .init = test_loop_start, .fini = test_loop_stop,
	  .timeout = 60);

static void has(const char *text, const char *part)
{
	cr_assert_not_null(text, "%s", err.text);
	cr_expect_not_null(strstr(text, part), "no '%s' in: %s", part, text);
}

/* --- the commands --- */

/* What is run for a NIC, a line each; NULL and err.  To be freed. */
static char *commands_of(const char *nic_text)
{
	auto_json json_t *nic = json_parse(nic_text, strlen(nic_text), &err);
	auto_json json_t *instance = json_make("{s:s}", "name", "web1");
	const struct kvm_nic n = {
		.instance = instance, .nic = nic, .seq = 0, .tap = "tap7"};
	auto_json json_t *commands =
		kvm_net_commands(&n, "aa:bb:cc:dd:ee:ff", 9000, &err);
	struct buf lines = {0};

	for (size_t i = 0; i < json_array_size(commands); i++) {
		auto_strv struct strv words = {0};
		auto_free char *line = NULL;

		json_to_strv(json_array_get(commands, i), &words);
		line = strv_join(&words, " ");
		buf_addf(&lines, "%s\n", line);
	}
	return commands == NULL ? NULL : buf_steal(&lines);
}

Test(hv_kvm_net, a_bridged_nic_is_a_port_of_the_bridge)
{
	auto_free char *lines = commands_of(
		"{\"nicparams\": {\"mode\": \"bridged\", \"link\": \"br0\"}}");

	cr_assert_str_eq(lines,
			 "ip link set dev tap7 address fe:bb:cc:dd:ee:ff\n"
			 "ip link set dev tap7 mtu 9000\n"
			 "ip link set dev tap7 up\n"
			 "ip link set dev tap7 master br0\n");
}

Test(hv_kvm_net, a_bridge_may_have_vlans)
{
	auto_free char *lines =
		commands_of("{\"nicparams\": {\"mode\": \"bridged\", \"link\": "
			    "\"br0\", \"vlan\": \".5:6:7\"}}");

	has(lines, "bridge vlan add dev tap7 vid 5 pvid untagged master\n"
		   "bridge vlan add dev tap7 vid 6 master\n"
		   "bridge vlan add dev tap7 vid 7 master\n");
}

Test(hv_kvm_net, a_switch_gets_a_port_with_its_vlans)
{
	static const struct {
		const char *vlan, *port;
	} rows[] = {
		{"", "add-port sw tap7\n"},
		{"5", "add-port sw tap7 tag=5\n"},
		{".5", "add-port sw tap7 tag=5\n"},
		{":5:6", "add-port sw tap7 trunks=5,6\n"},
		{".5:6:7", "add-port sw tap7 tag=5 trunks=6,7 "
			   "vlan_mode=native-untagged\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *nic = xprintf(
			"{\"nicparams\": {\"mode\": \"openvswitch\", \"link\": "
			"\"sw\", \"vlan\": \"%s\"}}",
			rows[i].vlan);
		auto_free char *lines = commands_of(nic);

		has(lines, "ovs-vsctl -- --if-exists del-port tap7 -- ");
		has(lines, rows[i].port);
	}
}

Test(hv_kvm_net, a_routed_nic_is_reached_through_its_table)
{
	auto_free char *lines = commands_of(
		"{\"ip\": \"192.0.2.7\", \"nicparams\": {\"mode\": \"routed\", "
		"\"link\": \"100\"}}");
	auto_free char *main = commands_of(
		"{\"ip\": \"2001:db8::7\", \"nicparams\": {\"mode\": "
		"\"routed\", \"link\": \"\"}}");

	cr_assert_str_eq(lines,
			 "ip link set dev tap7 up\n"
			 "ip -4 rule add dev tap7 table 100\n"
			 "ip -4 route replace 192.0.2.7 table 100 proto static "
			 "dev tap7\n");
	has(main, "ip -6 route replace 2001:db8::7 proto static dev tap7\n");
}

/* It is for metadata alone: no table, nobody behind it. */
Test(hv_kvm_net, an_instance_reaches_its_node)
{
	auto_free char *lines = commands_of(
		"{\"name\": \"ganeti:communication:0\", \"ip\": "
		"\"169.254.0.3\", "
		"\"nicparams\": {\"mode\": \"routed\", \"link\": \"100\"}}");

	cr_assert_str_eq(
		lines,
		"ip link set dev tap7 up\n"
		"ip address replace 169.254.169.254/32 dev tap7\n"
		"ip -4 route replace 169.254.0.3/32 proto static dev tap7\n");
}

Test(hv_kvm_net, what_cannot_be_connected_is_refused)
{
	cr_assert_null(commands_of("{\"nicparams\": {\"mode\": \"routed\"}}"));
	has(err.text, "no IP address");
	cr_assert_null(commands_of("{\"nicparams\": {\"mode\": \"bridged\", "
				   "\"link\": \"\"}}"));
	has(err.text, "link");
	cr_assert_null(
		commands_of("{\"nicparams\": {\"mode\": \"openvswitch\", "
			    "\"link\": \"a -- del-br b\"}}"));
	has(err.text, "cannot be the link");
	cr_assert_null(commands_of("{\"nicparams\": {\"mode\": \"tunnel\", "
				   "\"link\": \"x\"}}"));
	has(err.text, "'tunnel' is not known");
}

/* --- the site's script --- */

Test(hv_kvm_net, the_script_sees_what_ganetis_does)
{
	auto_json json_t *instance =
		json_make("{s:s, s:[s, s]}", "name", "web1", "tags", "a", "b");
	auto_json json_t *nic = json_make(
		"{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:[s]}}",
		"mac", "aa:00:00:00:00:01", "ip", "192.0.2.7", "uuid", "u-1",
		"name", "front", "nicparams", "mode", "bridged", "link", "br0",
		"vlan", ".5", "netinfo", "name", "net", "network",
		"192.0.2.0/24", "tags", "t");
	const struct kvm_nic n = {
		.instance = instance, .nic = nic, .seq = 2, .tap = "tap7"};
	auto_strv struct strv env = {0};
	static const char *const wanted[] = {
		"INSTANCE=web1",
		"MAC=aa:00:00:00:00:01",
		"MODE=bridged",
		"INTERFACE=tap7",
		"INTERFACE_INDEX=2",
		"INTERFACE_UUID=u-1",
		"INTERFACE_NAME=front",
		"TAGS=a b",
		"IP=192.0.2.7",
		"LINK=br0",
		"VLAN=.5",
		"BRIDGE=br0",
		"NETWORK_NAME=net",
		"NETWORK_SUBNET=192.0.2.0/24",
		"NETWORK_TAGS=t",
	};

	kvm_net_env(&n, &env);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		cr_expect(strv_has(&env, wanted[i]), "no %s", wanted[i]);
}

/* --- real devices --- */

struct job {
	const struct paths *p;
	const struct kvm_nic *nic;
	const json_t *notes;
	int rc;
};

static void up_task(void *arg)
{
	struct job *j = arg;

	j->rc = kvm_net_up(j->p, j->nic, &err);
}

static void down_task(void *arg)
{
	struct job *j = arg;
	auto_json json_t *nics = json_make("[O]", j->nic->nic);

	kvm_net_down(nics, j->notes);
}

static void net_down(const struct kvm_nic *nic, const json_t *notes)
{
	struct job j = {.nic = nic, .notes = notes};

	task_spawn("down", down_task, &j);
	test_run_tasks();
}

static int net_up(const struct paths *p, const struct kvm_nic *nic)
{
	struct job j = {.p = p, .nic = nic};

	task_spawn("up", up_task, &j);
	test_run_tasks();
	return j.rc;
}

static struct kvm_tap tap_of(const char *hv_text)
{
	auto_json json_t *hv = json_parse(hv_text, strlen(hv_text), &err);
	struct kvm_tap tap;

	cr_assert_eq(kvm_tap_open(hv, &tap, &err), 0, "%s", err.text);
	return tap;
}

Test(hv_kvm_net, a_device_goes_with_its_last_user)
{
	struct kvm_tap tap;
	auto_free char *there = NULL, *gone = NULL;

	own_node();
	tap = tap_of("{\"virtio_net_queues\": 4}");
	cr_assert_eq(tap.n_queues, 4);
	cr_assert_str_eq(tap.name, "tap0");
	there = PRINTED("ip", "-d", "link", "show", "tap0");
	has(there, "vnet_hdr on");
	has(there, "multi_queue numqueues 4");
	kvm_tap_close(&tap);
	gone = PRINTED("ip", "link", "show");
	cr_expect_null(strstr(gone, "tap0"), "%s", gone);
}

Test(hv_kvm_net, a_header_is_for_virtio_that_wants_it)
{
	struct kvm_tap tap;
	auto_free char *plain = NULL, *other = NULL;

	own_node();
	tap = tap_of("{\"vnet_hdr\": false}");
	plain = PRINTED("ip", "-d", "link", "show", "tap0");
	cr_expect_null(strstr(plain, "vnet_hdr on"), "%s", plain);
	kvm_tap_close(&tap);
	tap = tap_of("{\"nic_type\": \"e1000\", \"virtio_net_queues\": 4}");
	cr_expect_eq(tap.n_queues, 1);
	other = PRINTED("ip", "-d", "link", "show", "tap0");
	cr_expect_null(strstr(other, "vnet_hdr on"), "%s", other);
	kvm_tap_close(&tap);
}

Test(hv_kvm_net, a_bridged_device_is_in_the_bridge)
{
	struct test_root root;
	struct kvm_tap tap;
	auto_json json_t *nic = json_make("{s:{s:s, s:s}}", "nicparams", "mode",
					  "bridged", "link", "br0");
	struct kvm_nic n = {.nic = nic};
	auto_free char *link = NULL;

	own_node();
	test_root_create(&root);
	tap = tap_of("{}");
	n.tap = tap.name;
	cr_assert_eq(net_up(root.paths, &n), 0, "%s", err.text);
	link = PRINTED("ip", "link", "show", "tap0");
	has(link, "master br0");
	has(link, "mtu 1400");
	has(link, "link/ether fe:");
	json_set_str(json_object_get(nic, "nicparams"), "link", "br9");
	cr_assert_eq(net_up(root.paths, &n), -1);
	has(err.text, "Cannot connect NIC 0 (tap0)");
	kvm_tap_close(&tap);
	test_root_destroy(&root);
}

/* The kind decides, not the name: a container's end has any. */
Test(hv_kvm_net, a_vlan_is_for_ports_that_are_no_guests)
{
	static const char *const ports[] = {"tapped", "outside", "stacked"};
	struct kvm_tap guest;
	auto_free char *lines = NULL;

	own_node();
	if (mount("sysfs", "/sys", "sysfs", 0, NULL) < 0)
		cr_skip_test("no devices of our own in /sys");
	guest = tap_of("{}");
	free(PRINTED("ip", "link", "set", guest.name, "master", "br0"));
	free(PRINTED("ip", "link", "add", "tapped", "type", "vxlan", "id", "5",
		     "dstport", "4789"));
	free(PRINTED("ip", "netns", "add", "container"));
	free(PRINTED("ip", "link", "add", "outside", "type", "veth", "peer",
		     "name", "inside"));
	free(PRINTED("ip", "link", "set", "inside", "netns", "container"));
	free(PRINTED("ip", "link", "add", "stacked", "type", "veth", "peer",
		     "name", "lower"));
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		free(PRINTED("ip", "link", "set", ports[i], "master", "br0"));
	lines = commands_of("{\"nicparams\": {\"mode\": \"bridged\", \"link\": "
			    "\"br0\", \"vlan\": \".5\"}}");
	has(lines, "bridge vlan add dev tapped vid 5 master\n");
	has(lines, "bridge vlan add dev stacked vid 5 master\n");
	cr_expect_null(strstr(lines, "dev outside"), "%s", lines);
	cr_expect_null(strstr(lines, "dev tap0"), "%s", lines);
	kvm_tap_close(&guest);
}

static json_t *routed(void)
{
	return json_make("{s:s, s:{s:s, s:s}}", "ip", "192.0.2.7", "nicparams",
			 "mode", "routed", "link", "100");
}

Test(hv_kvm_net, a_routed_device_has_its_route_and_rule_once)
{
	struct test_root root;
	struct kvm_tap tap;
	auto_json json_t *nic = routed();
	struct kvm_nic n = {.nic = nic};
	auto_json json_t *notes = json_object();
	auto_free char *route = NULL, *rules = NULL, *after = NULL;
	const char *first;

	own_node();
	test_root_create(&root);
	tap = tap_of("{}");
	n.tap = tap.name;
	cr_assert_eq(net_up(root.paths, &n), 0, "%s", err.text);
	cr_assert_eq(net_up(root.paths, &n), 0, "%s", err.text);
	route = PRINTED("ip", "route", "show", "table", "100");
	has(route, "192.0.2.7 dev tap0 proto static");
	rules = PRINTED("ip", "rule");
	has(rules, "iif tap0 lookup 100");
	first = strstr(rules, "iif tap0");
	cr_expect_null(strstr(first + 1, "iif tap0"), "%s", rules);
	kvm_net_note(notes, "nic0", tap.name);
	net_down(&n, notes);
	after = PRINTED("ip", "rule");
	cr_expect_null(strstr(after, "tap0"), "%s", after);
	kvm_tap_close(&tap);
	test_root_destroy(&root);
}

/* The kernel gives a free name to the next device. */
Test(hv_kvm_net, what_another_device_of_its_name_has_stays)
{
	struct test_root root;
	struct kvm_tap tap;
	auto_json json_t *nic = routed();
	struct kvm_nic n = {.nic = nic};
	auto_json json_t *dead = json_object(), *alive = json_object();
	auto_free char *rules = NULL, *after = NULL;

	own_node();
	test_root_create(&root);
	tap = tap_of("{}");
	kvm_net_note(dead, "nic0", tap.name);
	kvm_tap_close(&tap);
	tap = tap_of("{}");
	cr_assert_str_eq(tap.name,
			 json_str(json_get(dead, "taps"), "nic0", ""));
	kvm_net_note(alive, "nic0", tap.name);
	n.tap = tap.name;
	cr_assert_eq(net_up(root.paths, &n), 0, "%s", err.text);
	net_down(&n, dead);
	json_object_del(dead, "tap_indexes");
	net_down(&n, dead);
	rules = PRINTED("ip", "rule");
	has(rules, "iif tap0 lookup 100");
	kvm_tap_close(&tap);
	net_down(&n, alive);
	after = PRINTED("ip", "rule");
	cr_expect_null(strstr(after, "tap0"), "%s", after);
	test_root_destroy(&root);
}

Test(hv_kvm_net, a_sites_script_takes_the_place_of_ours)
{
	struct test_root root;
	auto_json json_t *nic = json_make("{s:{s:s, s:s}}", "nicparams", "mode",
					  "bridged", "link", "none");
	const struct kvm_nic n = {.nic = nic, .tap = "tap7"};
	auto_free char *script = NULL;
	FILE *f;

	test_root_create(&root);
	cr_assert_eq(fs_mkdirs(path(root.paths, PATH_ETC_DIR), 0755, &err), 0);
	script = xprintf("%s/" KVM_NET_SCRIPT, path(root.paths, PATH_ETC_DIR));
	f = fopen(script, "w");
	cr_assert_not_null(f);
	fputs("#!/bin/sh\n[ $# = 0 ] && [ \"$INTERFACE $MODE\" = 'tap7 "
	      "bridged' ] "
	      "&& [ -z \"$IP\" ] && exit 0\necho \"not so: $INTERFACE\"\nexit "
	      "3\n",
	      f);
	fchmod(fileno(f), 0755);
	fclose(f);
	cr_assert_eq(net_up(root.paths, &n), 0, "%s", err.text);
	json_set_str(json_object_get(nic, "nicparams"), "mode", "routed");
	cr_assert_eq(net_up(root.paths, &n), -1);
	has(err.text, "not so: tap7");
	test_root_destroy(&root);
}
