/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/state.h"

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
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
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
