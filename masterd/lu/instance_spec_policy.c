/* SPDX-License-Identifier: BSD-2-Clause */
/* New instances and the policy: what it adds, and whether it allows them. */
#include "lib/json/json.h"
#include "lib/model/params.h"
#include "masterd/lu/instance_spec.h"

static void set_std(json_t *beparams, const char *key, int64_t std)
{
	if (std > 0 && json_object_get(beparams, key) == NULL)
		json_set_int(beparams, key, std);
}

void spec_std_backend(const json_t *cluster, json_t *beparams)
{
	const json_t *policy = json_get(cluster, "ipolicy");
	bool has_memory = json_object_get(beparams, "minmem") != NULL ||
			  json_object_get(beparams, "maxmem") != NULL;
	int64_t memory =
		has_memory ? 0 : params_std_spec(policy, "memory-size");

	set_std(beparams, "minmem", memory);
	set_std(beparams, "maxmem", memory);
	set_std(beparams, "vcpus", params_std_spec(policy, "cpu-count"));
	set_std(beparams, "spindle_use",
		params_std_spec(policy, "spindle-use"));
}

json_t *spec_std_disk(const json_t *cluster, const json_t *given)
{
	int64_t std =
		params_std_spec(json_get(cluster, "ipolicy"), "disk-size");
	json_t *whole = json_overlay(given, NULL);

	if (std > 0 && json_get(given, "size") == NULL)
		json_set_int(whole, "size", std);
	return whole;
}

int spec_check_policy(struct lu *lu, const struct inst_spec *s,
		      const char *node_uuid, struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	const json_t *group = config_get(lu->m->config, CONFIG_GROUP,
					 json_str(node, "group", ""));
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(lu->m->config), group);
	size_t n = json_array_size(s->disks);
	int64_t sizes[SPEC_DISKS_MAX];
	struct params_spec spec = {
		.memory = json_int(s->filled_be, "maxmem", 0),
		.vcpus = json_int(s->filled_be, "vcpus", 0),
		.spindle_use = json_int(s->filled_be, "spindle_use", 0),
		.disk_count = (int64_t)n,
		.nic_count = (int64_t)json_array_size(s->nics),
		.disk_sizes = sizes,
		.n_disk_sizes = n,
		.disk_template = s->template,
	};
	auto_strv struct strv broken = {0};
	auto_free char *text = NULL;

	for (size_t i = 0; i < n; i++)
		sizes[i] = json_int(json_array_get(s->disks, i), "size", 0);
	params_ipolicy_violations(policy, &spec, &broken);
	if (broken.n == 0)
		return 0;
	text = strv_join(&broken, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance allocation to group %s (%s) violates "
			 "policy: %s",
			 json_str(group, "uuid", ""),
			 json_str(group, "name", ""), text);
}
