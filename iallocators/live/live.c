/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers are put into the text format that files have, so that one reader
 * does for both; only what it cannot express is filled in afterwards: the
 * single disks of instances, and which node is the master. */
#include "iallocators/live/live.h"

#include <string.h>

#include "iallocators/input/text.h"
#include "iallocators/live/live_answers.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "lib/model/kinds/hypervisor.h"

const char *const live_node_fields[] = {
	"name",	      "mtotal",	    "mnode",
	"mfree",      "dtotal",	    "dfree",
	"ctotal",     "cnos",	    "offline",
	"drained",    "vm_capable", "ndp/spindle_count",
	"group.uuid", "tags",	    "ndp/exclusive_storage",
	"sptotal",    "spfree",	    "ndp/cpu_speed",
	NULL};

enum node_field {
	NODE_NAME,
	NODE_MTOTAL,
	NODE_DTOTAL = 4,
	NODE_DFREE,
	NODE_CTOTAL,
	NODE_CNOS,
	NODE_OFFLINE,
	NODE_DRAINED,
	NODE_VM_CAPABLE,
	NODE_SPINDLE_COUNT,
	NODE_GROUP,
	NODE_TAGS,
	NODE_EXCLUSIVE,
	NODE_SPTOTAL,
	NODE_SPFREE,
	NODE_SPEED
};

const char *const live_instance_fields[] = {
	"name",		 "disk_usage",	   "be/memory",
	"be/vcpus",	 "status",	   "pnode",
	"snodes",	 "tags",	   "be/auto_balance",
	"disk_template", "be/spindle_use", "disk.sizes",
	"disk.spindles", "forthcoming",	   NULL};

enum instance_field {
	INST_NAME,
	INST_DISK,
	INST_MEMORY,
	INST_VCPUS,
	INST_STATUS,
	INST_PRIMARY,
	INST_SECONDARIES,
	INST_TAGS,
	INST_AUTO,
	INST_TEMPLATE,
	INST_SPINDLE_USE,
	INST_SIZES,
	INST_SPINDLES,
	INST_FORTHCOMING
};

const char *const live_group_fields[] = {"uuid",    "name", "alloc_policy",
					 "ipolicy", "tags", NULL};

enum group_field {
	GROUP_UUID,
	GROUP_NAME,
	GROUP_POLICY,
	GROUP_IPOLICY,
	GROUP_TAGS
};

char *live_socket(const char *socket, struct error *err)
{
	struct paths *paths;
	char *ret;

	if (socket != NULL)
		return xprintf("%s", socket);
	paths = paths_from_env(err);
	if (paths == NULL)
		return NULL;
	ret = xprintf("%s", path(paths, PATH_QUERY_SOCKET));
	paths_destroy(paths);
	return ret;
}

/* The rows of all objects of a kind. */
static json_t *query(struct luxi *luxi, const char *what,
		     const char *const *fields, struct error *err)
{
	json_t *names = json_array(), *rows;
	auto_json json_t *answer = NULL;

	for (int i = 0; fields[i] != NULL; i++)
		json_array_append_new(names, json_string(fields[i]));
	answer = luxi_call(luxi, "Query", json_make("[s, o, n]", what, names),
			   err);
	if (answer == NULL)
		return NULL;
	rows = json_object_get(answer, "data");
	if (!json_is_array(rows)) {
		error_set(err, ERR_LUXI, NULL,
			  "The master's answer about each %s is no list", what);
		return NULL;
	}
	return json_incref(rows);
}

/* The value in a column, NULL when the master has none. */
static const json_t *cell(const json_t *row, int column)
{
	const json_t *pair = json_array_get(row, (size_t)column);

	if (json_integer_value(json_array_get(pair, 0)) != RS_NORMAL)
		return NULL;
	return json_array_get(pair, 1);
}

static const char *cell_str(const json_t *row, int column)
{
	const char *text = json_string_value(cell(row, column));

	return text != NULL ? text : "";
}

