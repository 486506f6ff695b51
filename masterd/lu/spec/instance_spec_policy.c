/* SPDX-License-Identifier: BSD-2-Clause */
/* New instances and the policy: what it adds, and whether it allows them. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/spec/instance_spec.h"

/* Groups whose policies an error explains: the first suffice to understand. */
#define FORBIDDEN_MAX 3

static void set_std(json_t *beparams, const char *key, int64_t std)
{
	if (std > 0 && json_object_get(beparams, key) == NULL)
		json_set_int(beparams, key, std);
}

void spec_std_backend(const json_t *cluster, json_t *beparams)
{
	const json_t *policy = cluster_ipolicy(cluster);
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

/* Of the cluster's standard instance; 0 where it does not say. */
static int64_t std_of(const json_t *cluster, const char *name)
{
	return json_int(ipolicy_std(cluster_ipolicy(cluster)), name, 0);
}

json_t *spec_std_disk(const json_t *cluster, const json_t *given)
{
	int64_t std = std_of(cluster, "disk-size");
	json_t *whole = json_overlay(given, NULL);

	if (std > 0 && json_get(given, "size") == NULL &&
	    json_get(given, "adopt") == NULL)
		json_set_int(whole, "size", std);
	return whole;
}

static json_t *std_devices(const json_t *cluster, const char *count)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < std_of(cluster, count); i++)
		json_array_append_new(list, json_object());
	return list;
}

/* Those that the instance to be made real has; NULL without one. */
static json_t *planned_disks(const struct config *c, const json_t *op)
{
	const json_t *planned = config_find(c, CONFIG_INSTANCE,
					    json_str(op, "instance_name", "")),
		     *disk;
	auto_json json_t *disks = NULL;
	json_t *list;
	size_t i;

	if (!json_bool(op, "commit", false) || planned == NULL)
		return NULL;
	disks = config_instance_disks(c, planned);
	list = json_array();
	json_array_foreach (disks, i, disk)
		json_array_append_new(
			list,
			json_make("{s:O}", "size", disk_size_mib_value(disk)));
	return list;
}

void spec_complete(const struct master *m, json_t *op)
{
	const json_t *cluster = config_cluster(m->config);
	const char *template =
		json_str(op, "disk_template",
			 json_string_value(json_array_get(
				 cluster_enabled_disk_templates(cluster), 0)));
	bool imports = !str_eq(json_str(op, "mode", NULL), "create");

	if (json_get(op, "nics") == NULL)
		json_object_set_new(
			op, "nics",
			imports ? json_array()
				: std_devices(cluster, "nic-count"));
	if (json_get(op, "disks") != NULL)
		return;
	if (imports || template_get(template)->no_disks)
		json_object_set_new(op, "disks", json_array());
	else
		json_object_set_new(
			op, "disks",
			planned_disks(m->config, op)
				?: std_devices(cluster, "disk-count"));
}

static int64_t said(const struct inst_spec *s, const char *key)
{
	return json_int(s->filled_be, key, PARAMS_SPEC_UNSAID);
}

/* What the policy of the group forbids; to be freed, NULL: nothing. */
static char *violations(struct lu *lu, const struct inst_spec *s,
			const json_t *group)
{
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(lu->m->config), group);
	size_t n = json_array_size(s->disks);
	int64_t sizes[SPEC_DISKS_MAX];
	struct params_spec spec = {
		.memory = said(s, "maxmem"),
		.vcpus = said(s, "vcpus"),
		.spindle_use = said(s, "spindle_use"),
		.disk_count = (int64_t)n,
		.nic_count = (int64_t)json_array_size(s->nics),
		.disk_sizes = sizes,
		.n_disk_sizes = n,
		.disk_template = s->template,
	};
	auto_strv struct strv broken = {0};

	for (size_t i = 0; i < n; i++)
		sizes[i] = disk_size_mib(json_array_get(s->disks, i));
	params_ipolicy_violations(policy, &spec, &broken);
	return broken.n == 0 ? NULL : strv_join(&broken, ", ");
}

int spec_check_policy(struct lu *lu, const struct inst_spec *s,
		      const char *node_uuid, struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	const json_t *group =
		config_get(lu->m->config, CONFIG_GROUP, node_group(node));
	auto_free char *text = violations(lu, s, group);

	if (text == NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance allocation to group %s (%s) violates "
			 "policy: %s",
			 group_uuid(group), group_name(group), text);
}

char *spec_forbidden(struct lu *lu, const struct inst_spec *s)
{
	const struct config *c = lu->m->config;
	auto_buf struct buf text = {0};
	auto_strv struct strv uuids = {0};
	size_t told = 0;

	config_sorted(c, CONFIG_GROUP, &uuids);
	for (size_t i = 0; i < uuids.n && told < FORBIDDEN_MAX; i++) {
		const json_t *group =
			config_get(c, CONFIG_GROUP, uuids.items[i]);
		const char *name = group_name(group);
		auto_free char *why = NULL;

		if (s->group_name != NULL && !str_eq(s->group_name, name) &&
		    !str_eq(s->group_name, uuids.items[i]))
			continue;
		why = violations(lu, s, group);
		if (why == NULL)
			continue;
		buf_addf(&text, "%sthe policy of group %s forbids it: %s",
			 told++ > 0 ? "; " : "", name, why);
	}
	return told == 0 ? NULL : buf_steal(&text);
}
