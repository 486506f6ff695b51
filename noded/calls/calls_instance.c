/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that start, stop and look at instances. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/hv/hv.h"
#include "noded/instance/instance.h"
#include "noded/storage/bdev.h"

/* A larger size is a mistake; this one still fits in bytes. */
#define MEMORY_MIB_MAX (INT64_C(1) << 40)

static json_t *info_object(const struct hv_info *info)
{
	json_t *time = info->time == floor(info->time)
			       ? json_integer((json_int_t)info->time)
			       : json_real(info->time);

	return json_make("{s:I, s:I, s:I, s:o}", "memory",
			 (json_int_t)info->memory, "vcpus",
			 (json_int_t)info->vcpus, "state",
			 (json_int_t)info->state, "time", time);
}

/* Add the instances that run under one hypervisor to *ret. */
static int add_infos(struct call *c, const char *hypervisor,
		     const json_t *hvparams, json_t *ret, struct error *err)
{
	const struct hv_class *hv = hv_find(hypervisor, err);
	auto_strv struct strv names = {0};

	if (hv == NULL || hv->list(c->paths, hvparams, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		struct hv_info info = {0};
		int rc = hv->info(c->paths, names.items[i], hvparams, &info,
				  err);

		if (rc < 0)
			return -1;
		if (rc == 1) /* it may have ended meanwhile */
			json_object_set_new(ret, names.items[i],
					    info_object(&info));
	}
	return 0;
}

/* A hypervisor that this daemon does not know runs nothing here and is skipped,
 * so that the others' instances can be listed.  If none is known, or one fails,
 * the call fails: otherwise its instances would be taken for stopped. */
json_t *call_all_instances_info(struct call *c, struct error *err)
{
	const json_t *names = call_list(c, 0, err), *name;
	const json_t *params = json_array_get(c->args, 1);
	auto_json json_t *result = json_object();
	bool known = json_array_size(names) == 0;
	size_t i;

	if (names == NULL)
		return NULL;
	json_array_foreach (names, i, name) {
		const char *hypervisor = json_string_value(name);

		if (hv_find(hypervisor != NULL ? hypervisor : "", err) == NULL)
			continue;
		known = true;
		if (add_infos(c, hypervisor, json_get(params, hypervisor),
			      result, err) < 0)
			return NULL;
	}
	return known ? steal(&result) : NULL;
}

json_t *call_instance_list(struct call *c, struct error *err)
{
	const json_t *names = call_list(c, 0, err);
	auto_strv struct strv running = {0};

	if (names == NULL ||
	    instance_list_all(c->paths, names, json_array_get(c->args, 1),
			      &running, err) < 0)
		return NULL;
	return json_from_strv(&running);
}

json_t *call_instance_info(struct call *c, struct error *err)
{
	const char *name = call_str(c, 0, err);
	const char *hypervisor = name != NULL ? call_str(c, 1, err) : NULL;
	const struct hv_class *hv;
	struct hv_info info = {0};
	int rc;

	if (hypervisor == NULL)
		return NULL;
	if (!str_valid_hostname(name)) {
		error_set(err, ERR_REQUEST, NULL,
			  "\"%s\" is not a valid instance name", name);
		return NULL;
	}
	hv = hv_find(hypervisor, err);
	if (hv == NULL)
		return NULL;
	rc = hv->info(c->paths, name, json_array_get(c->args, 2), &info, err);
	if (rc < 0)
		return NULL;
	return rc == 1 ? info_object(&info) : json_object();
}

json_t *call_instance_start(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);

	if (instance == NULL)
		return NULL;
	metad_start(&c->n->metad, instance); /* the guest may ask at once */
	if (instance_start(c->paths, instance, call_flag(c, 1), err) < 0) {
		metad_forget(&c->n->metad, json_str(instance, "name", ""));
		return NULL;
	}
	return json_null();
}

json_t *call_instance_shutdown(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);
	int64_t timeout_s;

	if (instance == NULL || call_int(c, 1, &timeout_s, err) < 0 ||
	    instance_shutdown(c->paths, instance, timeout_s, err) < 0)
		return NULL;
	metad_forget(&c->n->metad, json_str(instance, "name", ""));
	return json_null();
}

/* Arguments: instance with osparams, osparams_private and osparams_secret. */
json_t *call_instance_metadata_modify(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);

	return instance == NULL || metad_know(&c->n->metad, instance, err) < 0
		       ? NULL
		       : json_null();
}

static int soft_reboot(struct call *c, const json_t *instance,
		       struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);

	if (hv == NULL)
		return -1;
	return hv->reboot(c->paths, instance, err);
}

json_t *call_instance_reboot(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);
	const char *type = instance != NULL ? call_str(c, 1, err) : NULL;
	int64_t timeout_s = json_integer_value(json_array_get(c->args, 2));
	int rc;

	if (type == NULL || instance_need_running(c->paths, instance, err) < 0)
		return NULL;
	if (strcmp(type, "soft") == 0) {
		rc = soft_reboot(c, instance, err);
	} else if (strcmp(type, "hard") == 0) {
		rc = instance_shutdown(c->paths, instance, timeout_s, err);
		if (rc == 0)
			rc = instance_start(c->paths, instance, false, err);
	} else {
		rc = error_set(err, ERR_REQUEST, NULL,
			       "Invalid reboot type: '%s'", type);
	}
	return rc == 0 ? json_null() : NULL;
}

