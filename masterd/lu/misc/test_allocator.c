/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_TEST_ALLOCATOR: the message for an allocator (direction in), or its answer
 * (out).  The answer is not checked and has no effect; with `explain` our own
 * hail gives its reasons. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"

struct test_allocator {
	struct lu lu;
	const char *allocator; /* NULL: direction in */
	const char *template;  /* the storage to describe; or NULL */
	json_t *request;
};

static struct test_allocator *test_of(struct lu *lu)
{
	return container_of(lu, struct test_allocator, lu);
}

static int invalid(struct error *err, const char *what, const char *value)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL, "%s%s", what, value);
}

static int test_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want_all(lu, LOCK_INSTANCE, false);
	lu_want_all(lu, LOCK_NODE, false);
	lu_want_all(lu, LOCK_NODE_RES, false);
	return 0;
}

/* --- requests about new instances --- */

/* What only a new instance has. */
static int check_given(const struct op_test_allocator *op, struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} needed[] = {
		{"memory", op->memory != OP_UNSET},
		{"disks", op->disks != NULL},
		{"disk_template", op->disk_template != NULL},
		{"os", op->os != NULL},
		{"tags", op->tags != NULL},
		{"nics", op->nics != NULL},
		{"vcpus", op->vcpus != OP_UNSET},
	};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!needed[i].given)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Missing attribute '%s' on opcode "
					 "input",
					 needed[i].name);
	return 0;
}

static int check_disks(const json_t *disks, struct error *err)
{
	size_t i;
	json_t *disk;

	json_array_foreach (disks, i, disk) {
		const char *mode = disk_mode_or(disk, "");

		if (!json_is_integer(disk_size_mib_value(disk)) ||
		    (strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0))
			return invalid(err,
				       "Invalid contents of the 'disks' "
				       "parameter",
				       "");
	}
	return 0;
}

static json_t *new_request(struct lu *lu, const char *name)
{
	const struct op_test_allocator *op = lu->op;
	const json_t *enabled =
		cluster_enabled_hypervisors(config_cluster(lu->m->config));
	const struct iallocator_instance inst = {
		.name = name,
		.os = op->os,
		.disk_template = op->disk_template,
		.hypervisor =
			op->hypervisor != NULL
				? op->hypervisor
				: json_string_value(json_array_get(enabled, 0)),
		.group_name = op->group_name,
		.memory = op->memory,
		.vcpus = op->vcpus,
		.spindle_use = op->spindle_use,
		.disks = op->disks,
		.nics = op->nics,
		.tags = op->tags,
	};

	return iallocator_allocate(lu->m, &inst);
}

static json_t *many_requests(struct lu *lu)
{
	const struct op_test_allocator *op = lu->op;
	json_t *list = json_array();

	for (int64_t i = 0; i < op->count; i++) {
		auto_free char *name = xprintf("%s%jd", op->name, (intmax_t)i);

		json_array_append_new(list, new_request(lu, name));
	}
	return iallocator_multi_allocate(list);
}

/* More than any policy allows, and small enough for a message. */
#define COUNT_MAX 10000

