/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/state.h"

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s", err.text);
	return value;
}

static void assert_text(json_t *value STEALS, const char *want)
{
	auto_json json_t *own = value;
	auto_free char *text = json_text_sorted(own);

	cr_assert_str_eq(text, want);
}

Test(state, the_nearer_level_counts)
{
	auto_json json_t *cluster =
		parse("{\"hv_state_static\": {\"kvm\": {\"mem_node\": 1,"
		      " \"mem_hv\": 1, \"mem_total\": 1}}}");
	auto_json json_t *group =
		parse("{\"hv_state_static\": {\"kvm\": {\"mem_node\": 2,"
		      " \"mem_hv\": 2}}}");
	auto_json json_t *node =
		parse("{\"hv_state_static\": {\"kvm\": {\"mem_node\": 3}}}");

	assert_text(state_fill_hv(cluster, group, node, "kvm"),
		    "{\"cpu_node\":1,\"cpu_total\":1,\"mem_hv\":2,"
		    "\"mem_node\":3,\"mem_total\":1}");
	assert_text(state_fill_hv(NULL, NULL, NULL, "kvm"),
		    "{\"cpu_node\":1,\"cpu_total\":1,\"mem_hv\":0,"
		    "\"mem_node\":0,\"mem_total\":0}");
}

/* What nobody chose is measured; a choice on any level counts more. */
Test(state, what_is_measured_overrides_no_choice)
{
	auto_json json_t *cluster =
		parse("{\"hv_state_static\": {\"kvm\": {\"mem_node\": 0}}}");
	auto_json json_t *chosen =
		parse("{\"hv_state_static\": {\"kvm\": {\"mem_node\": 7}}}");
	auto_json json_t *node = json_object(), *changes = NULL;
	struct error err;

	state_measure_hv(node, "kvm", "mem_node", 3);
	state_measure_disk(node, "plain", "vg", "disk_overhead", 4);
	assert_text(state_fill_hv(cluster, NULL, node, "kvm"),
		    "{\"cpu_node\":1,\"cpu_total\":1,\"mem_hv\":0,"
		    "\"mem_node\":3,\"mem_total\":0}");
	assert_text(state_fill_disk(cluster, NULL, node, "plain", "vg"),
		    "{\"disk_overhead\":4,\"disk_reserved\":0,"
		    "\"disk_total\":0}");
	assert_text(state_fill_hv(cluster, chosen, node, "kvm"),
		    "{\"cpu_node\":1,\"cpu_total\":1,\"mem_hv\":0,"
		    "\"mem_node\":7,\"mem_total\":0}");
	cr_expect(state_hv_is_chosen(cluster, chosen, node, "kvm", "mem_node"));
	cr_expect_not(
		state_hv_is_chosen(cluster, NULL, node, "kvm", "mem_node"));
	changes = parse("{\"kvm\": {\"mem_node\": \"default\"}}");
	cr_assert_eq(state_set_hv(node, changes, &err), 0, "%s", err.text);
	cr_expect_null(state_hv_measured(node, "kvm", "mem_node"));
	cr_expect_not_null(
		state_disk_measured(node, "plain", "vg", "disk_overhead"));
}

Test(state, numbers_of_ours_are_of_no_hypervisor)
{
	auto_json json_t *cluster = json_object();

	cr_expect_eq(state_own(cluster, "x", -1), -1);
	state_set_own(cluster, "x", 5);
	cr_expect_eq(state_own(cluster, "x", -1), 5);
	assert_text(state_fill_hv_all(cluster, NULL, NULL), "{}");
	state_forget_own(cluster, "x");
	cr_expect_eq(state_own(cluster, "x", -1), -1);
}

Test(state, storages_of_all_levels_are_seen)
{
	auto_json json_t *cluster =
		parse("{\"disk_state_static\": {\"file\": {\"/a\":"
		      " {\"disk_reserved\": 5}}}}");
	auto_json json_t *node =
		parse("{\"disk_state_static\": {\"file\": {\"/a\":"
		      " {\"disk_total\": 9}}, \"plain\": {\"vg\": {}}}}");

	assert_text(state_fill_disk_all(cluster, NULL, node),
		    "{\"file\":{\"/a\":{\"disk_overhead\":0,"
		    "\"disk_reserved\":5,\"disk_total\":9}},"
		    "\"plain\":{\"vg\":{\"disk_overhead\":0,"
		    "\"disk_reserved\":0,\"disk_total\":0}}}");
}

Test(state, changes_keep_what_they_do_not_name)
{
	auto_json json_t *node =
		parse("{\"hv_state_static\": {\"kvm\": {\"mem_node\": 3,"
		      " \"mem_total\": 8}}}");
	auto_json json_t *before = json_incref(node);
	auto_json json_t *changes = parse(
		"{\"kvm\": {\"mem_hv\": \"7\", \"mem_node\": \"default\"}}");
	struct error err;

	cr_assert_eq(state_set_hv(node, changes, &err), 0, "%s", err.text);
	assert_text(json_incref(json_object_get(node, "hv_state_static")),
		    "{\"kvm\":{\"mem_hv\":7,\"mem_total\":8}}");
}

Test(state, what_is_wrong_is_named)
{
	static const struct {
		bool disk;
		const char *changes, *says;
	} rows[] = {
		{false, "{\"vmware\": {}}", "vmware"},
		{false, "{\"kvm\": {\"mem\": 1}}", "'mem'"},
		{false, "{\"kvm\": {\"mem_hv\": \"x\"}}", "integer"},
		{false, "{\"kvm\": {\"mem_hv\": -1}}", "negative"},
		{false, "{\"kvm\": 5}", "dictionary"},
		{true, "{\"file\": 5}", "by type and name"},
		{true, "{\"file\": {\"/a\": {\"disk_size\": 5}}}",
		 "'disk_size'"},
		{true, "{\"nope\": {\"xenvg\": {\"disk_total\": 5}}}",
		 "'nope' is not recorded"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *changes = parse(rows[i].changes);
		auto_json json_t *node = json_object();
		struct error err;

		cr_expect_lt(rows[i].disk ? state_set_disk(node, changes, &err)
					  : state_set_hv(node, changes, &err),
			     0, "%s", rows[i].changes);
		cr_expect_not_null(strstr(err.text, rows[i].says), "%s",
				   err.text);
		cr_expect_eq(json_object_size(node), 0);
	}
}
