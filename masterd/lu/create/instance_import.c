/* SPDX-License-Identifier: BSD-2-Clause */
/* An import becomes a normal creation: the opcode is completed from the
 * export's description.  Values of the user win, except for the OS.  Values
 * made for the opcode are held in `kept` until the end.  The data of the disks
 * is copied last. */
#include "masterd/lu/create/instance_import.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/ini.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/paths.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/transfer.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_spec.h"

#define EXPORT_VERSION "0"
/* A node daemon that is started anew answers after some of these. */
#define ASK_TRIES 30
#define ASK_PAUSE_MS 2000

void import_done(struct inst_import *im)
{
	free(im->node);
	free(im->path);
	free(im->description);
	free(im->old_name);
	json_decref(im->images);
	json_decref(im->kept);
}

int import_expand(struct lu *lu, const struct op_instance_create *op,
		  struct error *err)
{
	const json_t *node;

	if (op->src_node == NULL) {
		if (op->src_path != NULL && *op->src_path == '/')
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Importing from an absolute path "
					 "needs the node that has it "
					 "(--src-node)");
		return 0;
	}
	node = lu_node(lu, op->src_node, err);
	if (node == NULL)
		return -1;
	lu_want(lu, LOCK_NODE, node_uuid(node), false);
	return 0;
}

/* --- finding it --- */

/* The node that has an export of this name, to be freed; NULL and err. */
static WAITS char *search(struct lu *lu, const char *name, struct error *err)
{
	auto_strv struct strv uuids = {0};
	struct node_result *results;
	char *found = NULL;
	size_t n;

	config_sorted(lu->m->config, CONFIG_NODE, &uuids);
	results = lu_call_nodes(lu, &uuids, rpc_export_list(NULL), &n);
	for (size_t i = 0; i < n && found == NULL; i++)
		if (json_array_has_str(results[i].payload, name))
			found = xstrdup(node_uuid(results[i].node));
	node_results_free(results, n);
	if (found == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "No export found for relative path %s", name);
	return found;
}

static WAITS int find(struct lu *lu, const struct op_instance_create *op,
		      struct inst_import *im, struct error *err)
{
	const char *given =
		op->src_path != NULL ? op->src_path : spec_name(lu, op);

	if (op->src_node != NULL) {
		const json_t *node = lu_node(lu, op->src_node, err);

		if (node == NULL)
			return -1;
		im->node = xstrdup(node_uuid(node));
	} else {
		im->node = search(lu, given, err);
		if (im->node == NULL)
			return -1;
	}
	im->path = *given == '/' ? xstrdup(given)
				 : xprintf("%s/%s",
					   paths_plain(PATH_EXPORT_DIR), given);
	return inst_check_node(lu, im->node, false, err);
}

/* The sections of its description; NULL and err. */
static WAITS json_t *describe(struct lu *lu, struct inst_import *im,
			      struct error *err)
{
	auto_json json_t *text =
		lu_call(lu, im->node, rpc_export_info(im->path), err);
	json_t *sections = NULL;

	if (json_is_string(text)) {
		im->description = xstrdup(json_string_value(text));
		sections = ini_parse(im->description, err);
	}
	if (sections == NULL) {
		error_wrap(err, "No export or invalid export found in dir %s",
			   im->path);
		return NULL;
	}
	if (str_eq(json_str(json_get(sections, "export"), "version", ""),
		   EXPORT_VERSION))
		return sections;
	error_set(err, ERR_PREREQ, ECODE_ENVIRON,
		  "Wrong export version %s (wanted %s)",
		  json_str(json_get(sections, "export"), "version", "none"),
		  EXPORT_VERSION);
	json_decref(sections);
	return NULL;
}

/* --- completing the opcode --- */

/* The value; NULL where it is missing or Python's None. */
static const char *said(const json_t *section, const char *key)
{
	const char *value = json_str(section, key, NULL);

	return value == NULL || strcasecmp(value, "none") == 0 ? NULL : value;
}

/* The same of number i of disks or NICs. */
static const char *said_of(const json_t *section, const char *what, size_t i,
			   const char *key)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%zu_%s", what, i, key);
	return said(section, whole);
}

