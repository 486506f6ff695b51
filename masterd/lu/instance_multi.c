/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_MULTI_ALLOC: place many instances with one run of the allocator,
 * then create each with a job of its own. */
#include <ctype.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/iallocator.h"
#include "masterd/lu/instance_spec.h"
#include "masterd/lu_instance.h"

struct multi {
	struct lu lu;
	const char *iallocator; /* NULL: every instance names its node */
	json_t *placed;		/* {name: [node names]} from the allocator */
	json_t *failed;		/* names */
	struct op_instance_create *ops;
	size_t n;
	json_t *complete; /* the opcodes with all defaults, keeps ops alive */
};

static struct multi *multi_of(struct lu *lu)
{
	return container_of(lu, struct multi, lu);
}

/* Names are kept in small letters, and the allocator answers with them. */
static void set_lower(json_t *op, const char *key)
{
	auto_free char *name = xstrdup(json_str(op, key, ""));

	if (*name == '\0')
		return;
	for (char *p = name; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	json_set_str(op, key, name);
}

static int read_ops(struct lu *lu, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	struct multi *m = multi_of(lu);
	size_t n = json_array_size(op->instances);

	if (m->complete != NULL)
		return 0;
	m->complete = json_array();
	m->ops = xcalloc(n, sizeof(*m->ops));
	for (size_t i = 0; i < n; i++) {
		json_t *given = json_copy(json_array_get(op->instances, i));
		json_t *full;

		json_set_str(given, "OP_ID", "OP_INSTANCE_CREATE");
		set_lower(given, "instance_name");
		full = op_check(given, err);
		json_decref(given);
		if (full == NULL)
			return error_wrap(err, "Instance %zu", i);
		json_array_append_new(m->complete, full);
		op_parse(&op_class_instance_create, full, &m->ops[i]);
	}
	m->n = n;
	return 0;
}

/* Either all instances name their node, or none does. */
static int choose(struct lu *lu, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	struct multi *m = multi_of(lu);
	size_t with_node = 0;

	for (size_t i = 0; i < m->n; i++) {
		with_node += m->ops[i].pnode != NULL;
		if (m->ops[i].iallocator != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "iallocator must not be set on "
					 "instance '%s', it is for the whole "
					 "list",
					 m->ops[i].instance_name);
	}
	if (with_node != 0 && with_node != m->n)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There are instances with and without a "
				 "node; give all of them one, or none");
	if (with_node > 0 || m->n == 0) {
		if (op->iallocator != NULL && with_node > 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Give either nodes or an iallocator, "
					 "not both");
		m->iallocator = NULL;
		return 0;
	}
	m->iallocator = op->iallocator;
	if (m->iallocator == NULL || strcmp(m->iallocator, ".") == 0)
		m->iallocator = lu_keep_str(
			lu, xstrdup(json_str(config_cluster(lu->m->config),
					     "default_iallocator", "")));
	if (*m->iallocator == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No iallocator given and the cluster has no "
				 "default one");
	return 0;
}

static int multi_expand(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);

	if (read_ops(lu, err) < 0 || choose(lu, err) < 0)
		return -1;
	if (m->iallocator != NULL) {
		lu_want_all(lu, LOCK_NODE_RES, true);
		lu_want_all(lu, LOCK_NODE, false);
		return 0;
	}
	for (size_t i = 0; i < m->n; i++) {
		const json_t *node = lu_node(lu, m->ops[i].pnode, err);

		if (node == NULL)
			return -1;
		lu_want(lu, LOCK_NODE, json_str(node, "uuid", ""), false);
	}
	return 0;
}

static int check_names(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);
	auto_strv struct strv seen = {0};

	for (size_t i = 0; i < m->n; i++) {
		const char *name = m->ops[i].instance_name;
		const json_t *old =
			config_find(lu->m->config, CONFIG_INSTANCE, name);

		if (strv_has(&seen, name))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "There are duplicate instance names: "
					 "%s",
					 name);
		strv_add(&seen, name);
		if (old != NULL && strcmp(inst_name(old), name) == 0)
			return error_set(err, ERR_PREREQ, ECODE_EXISTS,
					 "Instance '%s' is already in the "
					 "cluster",
					 name);
	}
	return 0;
}

