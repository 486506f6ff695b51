/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that start, stop and look at instances. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/array.h"
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

static void add_info(void *arg, const char *name, const struct hv_info *info)
{
	json_object_set_new(arg, name, info_object(info));
}

/* Add the instances that run under one hypervisor to *ret. */
static WAITS int add_infos(struct call *c, const char *hypervisor,
			   const json_t *hvparams, json_t *ret,
			   struct error *err)
{
	const struct hv_class *hv = hv_find(hypervisor, err);
	auto_strv struct strv names = {0};

	if (hv == NULL)
		return -1;
	if (hv->infos != NULL)
		return hv->infos(c->paths, hvparams, add_info, ret, err);
	if (hv->list(c->paths, hvparams, &names, err) < 0)
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
json_t *call_all_instances_info(struct call *c,
				const struct rpc_args_all_instances_info *args,
				struct error *err)
{
	auto_json json_t *result = json_object();
	bool known = json_array_size(args->hypervisors) == 0;
	const json_t *name;
	size_t i;

	json_array_foreach (args->hypervisors, i, name) {
		const char *hypervisor = json_string_value(name);

		if (hv_find(hypervisor != NULL ? hypervisor : "", err) == NULL)
			continue;
		known = true;
		if (add_infos(c, hypervisor,
			      json_get(args->hvparams, hypervisor), result,
			      err) < 0)
			return NULL;
	}
	return known ? steal(&result) : NULL;
}

json_t *call_instance_list(struct call *c,
			   const struct rpc_args_instance_list *args,
			   struct error *err)
{
	auto_strv struct strv running = {0};

	if (instance_list_all(c->paths, args->hypervisors, args->hvparams,
			      &running, err) < 0)
		return NULL;
	return json_from_strv(&running);
}

json_t *call_instance_info(struct call *c,
			   const struct rpc_args_instance_info *args,
			   struct error *err)
{
	const struct hv_class *hv;
	struct hv_info info = {0};
	int rc;

	if (!str_valid_hostname(args->name)) {
		error_set(err, ERR_REQUEST, NULL,
			  "\"%s\" is not a valid instance name", args->name);
		return NULL;
	}
	hv = hv_find(args->hypervisor, err);
	if (hv == NULL)
		return NULL;
	rc = hv->info(c->paths, args->name, args->hvparams, &info, err);
	if (rc < 0)
		return NULL;
	return rc == 1 ? info_object(&info) : json_object();
}

WAITS json_t *call_instance_start(struct call *c,
				  const struct rpc_args_instance_start *args,
				  struct error *err)
{
	const struct hv_caller caller = calls_caller(c);

	/* The guest may ask at once. */
	metad_start(&c->n->metad, args->instance);
	if (instance_start(c->paths, args->instance, args->paused, &caller,
			   err) < 0) {
		metad_forget(&c->n->metad,
			     json_str(args->instance, "name", ""));
		return NULL;
	}
	return json_null();
}

WAITS json_t *
call_instance_shutdown(struct call *c,
		       const struct rpc_args_instance_shutdown *args,
		       struct error *err)
{
	const struct hv_caller caller = calls_caller(c);

	if (instance_shutdown(c->paths, args->instance, args->timeout_s,
			      &caller, err) < 0 ||
	    calls_in_force(c, err) < 0)
		return NULL;
	metad_forget(&c->n->metad, json_str(args->instance, "name", ""));
	return json_null();
}

/* The instance has osparams, osparams_private and osparams_secret. */
json_t *call_instance_metadata_modify(
	struct call *c, const struct rpc_args_instance_metadata_modify *args,
	struct error *err)
{
	return metad_know(&c->n->metad, args->instance, err) < 0 ? NULL
								 : json_null();
}

static WAITS int soft_reboot(struct call *c, const json_t *instance,
			     struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);

	if (hv == NULL)
		return -1;
	return hv->reboot(c->paths, instance, err);
}

/* By the end of the shutdown another master may have started it elsewhere. */
static WAITS int hard_reboot(struct call *c,
			     const struct rpc_args_instance_reboot *args,
			     struct error *err)
{
	const struct hv_caller caller = calls_caller(c);

	if (instance_shutdown(c->paths, args->instance, args->timeout_s,
			      &caller, err) < 0 ||
	    calls_in_force(c, err) < 0)
		return -1;
	return instance_start(c->paths, args->instance, false, &caller, err);
}