json_t *call_instance_balloon_memory(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);
	const struct hv_class *hv;
	int64_t memory;

	if (instance == NULL || call_int(c, 1, &memory, err) < 0)
		return NULL;
	hv = hv_of(instance, err);
	if (hv == NULL || instance_need_running(c->paths, instance, err) < 0)
		return NULL;
	if (memory <= 0 || memory > MEMORY_MIB_MAX) {
		error_set(err, ERR_REQUEST, NULL,
			  "%" PRId64 " MiB is not an amount of memory", memory);
		return NULL;
	}
	if (hv->balloon == NULL) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Hypervisor %s cannot change the memory of a running "
			  "instance",
			  hv->name);
		return NULL;
	}
	return hv->balloon(c->paths, instance, memory, err) < 0 ? NULL
								: json_null();
}

/* --- hotplug --- */

static const struct hv_class *hotplug_class(const json_t *instance,
					    struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);

	if (hv == NULL ||
	    (hv->hotplug != NULL && hv->hotplug_supported != NULL))
		return hv;
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Hotplug is not supported by this hypervisor");
	return NULL;
}

json_t *call_hotplug_supported(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);
	const struct hv_class *hv =
		instance != NULL ? hotplug_class(instance, err) : NULL;

	if (hv == NULL)
		return NULL;
	if (hv->hotplug_supported(c->paths, instance, err) < 0) {
		error_wrap(err, "Hotplug is not supported");
		return NULL;
	}
	return json_null();
}

static int plug_action(const struct call *c, enum hv_plug_action *ret,
		       struct error *err)
{
	static const char *const names[] = {
		[PLUG_ADD] = "hotadd",
		[PLUG_REMOVE] = "hotremove",
		[PLUG_MODIFY] = "hotmod",
	};
	const char *name = call_str(c, 1, err);

	for (size_t i = 0; name != NULL && i < 3; i++)
		if (strcmp(names[i], name) == 0) {
			*ret = (enum hv_plug_action)i;
			return 0;
		}
	return name == NULL ? -1
			    : error_set(err, ERR_REQUEST, NULL,
					"Invalid hotplug action '%s'", name);
}

/* The path of the disk as this node knows it; the path in the call is not
 * trusted. */
static int plug_path(struct call *c, const json_t *disk, char **ret,
		     struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	int rc = class == NULL ? -1 : class->find(c->paths, disk, ret, err);

	if (rc == 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "Block device '%s' is not set up",
				 json_str(disk, "iv_name", "?"));
	return rc < 0 ? -1 : 0;
}

json_t *call_hotplug_device(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);
	const char *kind = instance != NULL ? call_str(c, 2, err) : NULL;
	const json_t *device = kind != NULL ? call_object(c, 3, err) : NULL;
	const struct hv_class *hv =
		device != NULL ? hotplug_class(instance, err) : NULL;
	auto_free char *file = NULL;
	struct hv_plug plug = {.device = device};
	int64_t seq;

	if (hv == NULL || plug_action(c, &plug.action, err) < 0 ||
	    call_int(c, 5, &seq, err) < 0)
		return NULL;
	plug.seq = seq < 0 ? 0 : (size_t)seq;
	plug.is_disk = strcmp(kind, "disk") == 0;
	if (!plug.is_disk && strcmp(kind, "nic") != 0) {
		error_set(err, ERR_REQUEST, NULL, "Invalid hotplug target '%s'",
			  kind);
		return NULL;
	}
	if (plug.is_disk && plug.action == PLUG_ADD &&
	    plug_path(c, device, &file, err) < 0)
		return NULL;
	plug.path = file;
	if (instance_need_running(c->paths, instance, err) < 0 ||
	    hv->hotplug(c->paths, instance, &plug, err) < 0)
		return NULL;
	return json_null();
}

static json_t *console_of(struct call *c, const char *name, const json_t *query,
			  struct error *err)
{
	const json_t *instance = json_get(query, "instance");
	const struct hv_class *hv = hv_of(instance, err);
	json_t *console;

	if (hv == NULL)
		return NULL;
	console = hv->console(c->paths, instance, json_get(query, "node"),
			      json_get(query, "hvParams"), err);
	if (console != NULL)
		json_set_str(console, "instance", name);
	return console;
}

/* The argument is an object, or a list with this one object. */
json_t *call_instance_console_info(struct call *c, struct error *err)
{
	const json_t *queries =
		json_is_object(c->args) ? c->args : call_object(c, 0, err);
	auto_json json_t *result = json_object();
	const char *name;
	json_t *query;

	if (queries == NULL)
		return NULL;
	json_object_foreach (json_unconst(queries), name, query) {
		json_t *console = console_of(c, name, query, err);

		if (console == NULL)
			return NULL;
		json_object_set_new(result, name, console);
	}
	return steal(&result);
}

json_t *call_hypervisor_validate_params(struct call *c, struct error *err)
{
	const char *name = call_str(c, 0, err);
	const json_t *params = name != NULL ? call_object(c, 1, err) : NULL;
	const struct hv_class *hv;

	if (params == NULL)
		return NULL;
	hv = hv_find(name, err);
	if (hv == NULL)
		return NULL;
	return hv->validate(c->paths, params, err) < 0 ? NULL : json_null();
}
