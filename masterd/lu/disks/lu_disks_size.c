/* SPDX-License-Identifier: BSD-2-Clause */
/* How large disks really are.  A volume is made of whole extents, and may be
 * larger than what is recorded.  The instance sees all of it, and may use the
 * end: a copy has to be as large. */
#include "lib/base/units.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

int64_t disks_told_mib(const json_t *answer)
{
	const json_t *bytes = json_array_get(answer, 0);
	int64_t n = json_integer_value(bytes);

	return !json_is_integer(bytes) || n < 0 ? -1 : n / MIB + (n % MIB > 0);
}

void disks_set_size(json_t *disk, int64_t mib)
{
	const json_t *children = disk_children(disk);
	json_t *list, *data;

	disk_set_size_mib(disk, mib);
	if (!template_is_pair(disk_dev_type(disk)) ||
	    json_array_size(children) == 0)
		return;
	list = json_copy(json_unconst(children));
	data = json_copy(json_array_get(list, 0));
	disk_set_size_mib(data, mib);
	json_array_set_new(list, 0, data);
	disk_set_children(disk, list);
}

/* No disk is taken for smaller than recorded. */
static int64_t size_of(const json_t *disk, const json_t *answer)
{
	int64_t recorded = disk_size_mib(disk), mib = disks_told_mib(answer);

	return mib > recorded ? mib : recorded;
}

json_t *disks_real_sizes(struct lu *lu, const char *node, const json_t *disks)
{
	json_t *sizes = json_array();
	auto_json json_t *answer = NULL;
	struct error err;

	answer = lu_call(lu, node, rpc_blockdev_getdimensions(json_ref(disks)),
			 &err);
	if (answer == NULL)
		lu_warn(lu,
			"Node %s does not tell the sizes of the disks, "
			"ignoring: %s",
			lu_node_name(lu, node), err.text);
	for (size_t i = 0; i < json_array_size(disks); i++)
		json_array_append_new(
			sizes,
			json_integer(size_of(json_array_get(disks, i),
					     json_array_get(answer, i))));
	return sizes;
}

WAITS int disks_record_sizes(struct lu *lu, const json_t *inst,
			     struct error *err)
{
	struct config *c = lu->m->config;
	auto_json json_t *carried = inst_rpc_disks(lu, inst);
	auto_json json_t *sizes =
		disks_real_sizes(lu, inst_primary_node(inst), carried);
	bool changes = false;

	for (size_t i = 0; i < json_array_size(carried); i++) {
		const char *uuid = disk_uuid(json_array_get(carried, i));
		const json_t *disk = config_get(c, CONFIG_DISK, uuid);
		int64_t size = json_integer_value(json_array_get(sizes, i));
		json_t *changed;

		if (size == disk_size_mib(disk))
			continue;
		lu_info(lu, "Disk %zu has %jd MiB, recorded were %jd", i,
			(intmax_t)size, (intmax_t)disk_size_mib(disk));
		changed = config_edit(disk);
		disk_set_size_mib(changed, size);
		config_put(c, CONFIG_DISK, changed);
		changes = true;
	}
	return changes ? config_commit(c, err) : 0;
}