static bool cell_true(const json_t *row, int column)
{
	return json_is_true(cell(row, column));
}

/* "name|" */
static void put_str(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_addc(b, *text == '|' || *text == '\n' ? '_' : *text);
	buf_addc(b, '|');
}

static void put_yes(struct buf *b, bool yes)
{
	buf_adds(b, yes ? "Y|" : "N|");
}

static void put_list(struct buf *b, const json_t *list)
{
	auto_buf struct buf joined = {0};
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		buf_addf(&joined, "%s%s", i > 0 ? "," : "",
			 json_is_string(item) ? json_string_value(item) : "");
	put_str(b, joined.len > 0 ? joined.data : "");
}

static int put_number(struct buf *b, const char *name, const json_t *row,
		      int column, const char *field, struct error *err)
{
	const json_t *value = cell(row, column);

	if (json_is_integer(value))
		buf_addf(b, "%jd|", (intmax_t)json_integer_value(value));
	else if (json_is_real(value))
		buf_addf(b, "%.17g|", json_real_value(value));
	else
		return error_set(err, ERR_LUXI, NULL,
				 "the master has no value '%s' of '%s'", field,
				 name);
	return 0;
}

/* Nodes of clusters without a storage to report have none. */
static bool is_disk(int field)
{
	return field == NODE_DTOTAL || field == NODE_DFREE;
}

/* Total and free memory and so on; nothing of a node that does not tell. */
static int put_sizes(struct buf *b, const json_t *row, bool live,
		     const char *kvm_memory, struct error *err)
{
	for (int i = NODE_MTOTAL; i <= NODE_CTOTAL; i++) {
		if (i == NODE_MTOTAL + 1 && kvm_memory != NULL)
			put_str(b, kvm_memory);
		else if (!live)
			buf_adds(b, "0|");
		else if (is_disk(i) && cell(row, i) == NULL)
			buf_adds(b, "0|");
		else if (put_number(b, cell_str(row, NODE_NAME), row, i,
				    live_node_fields[i], err) < 0)
			return -1;
	}
	return 0;
}

/* silent: it did not answer, and need not. */
static int put_node(struct buf *b, const json_t *row, const char *kvm_memory,
		    bool silent, struct error *err)
{
	const char *name = cell_str(row, NODE_NAME);
	bool live = !cell_true(row, NODE_OFFLINE) &&
		    cell_true(row, NODE_VM_CAPABLE) && !silent;
	bool exclusive = cell_true(row, NODE_EXCLUSIVE);
	int total = exclusive ? NODE_SPTOTAL : NODE_SPINDLE_COUNT;

	put_str(b, name);
	if (put_sizes(b, row, live, kvm_memory, err) < 0)
		return -1;
	if (!live || cell_true(row, NODE_DRAINED))
		buf_adds(b, "Y|");
	else
		buf_adds(b, "N|");
	put_str(b, cell_str(row, NODE_GROUP));
	if (!live && exclusive)
		buf_adds(b, "0|");
	else if (put_number(b, name, row, total, live_node_fields[total], err) <
		 0)
		return -1;
	put_list(b, cell(row, NODE_TAGS));
	put_yes(b, exclusive);
	if (!live || !exclusive)
		buf_adds(b, "0|");
	else if (put_number(b, name, row, NODE_SPFREE, "spfree", err) < 0)
		return -1;
	if (!live)
		buf_adds(b, "0|");
	else if (put_number(b, name, row, NODE_CNOS, "cnos", err) < 0)
		return -1;
	if (put_number(b, name, row, NODE_SPEED, "ndp/cpu_speed", err) < 0)
		return -1;
	b->data[b->len - 1] = '\n'; /* for the last '|' */
	return 0;
}