WAITS json_t *call_instance_reboot(struct call *c,
				   const struct rpc_args_instance_reboot *args,
				   struct error *err)
{
	const json_t *instance = args->instance;
	int rc;

	if (instance_need_running(c->paths, instance, err) < 0 ||
	    calls_in_force(c, err) < 0)
		return NULL;
	if (strcmp(args->type, "soft") == 0)
		rc = soft_reboot(c, instance, err);
	else if (strcmp(args->type, "hard") == 0)
		rc = hard_reboot(c, args, err);
	else
		rc = error_set(err, ERR_REQUEST, NULL,
			       "Invalid reboot type: '%s'", args->type);
	return rc == 0 ? json_null() : NULL;
}

WAITS json_t *call_instance_balloon_memory(
	struct call *c, const struct rpc_args_instance_balloon_memory *args,
	struct error *err)
{
	const struct hv_class *hv = hv_of(args->instance, err);
	int64_t memory = args->memory_mib;

	if (hv == NULL ||
	    instance_need_running(c->paths, args->instance, err) < 0 ||
	    calls_in_force(c, err) < 0)
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
	return hv->balloon(c->paths, args->instance, memory, err) < 0
		       ? NULL
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

WAITS json_t *
call_hotplug_supported(struct call *c,
		       const struct rpc_args_hotplug_supported *args,
		       struct error *err)
{
	const struct hv_class *hv = hotplug_class(args->instance, err);

	if (hv == NULL)
		return NULL;
	if (hv->hotplug_supported(c->paths, args->instance, err) < 0) {
		error_wrap(err, "Hotplug is not supported");
		return NULL;
	}
	return json_null();
}

static int plug_action(const char *name, enum hv_plug_action *ret,
		       struct error *err)
{
	static const char *const names[] = {
		[PLUG_ADD] = "hotadd",
		[PLUG_REMOVE] = "hotremove",
		[PLUG_MODIFY] = "hotmod",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0) {
			*ret = (enum hv_plug_action)i;
			return 0;
		}
	return error_set(err, ERR_REQUEST, NULL, "Invalid hotplug action '%s'",
			 name);
}

/* The path of the disk as this node knows it; the path in the call is not
 * trusted. */
static WAITS int plug_path(struct call *c, const json_t *disk, char **ret,
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

WAITS json_t *call_hotplug_device(struct call *c,
				  const struct rpc_args_hotplug_device *args,
				  struct error *err)
{
	const struct hv_class *hv = hotplug_class(args->instance, err);
	const struct hv_caller caller = calls_caller(c);
	struct hv_plug plug = {
		.caller = &caller,
		.device = args->device,
		.seq = args->seq < 0 ? 0 : (size_t)args->seq,
		.is_disk = strcmp(args->kind, "disk") == 0,
	};
	auto_free char *file = NULL, *uri = NULL;

	if (hv == NULL || plug_action(args->action, &plug.action, err) < 0)
		return NULL;
	if (!plug.is_disk && strcmp(args->kind, "nic") != 0) {
		error_set(err, ERR_REQUEST, NULL, "Invalid hotplug target '%s'",
			  args->kind);
		return NULL;
	}
	if (plug.is_disk && plug.action == PLUG_ADD &&
	    plug_path(c, args->device, &file, err) < 0)
		return NULL;
	uri = plug.is_disk ? bdev_uri(args->device) : NULL;
	plug.path = file;
	plug.uri = uri;
	if (instance_need_running(c->paths, args->instance, err) < 0 ||
	    calls_in_force(c, err) < 0 ||
	    hv->hotplug(c->paths, args->instance, &plug, err) < 0)
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

/* {name: {instance, node, hvParams}} */
json_t *
call_instance_console_info(struct call *c,
			   const struct rpc_args_instance_console_info *args,
			   struct error *err)
{
	auto_json json_t *result = json_object();
	const char *name;
	json_t *query;

	json_object_foreach (json_unconst(args->instances), name, query) {
		json_t *console = console_of(c, name, query, err);

		if (console == NULL)
			return NULL;
		json_object_set_new(result, name, console);
	}
	return steal(&result);
}

json_t *call_hypervisor_validate_params(
	struct call *c, const struct rpc_args_hypervisor_validate_params *args,
	struct error *err)
{
	const struct hv_class *hv = hv_find(args->hypervisor, err);

	if (hv == NULL)
		return NULL;
	return hv->validate(c->paths, args->hvparams, err) < 0 ? NULL
							       : json_null();
}
