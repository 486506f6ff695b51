/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"
#include "tests/lib/compat.h"

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

static void check_cluster(const json_t *cluster)
{
	auto_json json_t *hv = params_default_hvparams();
	auto_json json_t *be = params_default_be();
	auto_json json_t *nd = params_default_nd();
	auto_json json_t *disk = params_default_diskparams();

	compat_assert_same(hv, json_object_get(cluster, "hvparams"));
	compat_assert_same(be,
			   json_object_get(json_object_get(cluster, "beparams"),
					   "default"));
	compat_assert_same(nd, json_object_get(cluster, "ndparams"));
	compat_assert_same(disk, json_object_get(cluster, "diskparams"));
}

Test(params, defaults_are_those_of_a_real_cluster)
{
	auto_json json_t *config = compat_read("config.data");

	check_cluster(json_object_get(config, "cluster"));
}

Test(params, defaults_are_those_of_the_recorded_cluster)
{
	auto_json json_t *config =
		compat_read_shared("state/node1/var-lib-ganeti/config.data");

	check_cluster(json_object_get(config, "cluster"));
}

Test(params, all_six_hypervisors_and_nine_templates)
{
	auto_json json_t *all = params_default_hvparams();
	auto_strv struct strv names = {0};

	cr_assert_eq(json_object_size(all), HYPERVISOR_COUNT);
	for (const char *const *h = hypervisor_names; *h != NULL; h++)
		cr_assert_not_null(json_object_get(all, *h), "%s", *h);
	json_decref(all);
	all = params_default_diskparams();
	cr_assert_eq(json_object_size(all), TEMPLATE_COUNT);
	for (const char *const *t = template_names; *t != NULL; t++)
		cr_assert_not_null(json_object_get(all, *t), "%s", *t);
	params_hv_names(&names);
	for (const char *const *h = hypervisor_names; *h != NULL; h++)
		for (const struct param *p = params_table(FAMILY_HV, *h);
		     p->name != NULL; p++)
			cr_assert(strv_has(&names, p->name), "%s", p->name);
	cr_assert_null(params_default_hv("nosuch"));
	cr_assert_null(template_find(NULL));
}

Test(params, fill_puts_os_between_cluster_and_instance)
{
	auto_json json_t *cluster =
		parse("{\"hvparams\":{\"kvm\":{\"acpi\":true,\"vga\":\"\","
		      "\"cpu_type\":\"a\"}},\"os_hvp\":{\"deb\":{\"kvm\":"
		      "{\"vga\":\"std\",\"cpu_type\":\"b\"}}}}");
	auto_json json_t *custom = parse("{\"cpu_type\":\"host\"}");
	auto_json json_t *want = parse("{\"acpi\":true,\"vga\":\"std\","
				       "\"cpu_type\":\"host\"}");
	auto_json json_t *got = params_fill_hv(cluster, "kvm", "deb", custom);

	compat_assert_same(got, want);
	json_decref(got);
	got = params_fill_hv(cluster, "kvm", "other", NULL);
	cr_assert_str_eq(json_str(got, "cpu_type", ""), "a");
}

Test(params, fill_takes_std_from_the_cluster_only)
{
	auto_json json_t *cluster =
		parse("{\"ipolicy\":{\"std\":{\"a\":1},\"vcpu-ratio\":4}}");
	auto_json json_t *group =
		parse("{\"ipolicy\":{\"std\":{\"a\":2},\"vcpu-ratio\":8}}");
	auto_json json_t *want = parse("{\"std\":{\"a\":1},\"vcpu-ratio\":8}");
	auto_json json_t *got = params_fill_ipolicy(cluster, group);

	compat_assert_same(got, want);
}

Test(params, fill_of_nodes_disks_and_os)
{
	auto_json json_t *cluster =
		parse("{\"ndparams\":{\"ssh_port\":22,\"ovs\":false},"
		      "\"diskparams\":{\"plain\":{\"stripes\":1}},"
		      "\"osparams\":{\"deb\":{\"a\":1,\"b\":1},\"deb+x\":{"
		      "\"b\":2}}}");
	auto_json json_t *group =
		parse("{\"ndparams\":{\"ssh_port\":23},\"diskparams\":"
		      "{\"plain\":{\"stripes\":2}}}");
	auto_json json_t *node = parse("{\"ndparams\":{\"ovs\":true}}");
	auto_json json_t *nd = params_fill_nd(cluster, group, node);
	auto_json json_t *disk = params_fill_disk(cluster, group, "plain");
	auto_json json_t *os = params_fill_os(cluster, "deb+x", NULL);

	cr_assert_eq(json_int(nd, "ssh_port", 0), 23);
	cr_assert(json_bool(nd, "ovs", false));
	cr_assert_eq(json_int(disk, "stripes", 0), 2);
	cr_assert_eq(json_int(os, "a", 0), 1);
	cr_assert_eq(json_int(os, "b", 0), 2);
}