/* The request with every instance in it; to be freed. */
static json_t *request(struct lu *lu, const char **ret_template,
		       struct error *err)
{
	struct multi *m = multi_of(lu);
	auto_json json_t *instances = json_array();

	for (size_t i = 0; i < m->n; i++) {
		struct inst_spec spec = {0};
		int rc = spec_read(lu, &m->ops[i], &spec, err);

		if (rc == 0) {
			*ret_template = spec.template;
			json_array_append_new(instances,
					      spec_request(lu, &spec));
		}
		spec_done(&spec);
		if (rc < 0) {
			error_wrap(err, "Instance '%s'",
				   m->ops[i].instance_name);
			return NULL;
		}
	}
	return iallocator_multi_allocate(steal(&instances));
}

/* Those without a place: names, or hail's [name, why]. */
static void note_failed(struct lu *lu, const json_t *failed)
{
	struct multi *m = multi_of(lu);

	for (size_t i = 0; i < json_array_size(failed); i++) {
		json_t *item = json_array_get(failed, i);
		json_t *name =
			json_is_array(item) ? json_array_get(item, 0) : item;
		const char *why = json_string_value(json_array_get(item, 1));

		json_array_append(m->failed, name);
		lu_warn(lu, "No place was found for instance %s%s%s",
			json_string_value(name), why == NULL ? "" : ": ",
			why == NULL ? "" : why);
	}
}

static WAITS int run(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);
	const char *template = "diskless";
	json_t *wanted = request(lu, &template, err);
	auto_free char *output = NULL;
	auto_json json_t *result = NULL;
	const json_t *placed;

	if (wanted == NULL)
		return -1;
	result = iallocator_run(lu->m, m->iallocator, wanted, template, false,
				&output, err);
	if (result == NULL) {
		if (output != NULL)
			lu_warn(lu, "Output of iallocator %s: %s",
				m->iallocator, output);
		return -1;
	}
	placed = json_array_get(result, 0);
	for (size_t i = 0; i < json_array_size(placed); i++) {
		const json_t *row = json_array_get(placed, i);

		json_object_set(m->placed,
				json_string_value(json_array_get(row, 0)),
				json_array_get(row, 1));
	}
	note_failed(lu, json_array_get(result, 1));
	return 0;
}

static int multi_check(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);

	m->placed = json_object();
	m->failed = json_array();
	if (check_names(lu, err) < 0)
		return -1;
	if (m->iallocator != NULL)
		return run(lu, err);
	for (size_t i = 0; i < m->n; i++)
		json_object_set_new(m->placed, m->ops[i].instance_name,
				    json_make("[s]", m->ops[i].pnode));
	return 0;
}

/* The job that creates instance i on its nodes. */
static json_t *job_for(struct lu *lu, size_t i, const json_t *nodes)
{
	json_t *op = json_copy(json_array_get(multi_of(lu)->complete, i));

	json_object_set(op, "pnode", json_array_get(nodes, 0));
	if (json_array_size(nodes) > 1)
		json_object_set(op, "snode", json_array_get(nodes, 1));
	json_object_set_new(op, "iallocator", json_null());
	json_object_del(op, "reason"); /* ours is inherited */
	return json_make("[o]", op);
}

static json_t *multi_exec(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);
	json_t *jobs = json_array(), *names = json_array();

	for (size_t i = 0; i < m->n; i++) {
		const char *name = m->ops[i].instance_name;
		const json_t *nodes = json_get(m->placed, name);

		if (nodes == NULL)
			continue;
		json_array_append_new(names, json_string(name));
		json_array_append_new(jobs, job_for(lu, i, nodes));
	}
	return lu_submit_jobs(lu, jobs,
			      json_make("{s:o, s:O}", "allocatable", names,
					"failed", m->failed),
			      err);
}

static void multi_done(struct lu *lu)
{
	struct multi *m = multi_of(lu);

	json_decref(m->placed);
	json_decref(m->failed);
	json_decref(m->complete);
	free(m->ops);
}

const struct lu_class lu_instance_multi_alloc = {
	.op = &op_class_instance_multi_alloc,
	.size = sizeof(struct multi),
	.expand = multi_expand,
	.check = multi_check,
	.exec = multi_exec,
	.done = multi_done,
};
