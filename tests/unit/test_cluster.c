/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/model/config/cluster.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/kinds/hypervisor.h"
#include "tests/lib/compat.h"

static const char *const fake[] = {"fake", NULL};
static const char *const files[] = {"sharedfile", "file", "diskless", NULL};

static struct cluster_init basic(void)
{
	return (struct cluster_init){
		.cluster_name = "c.example.com",
		.master_name = "node1.example.com",
		.primary_ip = "127.0.0.1",
		.master_ip = "127.0.0.9",
		.hypervisors = fake,
		.disk_templates = files,
		.candidate_cert = "AA:BB",
	};
}

static json_t *make(const struct cluster_init *init)
{
	struct error err;
	json_t *config = cluster_new_config(init, &err);

	cr_assert_not_null(config, "%s", err.text);
	return config;
}

/* Every key of `theirs` is in `ours`, and the reverse but for `more`. */
static void check_keys(const json_t *ours, const json_t *theirs,
		       const char *more)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(theirs), key, value) {
		const json_t *mine = json_object_get(ours, key);

		cr_assert_not_null(mine, "%s is missing", key);
		cr_assert(json_typeof(mine) == json_typeof(value) ||
				  (json_is_number(mine) &&
				   json_is_number(value)) ||
				  (json_is_boolean(mine) &&
				   json_is_boolean(value)),
			  "%s", key);
	}
	json_object_foreach (json_unconst(ours), key, value)
		cr_assert(json_object_get(theirs, key) != NULL ||
				  strstr(more, key) != NULL,
			  "%s is too much", key);
}

static const json_t *first(const json_t *config, const char *container)
{
	return json_object_iter_value(
		json_object_iter(json_object_get(config, container)));
}

Test(cluster, document_has_the_keys_of_a_real_one)
{
	struct cluster_init init = basic();
	auto_json json_t *real = compat_read("config.data");
	auto_json json_t *config = make(&init);
	auto_json json_t *group =
		json_copy(json_unconst(first(real, "nodegroups")));

	check_keys(config, real, "");
	check_keys(json_object_get(config, "cluster"),
		   json_object_get(real, "cluster"), "");
	check_keys(first(config, "nodes"), first(real, "nodes"), "");
	json_object_del(group, "members"); /* computed, never ours */
	check_keys(first(config, "nodegroups"), group, "");
}

Test(cluster, references_fit)
{
	struct cluster_init init = basic();
	auto_json json_t *config = make(&init);
	const json_t *cluster = json_object_get(config, "cluster");
	const json_t *node = first(config, "nodes");
	const json_t *group = first(config, "nodegroups");

	cr_assert_str_eq(json_str(cluster, "master_node", ""),
			 json_str(node, "uuid", "-"));
	cr_assert_str_eq(json_str(node, "group", ""),
			 json_str(group, "uuid", "-"));
	cr_assert_str_eq(json_str(json_get(cluster, "candidate_certs"),
				  json_str(node, "uuid", ""), ""),
			 "AA:BB");
	cr_assert_str_eq(json_str(node, "secondary_ip", ""), "127.0.0.1");
	cr_assert_eq(json_int(config, "version", 0), 3000000);
	cr_assert_eq(json_object_size(json_get(cluster, "hvparams")),
		     HYPERVISOR_COUNT);
}

Test(cluster, ssconf_can_be_made_of_it)
{
	struct cluster_init init = basic();
	auto_json json_t *config = make(&init);
	auto_json json_t *values = ssconf_values(config);
	auto_free char *ips =
		ssconf_text(json_object_get(values, "node_primary_ips"));

	cr_assert_str_eq(ips, "node1.example.com 127.0.0.1");
}

Test(cluster, overrides_are_put_over_the_defaults)
{
	struct cluster_init init = basic();
	auto_json json_t *hv =
		json_make("{s:{s:s}}", "kvm", "kernel_path", "/boot/vmlinuz");
	auto_json json_t *be = json_make("{s:s}", "memory", "1g");
	auto_json json_t *policy = json_make("{s:i}", "vcpu-ratio", 64);
	auto_json json_t *config = NULL;
	const json_t *cluster, *kvm;

	init.hvparams = hv;
	init.beparams = be;
	init.ipolicy = policy;
	init.volume_group_name = "vg0";
	config = make(&init);
	cluster = json_get(config, "cluster");
	kvm = json_get(json_get(cluster, "hvparams"), "kvm");
	cr_assert_str_eq(json_str(kvm, "kernel_path", ""), "/boot/vmlinuz");
	cr_assert(json_bool(kvm, "acpi", false));
	cr_assert_eq(
		json_int(json_get(json_get(cluster, "beparams"), "default"),
			 "minmem", 0),
		1024);
	cr_assert_eq(json_int(json_get(cluster, "ipolicy"), "vcpu-ratio", 0),
		     64);
	cr_assert_eq(json_array_size(json_get(json_get(cluster, "ipolicy"),
					      "disk-templates")),
		     3);
	cr_assert_str_eq(json_str(cluster, "volume_group_name", ""), "vg0");
}

static const char *metavg(const struct cluster_init *init)
{
	static char text[32];
	auto_json json_t *config = make(init);
	const json_t *params =
		json_get(json_get(config, "cluster"), "diskparams");

	snprintf(text, sizeof(text), "%s",
		 json_str(json_get(params, "drbd"), "metavg", ""));
	return text;
}

/* As the MAC addresses that are compared with it. */
Test(cluster, a_mac_prefix_is_in_lower_case)
{
	struct cluster_init init = basic();
	auto_json json_t *config = NULL;

	init.mac_prefix = "AA:BB:0C";
	config = make(&init);
	cr_assert_str_eq(
		json_str(json_object_get(config, "cluster"), "mac_prefix", ""),
		"aa:bb:0c");
}

Test(cluster, metadata_of_mirrors_are_where_volumes_are)
{
	auto_json json_t *own =
		json_make("{s:{s:s}}", "drbd", "metavg", "meta");
	struct cluster_init init = basic();

	cr_expect_str_eq(metavg(&init), "xenvg");
	init.volume_group_name = "ganeti";
	cr_expect_str_eq(metavg(&init), "ganeti");
	init.diskparams = own;
	cr_expect_str_eq(metavg(&init), "meta");
}

static void refused(const struct cluster_init *init, const char *word)
{
	struct error err;

	cr_assert_null(cluster_new_config(init, &err), "%s", word);
	cr_assert_not_null(strstr(err.text, word), "%s: %s", word, err.text);
}

Test(cluster, bad_requests_are_refused)
{
	static const char *const none[] = {NULL};
	static const char *const twice[] = {"fake", "fake", NULL};
	static const char *const odd[] = {"vmware", NULL};
	struct cluster_init init = basic();
	auto_json json_t *bad = json_make("{s:i}", "nosuch", 1);

	init.cluster_name = "a b";
	refused(&init, "a b");
	init = basic();
	init.master_name = NULL;
	refused(&init, "name of a node");
	init = basic();
	init.master_ip = NULL;
	refused(&init, "address");
	init = basic();
	init.mac_prefix = "01:00:00";
	refused(&init, "01:00:00");
	init = basic();
	init.hypervisors = none;
	refused(&init, "at least one");
	init.hypervisors = twice;
	refused(&init, "named twice");
	init.hypervisors = odd;
	refused(&init, "vmware");
	init = basic();
	init.beparams = bad;
	refused(&init, "nosuch");
	init = basic();
	init.ipolicy = bad;
	refused(&init, "nosuch");
}
