/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance batch-create: many instances from a file.
 *
 * The file is a list of definitions, each with the parameters of
 * OP_INSTANCE_CREATE, or an object of them by the instances' names, where those
 * of Ganeti 2.6 are understood as well. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

#define BATCH_FILE_MAX (64 * 1024 * 1024)

/* --- definitions --- */

static int bad(struct error *err, const char *name, const char *what,
	       const char *value)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance '%.200s' in the file: %s '%.200s'", name,
			 what, value);
}

/* "10g" as MiB, where somebody wrote it so. */
static int type_size(const char *name, json_t *disk, struct error *err)
{
	const char *text = json_str(disk, "size", NULL);
	struct error why;
	int64_t size;

	if (text == NULL)
		return 0;
	if (params_parse_size(text, &size, &why) < 0)
		return bad(err, name, "no size of a disk (like 10g):", text);
	json_set_int(disk, "size", size);
	return 0;
}

static int type_disks(const char *name, json_t *op, struct error *err)
{
	json_t *disk;
	size_t i;

	json_array_foreach (json_object_get(op, "disks"), i, disk)
		if (json_is_object(disk) && type_size(name, disk, err) < 0)
			return -1;
	return 0;
}

/* The names in Ganeti 2.6. */
static const char *parameter(const char *key)
{
	static const struct {
		const char *old, *new;
	} names[] = {
		{"template", "disk_template"}, {"os", "os_type"},
		{"backend", "beparams"},       {"disk_size", "disks"},
		{"primary_node", "pnode"},     {"secondary_node", "snode"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i].old, key) == 0)
			return names[i].new;
	return key;
}

/* ["10g", ...], as 2.6 had disks. */
static json_t *disk_sizes(const json_t *sizes)
{
	json_t *disks = json_array(), *size;
	size_t i;

	json_array_foreach (sizes, i, size)
		json_array_append_new(disks, json_make("{s:O}", "size", size));
	return disks;
}

static json_t *named_by_key(const char *name, const json_t *given)
{
	json_t *entry = json_object(), *value;
	const char *key;

	json_set_str(entry, "instance_name", name);
	json_object_foreach (json_unconst(given), key, value) {
		if (strcmp(key, "disk_size") == 0)
			json_object_set_new(entry, "disks", disk_sizes(value));
		else
			json_object_set(entry, parameter(key), value);
	}
	return entry;
}

/* {name: definition} as the list that it stands for. */
static json_t *list_of(const json_t *by_name)
{
	json_t *list = json_array(), *given;
	const char *name;

	json_object_foreach (json_unconst(by_name), name, given)
		json_array_append_new(
			list, json_is_object(given)
				      ? named_by_key(name, given)
				      : json_make("{s:s, s:O}", "instance_name",
						  name, "definition", given));
	return list;
}

/* One definition as an opcode: parameters that it leaves out get defaults, and
 * parameters that the opcode does not have are refused. */
static json_t *batch_op(const json_t *entry, size_t index, struct error *err)
{
	auto_json json_t *op = op_new(&op_class_instance_create);
	const char *name = json_str(entry, "instance_name", NULL), *key;
	json_t *value;

	if (name == NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Definition %zu in the file has no instance_name",
			  index + 1);
		return NULL;
	}
	json_object_set_new(op, "dry_run", json_null());
	json_object_set_new(op, "debug_level", json_null());
	json_object_set_new(op, "no_install", json_null());
	json_object_set_new(op, "reason", json_array());
	json_object_set_new(op, "priority", json_integer(0));
	json_set_str(op, "mode", "create");
	json_object_foreach (json_unconst(entry), key, value) {
		if (json_object_get(op, key) == NULL) {
			bad(err, name, "unknown parameter", key);
			return NULL;
		}
		json_object_set_new(op, key, json_deep_copy(value));
	}
	return type_disks(name, op, err) < 0 ? NULL : steal(&op);
}

static json_t *read_definitions(const char *file, struct error *err)
{
	json_t *read = json_read_file(file, BATCH_FILE_MAX, err), *list;

	if (read == NULL) {
		error_as(err, ERR_PREREQ, ECODE_INVAL);
		error_wrap(err, "Cannot read the instance definitions");
		return NULL;
	}
	if (json_is_array(read))
		return read;
	list = json_is_object(read) ? list_of(read) : NULL;
	json_decref(read);
	if (list == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "%s must hold a list of instance definitions, or an "
			  "object of them by name (see --help)",
			  file);
	return list;
}

static json_t *batch_ops(const char *file, struct error *err)
{
	auto_json json_t *entries = read_definitions(file, err);
	auto_json json_t *ops = json_array();
	json_t *entry, *op;
	size_t i;

	if (entries == NULL)
		return NULL;
	json_array_foreach (entries, i, entry) {
		op = batch_op(entry, i, err);
		if (op == NULL)
			return NULL;
		json_array_append_new(ops, op);
	}
	return steal(&ops);
}

/* --- the command --- */

