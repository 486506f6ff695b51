/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about logical volumes, volume groups and physical volumes, by LVM's own
 * programs. */
#include <string.h>

#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"

#define LVM_TIMEOUT_MS 120000

static const char *row_str(const json_t *row, const char *key)
{
	return json_str(row, key, "");
}

/* A volume of several pieces has a line for each; the position is cut off the
 * device's name: "/dev/sda1(0)". */
static json_t *volume(const json_t *row)
{
	const char *devices = row_str(row, "devices");
	auto_free char *device = xstrndup(devices, strcspn(devices, "("));
	double size = 0;

	str_to_double(row_str(row, "lv_size"), &size);
	return json_make("{s:s, s:f, s:s, s:s}", "name",
			 row_str(row, "lv_name"), "size", size, "dev", device,
			 "vg", row_str(row, "vg_name"));
}

static WAITS json_t *run_lvs(struct error *err)
{
	static const char *const argv[] = {"lvs",
					   "--reportformat",
					   "json",
					   "--units=m",
					   "--nosuffix",
					   "-o",
					   "lv_name,lv_size,devices,vg_name",
					   NULL};
	struct proc_spec spec = {.argv = argv, .timeout_ms = LVM_TIMEOUT_MS};
	auto_proc struct proc_result result = {0};
	char how[PROC_HOW_MAX];

	if (proc_run(&spec, &result, err) < 0)
		return NULL;
	if (proc_succeeded(&result))
		return json_parse(result.out, result.out_len, err);
	error_set(err, ERR_EXEC, NULL,
		  "Failed to list logical volumes, lvs %s: %s",
		  proc_how(&result, how), result.err);
	return NULL;
}

WAITS json_t *call_node_volumes(struct call *c, struct error *err)
{
	auto_json json_t *report = run_lvs(err);
	const json_t *rows =
		json_get(json_array_get(json_get(report, "report"), 0), "lv");
	json_t *result;

	(void)c;
	if (report == NULL)
		return NULL;
	result = json_array();
	for (size_t i = 0; i < json_array_size(rows); i++)
		json_array_append_new(result, volume(json_array_get(rows, i)));
	return result;
}

/* In a virtual cluster volume groups and physical volumes are the machine's. */
static int refuse_virtual(const struct call *c, struct error *err)
{
	if (!noded_is_virtual(c->n))
		return 0;
	return error_set(err, ERR_EXEC, ECODE_STATE,
			 "A node of a virtual cluster does not change the "
			 "machine's LVM");
}

/* A valid name, which LVM cannot take for an option. */
static int check_name(const char *name, struct error *err)
{
	if (name != NULL && *name != '\0' && *name != '-')
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "\"%s\" is not a name of a storage unit",
			 name != NULL ? name : "");
}

WAITS json_t *call_storage_execute(struct call *c,
				   const struct rpc_args_storage_execute *args,
				   struct error *err)
{
	if (strcmp(args->type, "lvm-vg") != 0 ||
	    strcmp(args->operation, "fix-consistency") != 0) {
		error_set(err, ERR_STORAGE, NULL,
			  "Storage of type '%s' has no operation '%s'",
			  args->type, args->operation);
		return NULL;
	}
	if (check_name(args->name, err) < 0 || refuse_virtual(c, err) < 0 ||
	    proc_check((const char *const[]){"vgreduce", "--removemissing",
					     args->name, NULL},
		       LVM_TIMEOUT_MS, err) < 0)
		return NULL;
	return json_null();
}

/* Changes: {"allocatable": bool}. */
WAITS json_t *call_storage_modify(struct call *c,
				  const struct rpc_args_storage_modify *args,
				  struct error *err)
{
	const json_t *allocatable =
		json_object_get(args->changes, "allocatable");
	const char *value = json_is_true(allocatable) ? "y" : "n";

	if (strcmp(args->type, "lvm-pv") != 0 ||
	    json_object_size(args->changes) != 1 ||
	    !json_is_boolean(allocatable)) {
		error_set(err, ERR_STORAGE, NULL,
			  "Storage of type '%s' cannot be changed so",
			  args->type);
		return NULL;
	}
	if (check_name(args->name, err) < 0 || refuse_virtual(c, err) < 0 ||
	    proc_check((const char *const[]){"pvchange", "--allocatable", value,
					     args->name, NULL},
		       LVM_TIMEOUT_MS, err) < 0)
		return NULL;
	return json_null();
}
