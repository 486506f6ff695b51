/* SPDX-License-Identifier: BSD-2-Clause */
/* What a changed instance policy means for the instances that exist.  Each is
 * described as a spec and checked against both policies; those that fit the old
 * one and break the new one are named.  One disk's size can be replaced, to
 * check a planned change of it. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"

/* Whether a node of the instance has exclusive storage. */
static bool is_exclusive(const struct config *c, const json_t *inst)
{
	auto_strv struct strv nodes = {0};

	strv_add(&nodes, inst_primary_node(inst));
	config_instance_secondaries(c, inst, &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		if (resources_exclusive(
			    c, config_get(c, CONFIG_NODE, nodes.items[i])))
			return true;
	return false;
}

/* On exclusive storage disks have spindles for themselves, which count in place
 * of a backend parameter. */
static int64_t spindle_use(struct lu *lu, const json_t *inst, const json_t *be,
			   const json_t *disks, struct strv *ret)
{
	int64_t sum = 0;

	if (!is_exclusive(lu->m->config, inst))
		return be_spindle_use(be);
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		if (!disk_has_spindles(disk)) {
			strv_add(ret, "the spindles of its disks are not "
				      "recorded, as "
				      "exclusive storage needs it (gnt-cluster "
				      "repair-disk-sizes does it)");
			return PARAMS_SPEC_UNSAID;
		}
		sum += disk_spindles(disk);
	}
	return sum;
}

void group_violations_with_disk(struct lu *lu, const json_t *inst,
				const json_t *policy, size_t index,
				int64_t size, struct strv *ret)
{
	auto_json json_t *be = inst_filled_be(lu, inst);
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	size_t n = json_array_size(disks);
	auto_free int64_t *sizes = xcalloc(n + 1, sizeof(*sizes));
	struct params_spec spec = {
		.memory = be_maxmem(be),
		.vcpus = be_vcpus(be),
		.disk_count = (int64_t)n,
		.nic_count = (int64_t)json_array_size(inst_nics(inst)),
		.spindle_use = spindle_use(lu, inst, be, disks, ret),
		.disk_sizes = sizes,
		.n_disk_sizes = n,
		.disk_template = config_instance_template(lu->m->config, inst),
	};

	for (size_t i = 0; i < n; i++)
		sizes[i] = i == index ? size
				      : disk_size_mib(json_array_get(disks, i));
	params_ipolicy_violations(policy, &spec, ret);
}

static bool breaks(struct lu *lu, const json_t *inst, const json_t *policy)
{
	auto_strv struct strv sentences = {0};

	group_violations_with_disk(lu, inst, policy, SIZE_MAX, 0, &sentences);
	return sentences.n > 0;
}

void group_new_violations(struct lu *lu, const json_t *cluster,
			  const json_t *before, const json_t *after,
			  struct strv *ret_names)
{
	auto_json json_t *old_policy =
		params_fill_ipolicy(config_cluster(lu->m->config), before);
	auto_json json_t *new_policy = params_fill_ipolicy(cluster, after);
	auto_strv struct strv nodes = {0}, instances = {0};

	config_group_nodes(lu->m->config, group_uuid(after), &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		config_node_primaries(lu->m->config, nodes.items[i],
				      &instances);
	for (size_t i = 0; i < instances.n; i++) {
		const json_t *inst = config_get(lu->m->config, CONFIG_INSTANCE,
						instances.items[i]);

		if (!breaks(lu, inst, old_policy) &&
		    breaks(lu, inst, new_policy))
			strv_add(ret_names, inst_name(inst));
	}
	strv_sort(ret_names);
}

void group_warn_violations(struct lu *lu, const struct strv *names)
{
	auto_free char *text = strv_join(names, ", ");

	if (names->n > 0)
		lu_warn(lu,
			"After the ipolicy change the following instances "
			"violate them: %s",
			text);
}

int group_check_policy(struct lu *lu, const json_t *inst, const char *node_uuid,
		       struct error *err)
{
	const struct config *c = lu->m->config;
	const json_t *group =
		config_get(c, CONFIG_GROUP,
			   node_group(config_get(c, CONFIG_NODE, node_uuid)));
	auto_json json_t *policy =
		params_fill_ipolicy(config_cluster(c), group);
	auto_strv struct strv broken = {0};
	auto_free char *text = NULL;

	group_violations_with_disk(lu, inst, policy, SIZE_MAX, 0, &broken);
	if (broken.n == 0)
		return 0;
	text = strv_join(&broken, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance does not meet target node group's (%s) "
			 "instance policy: %s",
			 group_name(group), text);
}