static int put_instance(struct buf *b, const json_t *row, struct error *err)
{
	const char *name = cell_str(row, INST_NAME);
	const json_t *secondaries = cell(row, INST_SECONDARIES);
	const char *secondary =
		json_string_value(json_array_get(secondaries, 0));

	put_str(b, name);
	if (put_number(b, name, row, INST_MEMORY, "be/memory", err) < 0 ||
	    put_number(b, name, row, INST_DISK, "disk_usage", err) < 0 ||
	    put_number(b, name, row, INST_VCPUS, "be/vcpus", err) < 0)
		return -1;
	put_str(b, cell_str(row, INST_STATUS));
	put_yes(b, cell_true(row, INST_AUTO));
	put_str(b, cell_str(row, INST_PRIMARY));
	put_str(b, secondary != NULL ? secondary : "");
	put_str(b, cell_str(row, INST_TEMPLATE));
	put_list(b, cell(row, INST_TAGS));
	if (put_number(b, name, row, INST_SPINDLE_USE, "be/spindle_use", err) <
	    0)
		return -1;
	buf_adds(b, "-|");
	buf_adds(b, cell_true(row, INST_FORTHCOMING) ? "Y\n" : "N\n");
	return 0;
}

static void put_group(struct buf *b, const json_t *row)
{
	put_str(b, cell_str(row, GROUP_NAME));
	put_str(b, cell_str(row, GROUP_UUID));
	put_str(b, cell_str(row, GROUP_POLICY));
	put_list(b, cell(row, GROUP_TAGS));
	buf_addc(b, '\n');
}