static json_t *exported_disks(const json_t *section)
{
	json_t *disks = json_array();

	for (size_t i = 0; i < SPEC_DISKS_MAX; i++) {
		const char *size = said_of(section, "disk", i, "size");
		const char *name = said_of(section, "disk", i, "name");
		json_t *disk;
		int64_t mib;

		if (size == NULL || !str_to_int64(size, &mib))
			continue;
		disk = json_make("{s:I}", "size", (json_int_t)mib);
		if (name != NULL)
			disk_set_name(disk, name);
		json_array_append_new(disks, disk);
	}
	return disks;
}

/* In a network, mode and link come from the network's connection to the
 * group. */
static json_t *exported_nic(const json_t *section, size_t i)
{
	static const char *const own[] = {"mac", "ip", "name", "network"};
	static const char *const params[] = {"link", "mode", "vlan"};
	json_t *nic = json_object();

	for (size_t k = 0; k < ARRAY_SIZE(own); k++)
		if (said_of(section, "nic", i, own[k]) != NULL)
			json_set_str(nic, own[k],
				     said_of(section, "nic", i, own[k]));
	if (nic_has_network(nic))
		return nic;
	for (size_t k = 0; k < ARRAY_SIZE(params); k++) {
		const char *value = said_of(section, "nic", i, params[k]);

		if (value != NULL && *value != '\0')
			json_set_str(nic, params[k], value);
	}
	return nic;
}

static json_t *exported_nics(const json_t *section)
{
	json_t *nics = json_array();

	for (size_t i = 0; i < SPEC_NICS_MAX; i++) {
		if (said_of(section, "nic", i, "mac") == NULL)
			break;
		json_array_append_new(nics, exported_nic(section, i));
	}
	return nics;
}

/* The instance keeps its name, and so its addresses unless others were
 * given. */
static json_t *given_nics(const struct inst_import *im, const json_t *given,
			  const char *name, const json_t *section)
{
	json_t *nics = json_deep_copy(given), *nic;
	size_t i;

	json_array_foreach (nics, i, nic) {
		const char *mac = nic_mac_or(nic, SPEC_MAC_AUTO);
		const char *old = said_of(section, "nic", i, "mac");

		if (old != NULL && strcmp(mac, SPEC_MAC_AUTO) == 0 &&
		    strcmp(name, im->old_name) == 0)
			nic_set_mac(nic, old);
	}
	return nics;
}

/* Values of the user win.  A parameter may well be the word "none": that is no
 * cache, for example.  Python's None is written with a capital. */
static json_t *overlaid(const json_t *sections, const char *name,
			const json_t *given)
{
	auto_json json_t *exported = json_object();
	const json_t *section = json_get(sections, name);
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(section), key, value)
		if (!str_eq(json_string_value(value), "None"))
			json_object_set(exported, key, value);
	return json_overlay(exported, given);
}

/* "memory" of the user stands for both. */
static json_t *overlaid_be(const json_t *sections, const json_t *given)
{
	json_t *all = overlaid(sections, "backend", given);

	if (json_get(given, "memory") != NULL) {
		json_object_del(all, "maxmem");
		json_object_del(all, "minmem");
	}
	return all;
}

/* Do not store parameters that equal the defaults. */
static void drop_defaults(json_t *params, const json_t *defaults)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(params, next, key, value)
	{
		auto_free char *text =
			inst_env_text(json_object_get(defaults, key));
		auto_free char *own = inst_env_text(value);

		if (json_object_get(defaults, key) != NULL &&
		    strcmp(text, own) == 0)
			json_object_del(params, key);
	}
}

static void identify_defaults(struct lu *lu, struct inst_import *im)
{
	const json_t *cluster = config_cluster(lu->m->config);
	auto_json json_t *hv = params_fill_hv(cluster, im->op.hypervisor,
					      im->op.os_type, NULL);
	auto_json json_t *be = params_fill_be(cluster, NULL);
	auto_json json_t *nic = params_fill_nic(cluster, NULL);
	auto_json json_t *os =
		im->op.os_type == NULL
			? json_object()
			: params_fill_os(cluster, im->op.os_type, NULL);
	json_t *one;
	size_t i;

	drop_defaults(json_unconst(im->op.hvparams), hv);
	drop_defaults(json_unconst(im->op.beparams), be);
	drop_defaults(json_unconst(im->op.osparams), os);
	json_array_foreach (im->op.nics, i, one)
		drop_defaults(one, nic);
	im->op.identify_defaults = false; /* done */
}