Test(params, classes_of_os_parameters_are_filled_and_kept_apart)
{
	auto_json json_t *cluster =
		parse("{\"osparams\":{\"deb\":{\"a\":1}},"
		      "\"osparams_private_cluster\":{\"deb\":{\"p\":1},"
		      "\"deb+x\":{\"p\":2,\"q\":2}}}");
	auto_json json_t *own = parse("{\"q\":3}");
	auto_json json_t *secret = parse("{\"s\":4}");
	auto_json json_t *clash = parse("{\"a\":4}");
	auto_json json_t *want = parse("{\"a\":1,\"p\":2,\"q\":3,\"s\":4}");
	auto_json json_t *got = NULL;
	struct params_os params = {.private = own, .secret = secret};
	struct error err = {.text = ""};

	cr_assert_eq(params_fill_os_all(cluster, "deb+x", &params, &got, &err),
		     0);
	compat_assert_same(got, want);
	params.secret = clash;
	cr_assert_eq(params_fill_os_all(cluster, "deb+x", &params, &got, &err),
		     -1);
	cr_assert_eq(err.kind, ERR_PREREQ);
	cr_assert_not_null(strstr(err.text, "secret: a"), "%s", err.text);
	params = (struct params_os){.public = own, .private = own};
	cr_assert_eq(params_fill_os_all(cluster, "deb", &params, &got, &err),
		     -1);
}

Test(params, default_and_null_remove_an_os_parameter)
{
	auto_json json_t *base = parse("{\"a\":\"1\",\"b\":\"2\"}");
	auto_json json_t *changes =
		parse("{\"a\":\"default\",\"b\":null,\"c\":\"3\"}");
	auto_json json_t *want = parse("{\"c\":\"3\"}");
	auto_json json_t *got = params_update_os(base, changes);

	compat_assert_same(got, want);
}

/* Each row: hypervisor, changes, and the result (NULL: refused) or a word of
 * the message. */