static json_t *make_op(const struct cli *cli, struct error *err)
{
	json_t *ops = batch_ops(cli->args[0], err), *op;

	if (ops == NULL)
		return NULL;
	op = cli_op(cli, &op_class_instance_multi_alloc);
	json_object_set_new(op, "instances", ops);
	cli_op_set(cli, op, "iallocator", &OPT_IALLOCATOR);
	json_object_del(op, "atomic"); /* not Ganeti's: only if asked for */
	if (cli_given(cli, &OPT_ATOMIC))
		json_set_bool(op, "atomic", true);
	if (cli_given(cli, &OPT_KEEP_OTHERS))
		json_set_bool(op, "keep_others", true);
	if (cli_given(cli, &OPT_EXPLAIN))
		json_set_bool(op, "explain", true);
	return op;
}

/* All or none: the last job may have removed instances; its log says which. */
static int follow_undo(struct cli *cli, const json_t *id, struct error *err)
{
	auto_json json_t *results = NULL;

	if (id == NULL)
		return 0;
	results = cli_poll(cli, id, false, err);
	if (results == NULL)
		return -1;
	return cli_follow(cli, json_array_get(results, 0), err);
}

/* Whether some instances have no place, which is said. */
static bool tell_failed(const json_t *result)
{
	const json_t *failed = json_get(result, "failed");
	auto_free char *names = NULL;

	if (json_array_size(failed) == 0)
		return false;
	names = cli_join(failed, ", ");
	fprintf(stderr, "No place was found for: %s\n", names);
	return true;
}

/* Of a dry run: where each would go.  A master of Ganeti's does not tell. */
static int tell_places(const json_t *result)
{
	const json_t *row;
	size_t i;

	printf("Dry run: nothing was created\n");
	json_array_foreach (json_get(result, "placement"), i, row) {
		auto_free char *name = cli_str(json_array_get(row, 0));
		auto_free char *nodes = cli_join(json_array_get(row, 1), ":");

		printf("%s would be created on %s\n", name, nodes);
	}
	return tell_failed(result) ? CLI_FAILURE : CLI_OK;
}

static int follow(struct cli *cli, const json_t *result, struct error *err)
{
	int failed = cli_follow(cli, result, err);

	if (failed < 0 ||
	    follow_undo(cli, json_get(result, "undo_job"), err) < 0)
		return -1;
	if (tell_failed(result))
		failed++;
	if (failed > 0) {
		auto_free char *errors = cli_errors(failed);

		printf("%s during the creation.\n", errors);
		return CLI_FAILURE;
	}
	printf("All instances created successfully.\n");
	return CLI_OK;
}

static int batch_create(struct cli *cli, struct error *err)
{
	json_t *op = make_op(cli, err);
	auto_json json_t *result = NULL;
	int code;

	if (op == NULL)
		return -1;
	if (cli_given(cli, &OPT_KEEP_OTHERS) && !cli_given(cli, &OPT_ATOMIC)) {
		json_decref(op);
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--keep-others has a meaning with --atomic "
				 "only");
	}
	code = cli_submit(cli, op, &result, err);
	if (code != CLI_OK || result == NULL)
		return code;
	if (cli_given(cli, &OPT_EXPLAIN)) {
		tool_print_explanation(cli, result);
		return CLI_OK;
	}
	if (cli_given(cli, &OPT_DRY_RUN))
		return tell_places(result);
	return follow(cli, result, err);
}

static const char details[] =
	"The file is a list of definitions, each with the parameters of "
	"OP_INSTANCE_CREATE:\n"
	"\n"
	"  [{\"instance_name\": \"web1.example.com\", \"disk_template\": "
	"\"drbd\",\n"
	"    \"disks\": [{\"size\": \"10g\"}, {\"size\": 512}], "
	"\"os_type\": \"noop\",\n"
	"    \"nics\": [{\"link\": \"br0\"}], \"beparams\": {\"memory\": "
	"\"1g\", \"vcpus\": 2}},\n"
	"   {\"instance_name\": \"web2.example.com\", \"disk_template\": "
	"\"diskless\",\n"
	"    \"disks\": [], \"nics\": [], \"os_type\": \"noop\"}]\n"
	"\n"
	"or an object of them by name: {\"web1.example.com\": {...}, ...}.\n"
	"\n"
	"  instance_name    the name\n"
	"  disk_template    as for add -t\n"
	"  disks            a list: size (MiB, or like 10g), mode, name, ...\n"
	"  nics             a list: mac, ip, mode, link, network, ...\n"
	"  os_type          the OS (with +variant); osparams: its parameters\n"
	"  beparams         memory or minmem and maxmem, vcpus, ...\n"
	"  hypervisor       its name; hvparams: its parameters\n"
	"  pnode, snode     its nodes, for all instances or for none; without\n"
	"                   them an allocator (-I) places all of them at once\n"
	"  start, name_check, ip_check, tags, group_name, ...: as for add\n"
	"\n"
	"Instances for which there is no place do not hold up the others, "
	"unless\n"
	"--atomic is given: then all are created or none, and when a creation "
	"fails\n"
	"the others are removed again (--keep-others: they stay).\n";

const struct cli_command instance_batch_create = {
	.name = "batch-create",
	.args = "[--atomic] [-I <iallocator>] <instances.json>",
	.help = "Create many instances from a JSON file",
	.details = details,
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_ATOMIC, &OPT_KEEP_OTHERS, &OPT_IALLOCATOR,
		    &OPT_EXPLAIN, OPTS_JOB},
	.run = batch_create,
};
