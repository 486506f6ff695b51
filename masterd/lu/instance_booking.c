/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/lu/instance_booking.h"

#include "lib/json/json.h"
#include "masterd/lu_instance.h"

json_t *booking_object(const struct inst_spec *s, const char *uuid,
		       const char *pnode, bool up)
{
	return json_make("{s:s, s:s, s:s, s:s, s:O, s:O, s:O, s:O, s:s, s:s, "
			 "s:O, s:[], s:b, s:s, s:O}",
			 "name", s->name, "primary_node", pnode, "os",
			 s->os == NULL ? "" : s->os, "hypervisor",
			 s->hypervisor, "hvparams", s->hvparams, "beparams",
			 s->beparams, "osparams", s->osparams,
			 "osparams_private", s->osparams_private, "admin_state",
			 up ? "up" : "down", "admin_state_source", "admin",
			 "nics", s->nics, "disks", "disks_active", 0, "uuid",
			 uuid, "tags", s->tags);
}

void booking_put(struct lu *lu, const struct op_instance_create *op,
		 const struct inst_spec *s, const char *uuid, const char *pnode,
		 uint64_t job)
{
	auto_free char *folder =
		inst_file_dir(lu, s->name, s->template, op->file_storage_dir);
	const struct new_disk new = {.template = s->template,
				     .folder = folder,
				     .driver = op->file_driver,
				     .primary = pnode};
	json_t *inst = booking_object(s, uuid, pnode, false);
	json_t *disks = json_array();

	for (size_t i = 0; i < json_array_size(s->disks); i++) {
		const json_t *disk = config_put(
			lu->m->config, CONFIG_DISK,
			inst_new_disk(&new, json_array_get(s->disks, i), i));

		json_array_append(disks, json_object_get(disk, "uuid"));
	}
	json_object_set_new(inst, "disks", disks);
	json_set_bool(inst, "forthcoming", true);
	json_set_int(inst, "reserved_by_job", (int64_t)job);
	if (s->port != 0)
		json_set_int(inst, "network_port", s->port);
	config_put(lu->m->config, CONFIG_INSTANCE, inst);
}

const json_t *booking_find(const struct config *c, const char *name,
			   uint64_t job)
{
	const json_t *inst = config_find(c, CONFIG_INSTANCE, name);

	if (inst != NULL && str_eq(json_str(inst, "name", NULL), name) &&
	    json_bool(inst, "forthcoming", false) &&
	    json_int(inst, "reserved_by_job", 0) == (int64_t)job)
		return inst;
	return NULL;
}

void booking_drop(struct config *c, const json_t *inst)
{
	auto_json json_t *kept = json_incref((json_t *)inst);
	const json_t *disks = json_get(kept, "disks");

	for (size_t i = 0; i < json_array_size(disks); i++)
		config_remove(c, CONFIG_DISK,
			      json_string_value(json_array_get(disks, i)));
	config_remove(c, CONFIG_INSTANCE, json_str(kept, "uuid", ""));
}