Test(params, hypervisor_parameters_are_checked)
{
	static const struct {
		const char *hv, *changes, *want, *word;
	} rows[] = {
		{"kvm", "{\"acpi\":\"False\"}", "{\"acpi\":false}", NULL},
		{"kvm", "{\"acpi\":\"\"}", "{\"acpi\":false}", NULL},
		{"kvm", "{\"acpi\":\" \"}", NULL, "valid boolean"},
		{"kvm", "{\"serial_speed\":\" 9600 \"}",
		 "{\"serial_speed\":9600}", NULL},
		{"kvm", "{\"serial_speed\":\" \"}", NULL, "valid integer"},
		{"kvm", "{\"vnc_bind_address\":\"\"}",
		 "{\"vnc_bind_address\":\"\"}", NULL},
		{"kvm", "{\"cpu_mask\":\"0-1:2,3\"}",
		 "{\"cpu_mask\":\"0-1:2,3\"}", NULL},
		{"kvm", "{\"cpu_mask\":\"3-1\"}", NULL, "cpu_mask"},
		{"kvm", "{\"kernel_path\":\"boot/x\"}", NULL, "absolute"},
		{"kvm", "{\"kernel_path\":\"/boot/../x\"}", NULL, "absolute"},
		{"kvm", "{\"disk_type\":\"floppy\"}", NULL, "paravirtual"},
		{"kvm", "{\"serial_speed\":\"9600\"}",
		 "{\"serial_speed\":9600}", NULL},
		{"kvm", "{\"serial_speed\":9601}", NULL, "9600"},
		{"kvm", "{\"virtio_net_queues\":9}", NULL, "range 1 8"},
		{"kvm", "{\"migration_port\":\"x\"}", NULL,
		 "(value x) is not a valid integer"},
		{"kvm", "{\"kernel_args\":\"ro\\nx\"}", NULL,
		 "control characters"},
		{"kvm", "{\"nosuch\":1}", NULL, "Unknown parameter 'nosuch'"},
		{"kvm", "{\"root_path\":null}", "{\"root_path\":null}", NULL},
		{"kvm", "{\"kernel_path\":null}", NULL, "string"},
		{"kvm", "[1]", NULL, "object"},
		{"fake", "{\"migration_mode\":\"default\"}", "{}", NULL},
		{"fake", "{\"acpi\":true}", NULL, "fake"},
		{"xen-hvm", "{\"boot_order\":\"nc\"}",
		 "{\"boot_order\":\"nc\"}", NULL},
		{"xen-hvm", "{\"boot_order\":\"x\"}", NULL, "acdn"},
		{"vmware", "{}", NULL, "vmware"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *changes = parse(rows[i].changes);
		auto_json json_t *got = NULL, *want = NULL;
		struct error err;
		int rc =
			params_update_hv(rows[i].hv, NULL, changes, &got, &err);

		if (rows[i].want == NULL) {
			cr_assert_eq(rc, -1, "%s", rows[i].changes);
			cr_assert_not_null(strstr(err.text, rows[i].word),
					   "%s: %s", rows[i].word, err.text);
			continue;
		}
		cr_assert_eq(rc, 0, "%s: %s", rows[i].changes, err.text);
		want = parse(rows[i].want);
		compat_assert_same(got, want);
	}
}

Test(params, memory_sets_both_bounds_and_takes_units)
{
	auto_json json_t *base = parse("{\"vcpus\":2,\"minmem\":64}");
	auto_json json_t *changes =
		parse("{\"memory\":\"1.5g\",\"vcpus\":\"default\"}");
	auto_json json_t *want = parse("{\"minmem\":1536,\"maxmem\":1536}");
	auto_json json_t *got = NULL;
	struct error err;

	cr_assert_eq(params_update_be(base, changes, &got, &err), 0);
	compat_assert_same(got, want);
	cr_assert_eq(json_int(base, "minmem", 0), 64);
}

Test(params, minmem_above_maxmem_is_refused)
{
	auto_json json_t *base = parse("{\"minmem\":64,\"maxmem\":64}");
	auto_json json_t *changes = parse("{\"minmem\":128}");
	json_t *got = NULL;
	struct error err;

	cr_assert_eq(params_update_be(base, changes, &got, &err), -1);
	cr_assert_eq(err.kind, ERR_PREREQ);
	cr_assert_null(got);
}

Test(params, sizes)
{
	static const struct {
		const char *text;
		int64_t mib; /* -1: refused */
	} rows[] = {
		{"1024", 1024},	  {"1g", 1024}, {"0.5GiB", 512},     {"65", 68},
		{"1 t", 1048576}, {"", -1},	{"g", -1},	     {"5x", -1},
		{"-4", -1},	  {"1e9", -1},	{"9999999999t", -1}, {"0", 0},
		{"1.2.3", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t mib = -1;
		struct error err;
		int rc = params_parse_size(rows[i].text, &mib, &err);

		cr_assert_eq(mib, rows[i].mib, "'%s' gave %lld", rows[i].text,
			     (long long)mib);
		cr_assert_eq(rc, rows[i].mib < 0 ? -1 : 0);
	}
}

Test(params, vlans_and_barriers)
{
	static const struct {
		const char *vlan;
		bool fits;
	} rows[] = {
		{"5", true},	{".5", true},	{":5", true},	{":5:6", true},
		{".5:6", true}, {"", true},	{"x", false},	{".", false},
		{":", false},	{"5:6", false}, {".5:", false},
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *changes =
			json_make("{s:s}", "vlan", rows[i].vlan);
		auto_json json_t *got = NULL;

		cr_assert_eq(params_update_nic(NULL, changes, &got, &err),
			     rows[i].fits ? 0 : -1, "'%s'", rows[i].vlan);
	}
}

Test(params, default_policy_is_a_valid_cluster_policy)
{
	auto_json json_t *policy = params_default_ipolicy();
	struct error err;

	cr_assert_eq(params_check_ipolicy(policy, true, &err), 0, "%s",
		     err.text);
	json_object_del(policy, "std");
	cr_assert_eq(params_check_ipolicy(policy, true, &err), -1);
	cr_assert_eq(params_check_ipolicy(policy, false, &err), 0);
}

Test(params, recorded_policy_is_valid)
{
	auto_json json_t *config = compat_read("config.data");
	struct error err;

	cr_assert_eq(params_check_ipolicy(
			     json_object_get(json_object_get(config, "cluster"),
					     "ipolicy"),
			     true, &err),
		     0, "%s", err.text);
}

Test(params, bad_policies_are_refused)
{
	static const char *const policies[] = {
		"[]",
		"{\"nosuch\":1}",
		"{\"vcpu-ratio\":\"x\"}",
		"{\"vcpu-ratio\":0}",
		"{\"disk-templates\":[]}",
		"{\"disk-templates\":[\"nosuch\"]}",
		"{\"disk-templates\":[1]}",
		"{\"minmax\":[]}",
		"{\"minmax\":[{}]}",
		"{\"minmax\":[{\"min\":{},\"max\":{}}]}",
		"{\"std\":{}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		auto_json json_t *policy = parse(policies[i]);
		struct error err;

		cr_assert_eq(params_check_ipolicy(policy, false, &err), -1,
			     "%s", policies[i]);
	}
}

Test(params, policy_minimum_above_maximum_is_refused)
{
	auto_json json_t *policy = params_default_ipolicy();
	json_t *bound = json_array_get(json_object_get(policy, "minmax"), 0);
	struct error err;

	json_set_int(json_object_get(bound, "min"), "cpu-count", 9);
	cr_assert_eq(params_check_ipolicy(policy, true, &err), -1);
	cr_assert_not_null(strstr(err.text, "cpu-count"));
}

Test(params, violations_read_as_recorded)
{
	auto_json json_t *config = compat_read("config.data");
	const json_t *policy =
		json_object_get(json_object_get(config, "cluster"), "ipolicy");
	static const int64_t sizes[] = {4, 2097152};
	struct params_spec spec = {
		.memory = 65536, .vcpus = 1, .disk_template = "diskless"};
	auto_strv struct strv found = {0}, more = {0};

	params_ipolicy_violations(policy, &spec, &found);
	cr_assert_eq(found.n, 1);
	cr_assert_str_eq(found.items[0],
			 "memory-size value 65536 is not in range [4, 32768]");
	spec = (struct params_spec){.memory = 64,
				    .vcpus = 1,
				    .disk_count = 2,
				    .disk_sizes = sizes,
				    .n_disk_sizes = 2,
				    .disk_template = "rbd"};
	params_ipolicy_violations(policy, &spec, &more);
	cr_assert_eq(more.n, 2);
	cr_assert_str_eq(more.items[0],
			 "Disk template rbd is not allowed (allowed templates: "
			 "diskless, file, sharedfile)");
	cr_assert_str_eq(
		more.items[1],
		"disk-size/1 value 2097152 is not in range [0, 1048576]");
}

Test(params, one_fitting_bound_is_enough)
{
	auto_json json_t *policy = params_default_ipolicy();
	json_t *minmax = json_object_get(policy, "minmax");
	auto_json json_t *wide = json_deep_copy(json_array_get(minmax, 0));
	struct params_spec spec = {.memory = 65536,
				   .vcpus = 1,
				   .nic_count = 1,
				   .spindle_use = 1,
				   .disk_template = "diskless"};
	auto_strv struct strv found = {0}, none = {0};

	params_ipolicy_violations(policy, &spec, &found);
	cr_assert_eq(found.n, 1);
	json_set_int(json_object_get(wide, "max"), "memory-size", 1 << 20);
	json_array_append(minmax, wide);
	params_ipolicy_violations(policy, &spec, &none);
	cr_assert_eq(none.n, 0);
}

/* The one set of a template is shared out: to the mirror, its data, its
 * metadata. */
Test(params, devices_of_a_mirror_get_their_share)
{
	auto_json json_t *cluster = parse(
		"{\"diskparams\":{\"drbd\":{\"metavg\":\"metavg\",\"resync-"
		"rate\":"
		"1024,\"disk-barriers\":\"bf\",\"meta-barriers\":true,"
		"\"data-stripes\":2,\"disk-custom\":\"--a\",\"net-custom\":"
		"\"--b\"},\"plain\":{\"stripes\":7}}}");
	auto_json json_t *group =
		parse("{\"diskparams\":{\"drbd\":{\"resync-rate\":2048,"
		      "\"meta-stripes\":3,\"dynamic-resync\":true}}}");
	auto_json json_t *disk =
		parse("{\"dev_type\":\"drbd\",\"params\":{\"protocol\":\"A\"},"
		      "\"children\":[{\"dev_type\":\"plain\",\"params\":{}},"
		      "{\"dev_type\":\"plain\"}]}");
	auto_json json_t *want = parse(
		"{\"dev_type\":\"drbd\",\"params\":{\"protocol\":\"A\","
		"\"resync-rate\":2048,\"disabled-barriers\":\"bf\","
		"\"disable-meta-flush\":true,\"default-metavg\":\"metavg\","
		"\"disk-custom\":\"--a\",\"net-custom\":\"--b\","
		"\"dynamic-resync\":true,\"c-plan-ahead\":20,"
		"\"c-fill-target\":0,\"c-delay-target\":1,\"c-max-rate\":"
		"61440,\"c-min-rate\":4096},\"children\":["
		"{\"dev_type\":\"plain\",\"params\":{\"stripes\":2}},"
		"{\"dev_type\":\"plain\",\"params\":{\"stripes\":3}}]}");
	auto_json json_t *got = params_device(cluster, group, disk);

	compat_assert_same(got, want);
	cr_assert_eq(json_object_size(json_get(disk, "params")), 1);
}

Test(params, other_devices_get_what_their_template_has)
{
	static const struct {
		const char *disk, *want;
	} cases[] = {
		{"plain", "{\"stripes\":4}"},
		{"rbd", "{\"access\":\"kernelspace\",\"pool\":\"p\"}"},
		{"gluster", "{\"access\":\"kernelspace\",\"host\":"
			    "\"127.0.0.1\",\"port\":24007,\"volume\":\"gv0\"}"},
		{"ext", "{\"access\":\"userspace\"}"},
		{"file", "{}"},
		{"sharedfile", "{}"},
		{"blockdev", "{}"},
	};
	auto_json json_t *cluster =
		parse("{\"diskparams\":{\"plain\":{\"stripes\":4},\"rbd\":"
		      "{\"pool\":\"p\"},\"ext\":{\"access\":\"userspace\"}}}");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *disk = json_make("{s:s, s:{}}", "dev_type",
						   cases[i].disk, "params");
		auto_json json_t *want = parse(cases[i].want);
		auto_json json_t *got = params_device(cluster, NULL, disk);

		compat_assert_same(json_object_get(got, "params"), want);
	}
}

/* Those of ours are nowhere until somebody sets them, and a new disk keeps what
 * was in force then. */
Test(params, what_ganeti_does_not_have_is_kept_by_new_disks_alone)
{
	auto_json json_t *cluster =
		parse("{\"diskparams\":{\"file\":{\"format\":\"qcow2\"}}}");
	auto_json json_t *group =
		parse("{\"diskparams\":{\"file\":{\"format\":\"raw\"}}}");
	auto_json json_t *old = parse("{\"dev_type\":\"file\",\"params\":{}}");
	auto_json json_t *image = parse("{\"dev_type\":\"file\",\"params\":"
					"{\"format\":\"qcow2\"}}");
	auto_json json_t *none = parse("{}");
	auto_json json_t *qcow2 = parse("{\"format\":\"qcow2\"}");
	auto_json json_t *raw = parse("{\"format\":\"raw\"}");
	auto_json json_t *presets = params_default_diskparams();
	auto_json json_t *known = params_known_diskparams();
	auto_json json_t *one = params_of_new_disk(cluster, NULL, "file");
	auto_json json_t *two = params_of_new_disk(cluster, group, "file");
	auto_json json_t *three = params_of_new_disk(cluster, NULL, "plain");
	auto_json json_t *sent = params_device(cluster, NULL, old);
	auto_json json_t *sent_image = params_device(group, NULL, image);

	compat_assert_same(one, qcow2);
	compat_assert_same(two, raw);
	compat_assert_same(three, none);
	compat_assert_same(json_object_get(sent, "params"), none);
	compat_assert_same(json_object_get(sent_image, "params"), qcow2);
	cr_assert_null(json_get(json_get(presets, "file"), "format"));
	cr_assert_not_null(json_get(json_get(known, "file"), "format"));
}

Test(params, a_dynamic_resync_needs_its_controller)
{
	auto_json json_t *off =
		parse("{\"diskparams\":{\"drbd\":{\"c-plan-ahead\":0}}}");
	auto_json json_t *on = parse("{\"diskparams\":{\"drbd\":"
				     "{\"c-plan-ahead\":1}}}");
	auto_json json_t *group =
		parse("{\"name\":\"g\",\"diskparams\":"
		      "{\"drbd\":{\"dynamic-resync\":true}}}");
	struct error err = {.text = ""};

	cr_assert_eq(params_check_disk(off, NULL, &err), 0);
	cr_assert_eq(params_check_disk(on, group, &err), 0);
	cr_assert_eq(params_check_disk(off, group, &err), -1);
	cr_assert_eq(err.kind, ERR_PREREQ);
	cr_assert(strstr(err.text, "of group g") != NULL);
}