/* A JSON value that lives as long as the import. */
static const json_t *keep(struct inst_import *im, json_t *value STEALS)
{
	json_array_append_new(im->kept, value);
	return value;
}

static const char *keep_text(struct inst_import *im, const char *text)
{
	if (text == NULL || *text == '\0')
		return NULL;
	return json_string_value(keep(im, json_string(text)));
}

static const json_t *tag_list(struct inst_import *im, const char *text)
{
	auto_strv struct strv words = {0};
	json_t *tags = json_array();

	str_split(&words, text == NULL ? "" : text, ' ');
	for (size_t i = 0; i < words.n; i++)
		if (*words.items[i] != '\0')
			json_array_append_new(tags,
					      json_string(words.items[i]));
	return keep(im, tags);
}

static void complete(struct lu *lu, const struct op_instance_create *op,
		     struct inst_import *im, const json_t *sections)
{
	const json_t *inst = json_get(sections, "instance");
	const char *first = json_string_value(json_array_get(
		cluster_enabled_hypervisors(config_cluster(lu->m->config)), 0));

	im->op = *op;
	im->op.mode = "create";
	im->op.src_node = im->op.src_path = NULL;
	im->op.os_type =
		keep_text(im, said(json_get(sections, "export"), "os"));
	if (json_array_size(op->disks) == 0)
		im->op.disks = keep(im, exported_disks(inst));
	im->op.nics = keep(im, json_array_size(op->nics) == 0
				       ? exported_nics(inst)
				       : given_nics(im, op->nics,
						    spec_name(lu, op), inst));
	if (json_array_size(op->tags) == 0)
		im->op.tags = tag_list(im, said(inst, "tags"));
	if (op->hypervisor == NULL)
		im->op.hypervisor = keep_text(im, said(inst, "hypervisor"));
	if (im->op.hypervisor == NULL)
		im->op.hypervisor = keep_text(im, first);
	im->op.hvparams =
		keep(im, overlaid(sections, "hypervisor", op->hvparams));
	im->op.beparams = keep(im, overlaid_be(sections, op->beparams));
	im->op.osparams = keep(im, overlaid(sections, "os", op->osparams));
	im->op.osparams_private = keep(
		im, overlaid(sections, "os_private", op->osparams_private));
	if (op->identify_defaults)
		identify_defaults(lu, im);
}

/* Refuse exported disks for which the new instance has none: their data would
 * be lost silently. */
static int check_count(const struct inst_import *im, const json_t *section,
		       struct error *err)
{
	auto_json json_t *exported = exported_disks(section);
	size_t n = json_array_size(im->op.disks),
	       needed = json_array_size(exported);

	if (n >= needed)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The new instance has %zu disk%s, but the export of "
			 "%s has %zu; give at least as many, or none for "
			 "disks like the exported ones",
			 n, n == 1 ? "" : "s", im->old_name, needed);
}

static int find_images(struct inst_import *im, const json_t *section,
		       struct error *err)
{
	size_t n = json_array_size(im->op.disks);

	im->images = json_array();
	if (check_count(im, section, err) < 0)
		return -1;
	if (n == 0 && !template_get(im->op.disk_template)->no_disks)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No disk info specified and the export is "
				 "missing the disk information");
	for (size_t i = 0; i < n; i++) {
		const char *file = said_of(section, "disk", i, "dump");

		if (file == NULL)
			json_array_append_new(im->images, json_null());
		else if (str_valid_filename(file))
			json_array_append_new(
				im->images,
				json_sprintf("%s/%s", im->path, file));
		else
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "disk%zu_dump of the export is not a "
					 "file name",
					 i);
	}
	return 0;
}

/* What its files are compressed with. */
static int find_tool(struct lu *lu, struct inst_import *im,
		     const json_t *section, struct error *err)
{
	const char *tool = json_str(section, "compression", "none");

	if (strcmp(tool, "none") == 0)
		return 0;
	if (transfer_check_tool(lu, tool, err) < 0)
		return error_wrap(err,
				  "The files of the export are compressed");
	im->stored = lu_keep_str(lu, xstrdup(tool));
	return 0;
}

