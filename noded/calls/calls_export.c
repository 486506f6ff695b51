/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the exports that this node keeps. */
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/scripts/exports.h"

/* Arguments: instance; its disks as they were exported, false for each that was
 * not. */
json_t *call_finalize_export(struct call *c, struct error *err)
{
	const json_t *instance = call_instance(c, 0, err);
	const json_t *disks = instance != NULL ? call_list(c, 1, err) : NULL;

	if (disks == NULL ||
	    exports_finalize(c->paths, instance, disks, err) < 0)
		return NULL;
	return json_null();
}

json_t *call_export_info(struct call *c, struct error *err)
{
	const char *folder = call_str(c, 0, err);
	auto_free char *text =
		folder != NULL ? exports_info(c->paths, folder, err) : NULL;

	return text != NULL ? json_string(text) : NULL;
}

json_t *call_export_list(struct call *c, struct error *err)
{
	return exports_list(c->paths, err);
}

json_t *call_export_remove(struct call *c, struct error *err)
{
	const char *name = call_str(c, 0, err);

	if (name == NULL || exports_remove(c->paths, name, err) < 0)
		return NULL;
	return json_null();
}
