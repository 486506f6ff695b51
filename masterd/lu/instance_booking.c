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

/* The objects of its disks; to be freed, NULL with err. */
static json_t *make_disks(struct lu *lu, const struct op_instance_create *op,
			  const struct inst_spec *s, const char *uuid,
			  const struct inst_nodes *nodes, struct error *err)
{
	auto_free char *folder =
		inst_file_dir(lu, s->name, s->template, op->file_storage_dir);
	const struct new_disk new = {.template = s->template,
				     .folder = folder,
				     .driver = op->file_driver,
				     .instance = uuid,
				     .primary = nodes->primary,
				     .secondary = nodes->secondary};
	auto_json json_t *disks = json_array();

	for (size_t i = 0; i < json_array_size(s->disks); i++) {
		json_t *disk = inst_new_disk(
			lu, &new, json_array_get(s->disks, i), i, err);

		if (disk == NULL)
			return NULL;
		json_array_append_new(disks, disk);
	}
	return steal(&disks);
}

int booking_put(struct lu *lu, const struct op_instance_create *op,
		const struct inst_spec *s, const char *uuid,
		const struct inst_nodes *nodes, struct error *err)
{
	auto_json json_t *disks = make_disks(lu, op, s, uuid, nodes, err);
	json_t *inst, *uuids = json_array();

	if (disks == NULL) {
		json_decref(uuids);
		return -1;
	}
	for (size_t i = 0; i < json_array_size(disks); i++) {
		json_t *disk = json_array_get(disks, i);

		json_array_append(uuids, json_object_get(disk, "uuid"));
		config_put(lu->m->config, CONFIG_DISK, json_incref(disk));
	}
	inst = booking_object(s, uuid, nodes->primary, false);
	json_object_set_new(inst, "disks", uuids);
	json_set_bool(inst, "forthcoming", true);
	json_set_int(inst, "reserved_by_job", (int64_t)lu->job_id);
	if (s->port != 0)
		json_set_int(inst, "network_port", s->port);
	config_put(lu->m->config, CONFIG_INSTANCE, inst);
	return 0;
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
