/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration alone answers: policy, recorded space, promises. */
#include "masterd/lu/group/group_mirror.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/capacity.h"
#include "masterd/resources/resources.h"

static int check_space(struct lu *lu, const struct group_mirror *g,
		       const char *template, struct error *err)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, g->inst);
	int64_t space = resources_disk_sum(disks, template);
	struct node_disk room;

	resources_disk(lu->m->config, g->comes, template, &room);
	if (!room.recorded || resources_disk_free(&room) >= space)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Not enough disk space on node %s: needed %jd MiB, "
			 "available %jd MiB",
			 lu_node_name(lu, g->comes), (intmax_t)space,
			 (intmax_t)resources_disk_free(&room));
}

int group_mirror_room(struct lu *lu, const struct group_mirror *g,
		      struct error *err)
{
	const char *template = config_instance_template(lu->m->config, g->inst);
	auto_json json_t *be = inst_filled_be(lu, g->inst);
	const struct capacity_new new = {
		.uuid = inst_uuid(g->inst),
		.name = inst_name(g->inst),
		.template = template,
		.node = g->primary,
		.secondary = g->secondary,
		.memory = be_minmem(be),
		.vcpus = be_vcpus(be),
		.moves = be_auto_balance(be),
	};

	if ((!g->ignore_ipolicy &&
	     group_check_policy(lu, g->inst, g->comes, err) < 0) ||
	    check_space(lu, g, template, err) < 0)
		return -1;
	return g->ignore_ipolicy ? 0
				 : capacity_check_new(lu->m->config, &new, err);
}
