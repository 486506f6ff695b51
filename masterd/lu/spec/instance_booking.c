/* SPDX-License-Identifier: BSD-2-Clause */
/* A booked instance is an ordinary object with the member "forthcoming", and
 * with "reserved_by_job" while a job owns it.  It can be made real only with
 * the backend parameters and disks with which it was booked, as its resources
 * were counted with these. */
#include "masterd/lu/spec/instance_booking.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

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
		disks_file_dir(lu, s->name, s->template, op->file_storage_dir);
	const struct new_disk new = {.template = s->template,
				     .folder = folder,
				     .driver = op->file_driver,
				     .instance = uuid,
				     .hypervisor = s->hypervisor,
				     .primary = nodes->primary,
				     .secondary = nodes->secondary};
	auto_json json_t *disks = json_array();

	for (size_t i = 0; i < json_array_size(s->disks); i++) {
		json_t *disk = disks_new(lu, &new, json_array_get(s->disks, i),
					 i, err);

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

		json_array_append_new(uuids, json_string(disk_uuid(disk)));
		config_put(lu->m->config, CONFIG_DISK, json_incref(disk));
	}
	inst = booking_object(s, uuid, nodes->primary, false);
	inst_set_disks(inst, uuids);
	inst_set_forthcoming(inst, true);
	inst_set_reserved_by_job(inst, (int64_t)lu->job_id);
	if (s->port != 0)
		inst_set_network_port(inst, s->port);
	config_put(lu->m->config, CONFIG_INSTANCE, inst);
	return 0;
}

/* Whether it has the disks that are asked for now. */
static bool same_disks(const struct config *c, const json_t *inst,
		       const struct inst_spec *s)
{
	auto_json json_t *disks = config_instance_disks(c, inst);
	size_t n = json_array_size(disks);

	if (n != json_array_size(s->disks) ||
	    strcmp(config_instance_template(c, inst), s->template) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (disk_size_mib(json_array_get(disks, i)) !=
		    disk_size_mib(json_array_get(s->disks, i)))
			return false;
	return true;
}

const json_t *booking_planned(const struct config *c, const struct inst_spec *s,
			      struct error *err)
{
	const json_t *inst = config_find(c, CONFIG_INSTANCE, s->name);
	auto_json json_t *be = NULL;
	const char *differs;

	if (inst == NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL, "Instance %s unknown",
			  s->name);
		return NULL;
	}
	if (!inst_forthcoming(inst) || inst_has_reserved_by_job(inst)) {
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "Instance %s (with uuid %s) not forthcoming but "
			  "--commit was passed.",
			  s->name, inst_uuid(inst));
		return NULL;
	}
	be = params_fill_be(config_cluster(c), inst_beparams(inst));
	differs = !json_equal(be, s->filled_be) ? "backend parameters"
		  : !same_disks(c, inst, s)	? "disks"
						: NULL;
	if (differs == NULL)
		return inst;
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Room for instance %s was taken with other %s; give the same "
		  "ones, or remove the forthcoming instance and add it anew",
		  s->name, differs);
	return NULL;
}

void booking_claim(struct lu *lu, const struct inst_spec *s, const char *uuid)
{
	struct config *c = lu->m->config;
	json_t *inst = config_edit(config_get(c, CONFIG_INSTANCE, uuid));

	inst_set_os(inst, s->os == NULL ? "" : s->os);
	inst_set_hypervisor(inst, s->hypervisor);
	inst_set_hvparams(inst, json_ref(s->hvparams));
	inst_set_beparams(inst, json_ref(s->beparams));
	inst_set_osparams(inst, json_ref(s->osparams));
	inst_set_osparams_private(inst, json_ref(s->osparams_private));
	inst_set_tags(inst, json_ref(s->tags));
	if (s->port != 0)
		inst_set_network_port(inst, s->port);
	inst_set_reserved_by_job(inst, (int64_t)lu->job_id);
	config_put(c, CONFIG_INSTANCE, inst);
}

void booking_keep(struct config *c, const json_t *inst)
{
	json_t *edited = config_edit(inst);

	inst_drop_reserved_by_job(edited);
	inst_set_forthcoming(edited, true);
	inst_set_disks_active(edited, false);
	config_put(c, CONFIG_INSTANCE, edited);
}

void booking_drop(struct config *c, const json_t *inst)
{
	auto_json json_t *kept = json_ref(inst);
	const json_t *disks = inst_disks(kept);

	for (size_t i = 0; i < json_array_size(disks); i++)
		config_remove(c, CONFIG_DISK,
			      json_string_value(json_array_get(disks, i)));
	config_remove(c, CONFIG_INSTANCE, inst_uuid(kept));
}