static int check_new(struct lu *lu, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	struct test_allocator *t = test_of(lu);
	const json_t *old =
		config_find(lu->m->config, CONFIG_INSTANCE, op->name);

	if (check_given(op, err) < 0 || check_disks(op->disks, err) < 0)
		return -1;
	if (old != NULL)
		return error_set(err, ERR_PREREQ, ECODE_EXISTS,
				 "Instance '%s' already in the cluster",
				 inst_name(old));
	if (op->count > COUNT_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The count may be at most %d", COUNT_MAX);
	t->template = op->disk_template;
	t->request = strcmp(op->mode, "allocate") == 0
			     ? new_request(lu, op->name)
			     : many_requests(lu);
	return 0;
}

/* --- requests about instances that exist --- */

static int check_one(struct lu *lu, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	struct test_allocator *t = test_of(lu);
	const json_t *inst = lu_instance(lu, op->name, err);
	auto_strv struct strv nodes = {0}, names = {0};

	if (inst == NULL)
		return -1;
	t->template = config_instance_template(lu->m->config, inst);
	if (strcmp(op->mode, "allocate-secondary") == 0) {
		t->request = iallocator_allocate_secondary(inst);
		return 0;
	}
	config_instance_secondaries(lu->m->config, inst, &nodes);
	if (nodes.n == 0)
		strv_add(&nodes, inst_primary_node(inst));
	for (size_t i = 0; i < nodes.n; i++)
		strv_add(&names, lu_node_name(lu, nodes.items[i]));
	t->request = iallocator_relocate(lu->m, inst, &names);
	return 0;
}

/* The full names of those in the opcode. */
static int find_instances(struct lu *lu, struct strv *ret, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	size_t i;
	json_t *name;

	if (json_array_size(op->instances) == 0)
		return invalid(err, "Missing instances", "");
	json_array_foreach (op->instances, i, name) {
		const json_t *inst =
			lu_instance(lu, json_string_value(name), err);

		if (inst == NULL)
			return -1;
		strv_add(ret, inst_name(inst));
	}
	return 0;
}

static int find_groups(struct lu *lu, struct strv *ret, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	size_t i;
	json_t *name;

	json_array_foreach (op->target_groups, i, name) {
		const json_t *group =
			lu_group(lu, json_string_value(name), err);

		if (group == NULL)
			return -1;
		strv_add(ret, group_uuid(group));
	}
	return 0;
}

static int check_many(struct lu *lu, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	auto_strv struct strv instances = {0}, groups = {0};

	if (find_instances(lu, &instances, err) < 0)
		return -1;
	if (strcmp(op->mode, "node-evacuate") == 0) {
		if (op->evac_mode == NULL)
			return invalid(err, "Missing evac_mode", "");
		test_of(lu)->request =
			iallocator_node_evacuate(&instances, op->evac_mode);
		return 0;
	}
	if (find_groups(lu, &groups, err) < 0)
		return -1;
	test_of(lu)->request = iallocator_change_group(&instances, &groups);
	return 0;
}

/* --- both --- */

static int check_direction(struct lu *lu, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	const char *name = op->iallocator;

	if (strcmp(op->direction, "out") != 0)
		return op->explain ? invalid(err,
					     "Only an answer has an "
					     "explanation: the direction must "
					     "be out, not ",
					     op->direction)
				   : 0;
	if (name != NULL && strcmp(name, ".") == 0)
		name = cluster_default_iallocator(
			config_cluster(lu->m->config));
	if (name == NULL || *name == '\0')
		return invalid(err, "Missing allocator name", "");
	test_of(lu)->allocator = lu_keep_str(lu, xstrdup(name));
	return 0;
}

static int test_check(struct lu *lu, struct error *err)
{
	static const struct {
		const char *mode;
		int (*check)(struct lu *lu, struct error *err);
	} modes[] = {
		{"allocate", check_new},      {"multi-allocate", check_new},
		{"relocate", check_one},      {"allocate-secondary", check_one},
		{"change-group", check_many}, {"node-evacuate", check_many},
	};
	const struct op_test_allocator *op = lu->op;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(op->mode, modes[i].mode) == 0 &&
		    modes[i].check(lu, err) < 0)
			return -1;
	return check_direction(lu, err);
}

static WAITS json_t *test_exec(struct lu *lu, struct error *err)
{
	const struct op_test_allocator *op = lu->op;
	struct test_allocator *t = test_of(lu);
	const struct iallocator_how how = {.name = t->allocator,
					   .disk_template = t->template,
					   .explain = op->explain};
	auto_json json_t *message = NULL;
	auto_free char *text = NULL;

	if (t->allocator != NULL) {
		text = lu_allocator_ask(lu, t->request, how, err);
	} else {
		message = iallocator_message(lu->m, steal(&t->request), &how);
		text = json_text(message);
	}
	return text == NULL ? NULL : json_string(text);
}

static void test_done(struct lu *lu)
{
	json_decref(test_of(lu)->request);
}

const struct lu_class lu_test_allocator = {
	.op = &op_class_test_allocator,
	.size = sizeof(struct test_allocator),
	.expand = test_expand,
	.check = test_check,
	.exec = test_exec,
	.done = test_done,
};