int import_read(struct lu *lu, const struct op_instance_create *op,
		struct inst_import *im, struct error *err)
{
	auto_json json_t *sections = NULL;

	if (transfer_check_tool(lu, op->compress, err) < 0 ||
	    find(lu, op, im, err) < 0)
		return -1;
	sections = describe(lu, im, err);
	if (sections == NULL)
		return -1;
	if (find_tool(lu, im, json_get(sections, "export"), err) < 0)
		return -1;
	im->kept = json_array();
	im->old_name =
		xstrdup(json_str(json_get(sections, "instance"), "name", ""));
	complete(lu, op, im, sections);
	return find_images(im, json_get(sections, "instance"), err);
}

void import_env(struct lu *lu, const struct inst_import *im, json_t *ret_env)
{
	auto_strv struct strv images = {0};
	auto_free char *text = NULL;

	json_to_strv(im->images, &images);
	text = strv_join(&images, " ");
	json_set_str(ret_env, "SRC_NODE", lu_node_name(lu, im->node));
	json_set_str(ret_env, "SRC_PATH", im->path);
	json_set_str(ret_env, "SRC_IMAGES", text);
}

/* --- the data --- */

/* The description as it is now, to be freed; NULL and err. */
static WAITS json_t *read_again(struct lu *lu, const struct inst_import *im,
				struct error *err)
{
	for (unsigned tries = 1;; tries++) {
		json_t *text =
			lu_call(lu, im->node, rpc_export_info(im->path), err);

		if (text != NULL || err->kind != ERR_RPC ||
		    tries == ASK_TRIES || lu->run->killed)
			return text;
		task_sleep(ASK_PAUSE_MS);
	}
}

/* An export that is replaced meanwhile would give the instance disks of two
 * moments.  It has a time in its description. */
static WAITS int check_same(struct lu *lu, const struct inst_import *im,
			    struct error *err)
{
	auto_json json_t *text = read_again(lu, im, err);

	if (text == NULL && err->kind != ERR_EXEC)
		return -1;
	if (str_eq(json_string_value(text), im->description))
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "The export in %s on node %s was replaced or removed "
			 "during the import; repeat it",
			 im->path, lu_node_name(lu, im->node));
}

static WAITS int bring_one(struct lu *lu, const struct inst_import *im,
			   const json_t *carried, size_t i, struct error *err)
{
	const char *image = json_string_value(json_array_get(im->images, i));
	const json_t *disk = json_array_get(json_get(carried, "disks_info"), i);
	bool script = *inst_os(carried) != '\0';
	auto_json json_t *from = NULL, *to = NULL;
	struct transfer t = {
		.index = i,
		.inst = carried,
		.source = im->node,
		.target = inst_primary_node(carried),
		.compress = im->op.compress,
		.stored = im->stored,
	};

	if (image == NULL)
		return 0; /* this disk was not exported */
	t.from = from = transfer_file(image);
	t.to = to = script ? transfer_script(disk, i) : transfer_raw(disk);
	return transfer_run(lu, &t, err);
}

void import_rename(struct lu *lu, const char *old_name, const json_t *carried)
{
	const char *node = inst_primary_node(carried);
	auto_json json_t *done = NULL;
	struct error err;

	if (*inst_os(carried) == '\0')
		return;
	lu_feedback(lu, "Running rename script for %s", inst_name(carried));
	done = lu_call(lu, node,
		       rpc_instance_run_rename(json_ref(carried), old_name,
					       lu->common.debug_level),
		       &err);
	if (done == NULL)
		lu_warn(lu, "Failed to run rename script for %s on node %s: %s",
			inst_name(carried), lu_node_name(lu, node), err.text);
}

int import_disks(struct lu *lu, const struct inst_import *im,
		 const json_t *inst, struct error *err)
{
	auto_json json_t *carried = inst_rpc(lu, inst, NULL, NULL);

	lu_feedback(lu, "* running the instance OS import scripts...");
	for (size_t i = 0; i < json_array_size(im->images); i++)
		if (check_same(lu, im, err) < 0 ||
		    bring_one(lu, im, carried, i, err) < 0)
			return error_wrap(err,
					  "Could not import disk %zu of "
					  "instance %s",
					  i, inst_name(inst));
	if (check_same(lu, im, err) < 0)
		return -1;
	import_rename(lu, im->old_name, carried);
	return 0;
}