static void put_spec(struct buf *b, const json_t *spec)
{
	static const char *const keys[] = {"memory-size", "cpu-count",
					   "disk-size",	  "disk-count",
					   "nic-count",	  "spindle-use"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		buf_addf(b, "%s%jd", i > 0 ? "," : "",
			 (intmax_t)json_int(spec, keys[i], 0));
}

static void put_policy(struct buf *b, const char *owner, const json_t *policy)
{
	const json_t *intervals = json_get(policy, "minmax"), *interval;
	size_t i;

	put_str(b, owner);
	put_spec(b, json_get(policy, "std"));
	buf_addc(b, '|');
	json_array_foreach (intervals, i, interval) {
		buf_adds(b, i > 0 ? ";" : "");
		put_spec(b, json_get(interval, "min"));
		buf_addc(b, ';');
		put_spec(b, json_get(interval, "max"));
	}
	buf_addc(b, '|');
	put_list(b, json_get(policy, "disk-templates"));
	buf_addf(b, "%.17g|%.17g\n", json_num(policy, "vcpu-ratio", 0),
		 json_num(policy, "spindle-ratio", 0));
}

static bool is_ours(const json_t *info)
{
	return str_starts(json_str(info, "vcs_version", ""), "(gantry)");
}

/* What only our master tells. */
static int ask_record(struct luxi *luxi, struct live_answers *ret,
		      struct error *err)
{
	static const char *const fields[] = {"name", "be/minmem", NULL};

	if (!is_ours(ret->info))
		return 0;
	ret->resources = luxi_call(luxi, "QueryResources", json_array(), err);
	if (ret->resources == NULL)
		return -1;
	if (!live_promises_failures(ret->resources))
		return 0;
	ret->guarantees = query(luxi, "instance", fields, err);
	return ret->guarantees == NULL ? -1 : 0;
}

static int ask(struct luxi *luxi, struct live_answers *ret, struct error *err)
{
	ret->nodes = query(luxi, "node", live_node_fields, err);
	if (ret->nodes == NULL)
		return -1;
	ret->instances = query(luxi, "instance", live_instance_fields, err);
	if (ret->instances == NULL)
		return -1;
	ret->info = luxi_call(luxi, "QueryClusterInfo", json_array(), err);
	if (ret->info == NULL)
		return -1;
	ret->groups = query(luxi, "group", live_group_fields, err);
	return ret->groups == NULL ? -1 : ask_record(luxi, ret, err);
}

void live_answers_done(struct live_answers *a)
{
	json_decref(a->nodes);
	json_decref(a->instances);
	json_decref(a->info);
	json_decref(a->groups);
	json_decref(a->resources);
	json_decref(a->guarantees);
}

/* What a node itself needs is not known by its hypervisor. */
static bool lacks_node_memory(const json_t *info)
{
	return !hypervisor_get(json_str(info, "default_hypervisor", ""))
			->tells_node_memory;
}

static int put_all(struct buf *b, const struct live_answers *a,
		   const char *kvm_memory, struct error *err)
{
	const json_t *row, *tags = json_get(a->info, "tags");
	size_t i;

	json_array_foreach (a->groups, i, row)
		put_group(b, row);
	buf_addc(b, '\n');
	json_array_foreach (a->nodes, i, row)
		if (put_node(b, row, kvm_memory,
			     a->resources != NULL &&
				     cell(row, NODE_MTOTAL) == NULL,
			     err) < 0)
			return -1;
	buf_addc(b, '\n');
	json_array_foreach (a->instances, i, row)
		if (put_instance(b, row, err) < 0)
			return -1;
	buf_addc(b, '\n');
	json_array_foreach (tags, i, row)
		buf_addf(b, "%s\n",
			 json_is_string(row) ? json_string_value(row) : "");
	buf_addc(b, '\n');
	put_policy(b, "", json_get(a->info, "ipolicy"));
	json_array_foreach (a->groups, i, row)
		put_policy(b, cell_str(row, GROUP_NAME),
			   cell(row, GROUP_IPOLICY));
	return 0;
}

/* Files cannot tell of a master that is drained or offline. */
static int mark_master(struct cluster *c, const char *name, struct error *err)
{
	for (int i = 0; i < c->n_nodes; i++)
		if (strcmp(c->nodes[i].name, name) == 0) {
			c->nodes[i].master = true;
			return 0;
		}
	return error_set(err, ERR_LUXI, NULL, "Master node %s unknown", name);
}

/* The single disks of an instance. */
static int take_disks(struct cluster *c, struct instance *inst,
		      const json_t *row, struct error *err)
{
	const json_t *sizes = cell(row, INST_SIZES);
	const json_t *spindles = cell(row, INST_SPINDLES);

	if (!json_is_array(sizes) || !json_is_array(spindles))
		return error_set(err, ERR_LUXI, NULL,
				 "the master has no list of the disks of '%s'",
				 inst->name);
	inst->n_disks = json_array_size(sizes);
	inst->disks = arena_calloc(&c->arena, inst->n_disks + 1,
				   sizeof(struct disk_need));
	for (size_t i = 0; i < inst->n_disks; i++) {
		const json_t *width = json_array_get(spindles, i);

		inst->disks[i].size =
			json_integer_value(json_array_get(sizes, i));
		inst->disks[i].spindles = json_is_integer(width)
						  ? json_integer_value(width)
						  : SPINDLES_UNKNOWN;
	}
	return 0;
}

int live_take(struct cluster *c, const struct live_answers *a,
	      int64_t kvm_node_memory, struct buf *ret_text, struct error *err)
{
	auto_free char *kvm = NULL;

	if (kvm_node_memory > 0 && lacks_node_memory(a->info))
		kvm = xprintf("%jd", (intmax_t)kvm_node_memory);
	if (put_all(ret_text, a, kvm, err) < 0 ||
	    text_read(c, ret_text->data, err) < 0 ||
	    mark_master(c, json_str(a->info, "master", ""), err) < 0)
		return -1;
	for (int i = 0; i < c->n_instances; i++)
		if (take_disks(c, &c->instances[i],
			       json_array_get(a->instances, (size_t)i),
			       err) < 0)
			return -1;
	if (a->resources != NULL)
		live_record(c, a);
	return 0;
}

int live_read(struct cluster *c, struct luxi *luxi, int64_t kvm_node_memory,
	      struct buf *ret_text, struct error *err)
{
	struct live_answers a = {0};
	int rc = ask(luxi, &a, err);

	if (rc == 0)
		rc = live_take(c, &a, kvm_node_memory, ret_text, err);
	live_answers_done(&a);
	return rc;
}
