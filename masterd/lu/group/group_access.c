/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that hypervisors open themselves ("access=userspace"), which only some
 * hypervisors can do. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/group/group.h"

static bool is_in_userspace(const json_t *cluster, const json_t *group,
			    const char *template)
{
	auto_json json_t *filled = params_fill_disk(cluster, group, template);

	return template_get(template)->access &&
	       str_eq(json_str(filled, "access", NULL), "userspace");
}

/* Check the instances that run in the group, of which one may use it. */
static int check_template(struct lu *lu, const struct strv *instances,
			  const char *template, struct error *err)
{
	for (size_t i = 0; i < instances->n; i++) {
		const json_t *inst = config_get(lu->m->config, CONFIG_INSTANCE,
						instances->items[i]);
		const char *hv = inst_hypervisor(inst);

		if (str_eq(config_instance_template(lu->m->config, inst),
			   template) &&
		    !hypervisor_get(hv)->userspace_disks)
			return error_set(err, ERR_PREREQ, NULL,
					 "Instance %s: cannot use 'userspace' "
					 "access setting with %s hypervisor "
					 "and %s disk type.",
					 inst_name(inst), hv, template);
	}
	return 0;
}

int group_check_access(struct lu *lu, const json_t *cluster,
		       const json_t *group, const json_t *changes,
		       struct error *err)
{
	auto_strv struct strv nodes = {0}, instances = {0};
	const char *template;
	json_t *values;

	config_group_nodes(lu->m->config, group_uuid(group), &nodes);
	for (size_t i = 0; i < nodes.n; i++)
		config_node_primaries(lu->m->config, nodes.items[i],
				      &instances);
	json_object_foreach (json_unconst(changes), template, values)
		if (json_get(values, "access") != NULL &&
		    is_in_userspace(cluster, group, template) &&
		    check_template(lu, &instances, template, err) < 0)
			return -1;
	return 0;
}
