/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_MULTI_ALLOC: place many instances with one run of the allocator,
 * then create each with a job of its own.
 *
 * The places are booked (masterd/lu/spec/instance_booking.h) while the
 * resources of the nodes are locked, so nobody else takes them: first for this
 * job, then for the jobs that create the instances.  These wait for the end of
 * this job; if it fails they fail, and the bookings are removed. */
#include <ctype.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_adopt.h"
#include "masterd/lu/spec/instance_booking.h"
#include "masterd/lu/spec/instance_place.h"
#include "queue/queue.h"

struct multi {
	struct lu lu;
	const char *iallocator; /* NULL: every instance names its node */
	json_t *placed;		/* {name: [node names]} from the allocator */
	json_t *failed;		/* names */
	json_t *nics;		/* {name: its NICs as the request had them} */
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

/* The name of instance i, for messages. */
static int in_definition(const json_t *given, size_t i, struct error *err)
{
	const char *name = json_str(given, "instance_name", NULL);

	if (name == NULL || *name == '\0')
		return error_wrap(err, "Definition %zu, without a name", i + 1);
	return error_wrap(err, "Instance '%.200s'", name);
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
		auto_json json_t *given =
			json_copy(json_array_get(op->instances, i));
		json_t *full;

		if (!json_is_object(given))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Definition %zu is no object", i + 1);

		json_set_str(given, "OP_ID", "OP_INSTANCE_CREATE");
		set_lower(given, "instance_name");
		full = op_check(given, err);
		if (full == NULL)
			return in_definition(given, i, err);
		spec_complete(lu->m, full);
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
	if (with_node > 0 && op->explain)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There is nothing to explain where the nodes "
				 "are given");
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
			lu, xstrdup(cluster_default_iallocator(
				    config_cluster(lu->m->config))));
	if (*m->iallocator == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No iallocator given and the cluster has no "
				 "default one");
	return 0;
}

/* The template of the instances that needs the most nodes. */
static const char *widest_template(const struct lu *lu, const struct multi *m)
{
	const char *widest = NULL;

	for (size_t i = 0; i < m->n; i++) {
		const char *next =
			instance_place_template(lu, m->ops[i].disk_template);

		if (widest == NULL || iallocator_required_nodes(next) >
					      iallocator_required_nodes(widest))
			widest = next;
	}
	return widest;
}

static int multi_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	struct multi *m = multi_of(lu);

	if (read_ops(lu, err) < 0 || choose(lu, err) < 0)
		return -1;
	for (size_t i = 0; i < m->n; i++)
		lu_want_new(lu, LOCK_INSTANCE, m->ops[i].instance_name);
	if (m->iallocator != NULL && op->explain) {
		lu_want_all(lu, LOCK_NODE_RES, false);
		return 0;
	}
	if (m->iallocator != NULL)
		return instance_place_want_nodes(lu, op->opportunistic_locking,
						 widest_template(lu, m), err);
	for (size_t i = 0; i < m->n; i++) {
		struct inst_nodes nodes;

		if (instance_place_named_nodes(lu, &m->ops[i], &nodes, err) < 0)
			return -1;
		lu_want(lu, LOCK_NODE_RES, nodes.primary, true);
		if (nodes.secondary != NULL)
			lu_want(lu, LOCK_NODE_RES, nodes.secondary, true);
	}
	return 0;
}

static int check_names(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);
	auto_strv struct strv seen = {0};

	for (size_t i = 0; i < m->n; i++) {
		const char *name = m->ops[i].instance_name;

		if (strv_has(&seen, name))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "There are duplicate instance names: "
					 "%s",
					 name);
		strv_add(&seen, name);
		if (inst_check_name_is_free(lu, name, err) < 0)
			return -1;
	}
	return 0;
}

static int add_request(struct lu *lu, size_t i, struct inst_spec *spec,
		       json_t *list, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	json_t *one = spec_request(lu, spec, err);

	if (one == NULL)
		return -1;
	if (op->opportunistic_locking)
		json_object_set_new(one, "restrict-to-nodes",
				    instance_place_nodes(lu));
	if (multi_of(lu)->ops[i].ignore_ipolicy)
		json_set_bool(one, "ignore_ipolicy", true);
	json_array_append_new(list, one);
	json_object_set(multi_of(lu)->nics, spec->name, spec->nics);
	return 0;
}

/* The template whose disk space the allocator is told: planners count only that
 * of volumes, so one of these if there is any. */
static void note_template(const char **template, const char *next)
{
	if (!template_is_on_volumes(*template))
		*template = next;
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

		if (rc == 0)
			rc = add_request(lu, i, &spec, instances, err);
		if (rc == 0)
			note_template(ret_template, spec.template);
		spec_done(&spec);
		if (rc < 0) {
			error_wrap(err, "Instance '%s'",
				   m->ops[i].instance_name);
			return NULL;
		}
	}
	return iallocator_multi_allocate(steal(&instances));
}

/* Which policies forbid an instance of the request; to be freed, NULL: none. */
static char *forbidden(struct lu *lu, const char *name)
{
	const struct multi *m = multi_of(lu);
	struct inst_spec spec = {0};
	struct error ignored;
	char *text = NULL;

	for (size_t i = 0; i < m->n && text == NULL; i++)
		if (str_eq(m->ops[i].instance_name, name) &&
		    !m->ops[i].ignore_ipolicy) {
			if (spec_read(lu, &m->ops[i], &spec, &ignored) == 0)
				text = spec_forbidden(lu, &spec);
			spec_done(&spec);
			break;
		}
	return text;
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
		auto_free char *policy = forbidden(lu, json_string_value(name));

		json_array_append(m->failed, name);
		lu_warn(lu, "No place was found for instance %s%s%s%s%s",
			json_string_value(name), why == NULL ? "" : ": ",
			why == NULL ? "" : why, policy == NULL ? "" : "; ",
			policy == NULL ? "" : policy);
	}
}

/* --explain: ask the allocator and return its reasons; nothing is created. */
static WAITS int explain(struct lu *lu, struct error *err)
{
	const char *template = "diskless";
	auto_json json_t *wanted = request(lu, &template, err);

	if (wanted == NULL)
		return -1;
	lu->answer = lu_allocator_explain(lu, wanted, multi_of(lu)->iallocator,
					  template, err);
	return lu->answer == NULL ? -1 : 0;
}

static WAITS int run(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);
	const char *template = "diskless";
	json_t *wanted = request(lu, &template, err);
	auto_json json_t *result = NULL;
	const json_t *placed;

	if (wanted == NULL)
		return -1;
	result = lu_allocator(lu, wanted,
			      (struct iallocator_how){
				      .name = m->iallocator,
				      .disk_template = template,
			      },
			      err);
	if (result == NULL)
		return -1;
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

/* All or nothing, if that was asked for. */
static int check_atomic(struct lu *lu, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	const struct multi *m = multi_of(lu);
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;

	if (op->atomic != 1 || json_array_size(m->failed) == 0)
		return 0;
	json_to_strv(m->failed, &names);
	text = strv_join(&names, ", ");
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "No instance is created, since there is no place for "
			 "%s, and all or none were asked for",
			 text);
}

/* The result without jobs: names in the order of the request, those without a
 * place, and where the others go. */
static json_t *partial_result(const struct multi *m)
{
	json_t *names = json_array(), *placement = json_array();

	for (size_t i = 0; i < m->n; i++) {
		const char *name = m->ops[i].instance_name;
		const json_t *nodes = json_get(m->placed, name);

		if (nodes == NULL)
			continue;
		json_array_append_new(names, json_string(name));
		json_array_append_new(placement,
				      json_make("[s, O]", name, nodes));
	}
	return json_make("{s:o, s:O, s:o}", "allocatable", names, "failed",
			 m->failed, "placement", placement);
}

static void set_dry_run_result(struct lu *lu)
{
	json_t *result = partial_result(multi_of(lu));

	json_object_set_new(result, "jobs", json_array());
	lu->dry_run_result = result;
}

static WAITS int find_places(struct lu *lu, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	struct multi *m = multi_of(lu);

	m->placed = json_object();
	m->failed = json_array();
	m->nics = json_object();
	if (check_names(lu, err) < 0)
		return -1;
	if (m->iallocator != NULL && op->explain)
		return explain(lu, err);
	if (m->iallocator != NULL)
		return run(lu, err) < 0 ? -1 : check_atomic(lu, err);
	for (size_t i = 0; i < m->n; i++)
		json_object_set_new(
			m->placed, m->ops[i].instance_name,
			json_make("[s, s*]", m->ops[i].pnode, m->ops[i].snode));
	return 0;
}

static WAITS int multi_check(struct lu *lu, struct error *err)
{
	if (find_places(lu, err) < 0)
		return -1;
	set_dry_run_result(lu);
	return 0;
}

/* The opcodes of the job that creates instance i on its nodes.  It waits for
 * the end of this job, which has booked the place. */
static json_t *job_for(struct lu *lu, size_t i, const json_t *nodes)
{
	json_t *op = json_copy(json_array_get(multi_of(lu)->complete, i));

	json_object_set(op, "pnode", json_array_get(nodes, 0));
	if (json_array_size(nodes) > 1)
		json_object_set(op, "snode", json_array_get(nodes, 1));
	json_object_set_new(op, "iallocator", json_null());
	json_object_set_new(op, "depends",
			    json_make("[[I, [s]]]", (json_int_t)lu->job_id,
				      job_state_name(JOB_SUCCESS)));
	json_object_del(op, "reason"); /* this job's priority is inherited */
	return json_make("[o]", op);
}

static int choose_nodes(struct lu *lu, const struct op_instance_create *op,
			const struct inst_spec *spec, const json_t *names,
			struct inst_nodes *ret, struct error *err)
{
	const char *iallocator = multi_of(lu)->iallocator;

	if (iallocator == NULL)
		return instance_place_named_nodes(lu, op, ret, err);
	return instance_place_chosen_nodes(lu, iallocator, spec->template,
					   names, ret, err);
}

/* With the same addresses that the allocator was told. */
static int read_spec(struct lu *lu, size_t i, struct inst_spec *ret,
		     struct error *err)
{
	const struct op_instance_create *op = &multi_of(lu)->ops[i];
	const json_t *nics;

	if (spec_read(lu, op, ret, err) < 0)
		return -1;
	nics = json_get(multi_of(lu)->nics, ret->name);
	if (nics == NULL)
		return 0;
	json_decref(ret->nics);
	ret->nics = json_ref(nics);
	ret->has_macs = true;
	return 0;
}

/* Book the place of instance i, at first for this job. */
static WAITS int book(struct lu *lu, size_t i, const json_t *nodes,
		      struct error *err)
{
	const struct op_instance_create *op = &multi_of(lu)->ops[i];
	struct inst_nodes at = {0};
	struct inst_spec spec = {0};
	char uuid[37];
	int rc = read_spec(lu, i, &spec, err);

	uuid_new(uuid);
	if (rc == 0)
		rc = choose_nodes(lu, op, &spec, nodes, &at, err);
	if (rc == 0)
		rc = adopt_find(lu, &spec, at.primary, err);
	if (rc == 0)
		rc = instance_place_check_room(lu, op, &spec, &at, err);
	if (rc == 0)
		rc = spec_reserve_addresses(lu, op, &spec, at.primary, err);
	if (rc == 0)
		rc = spec_reserve_port(lu, &spec, err);
	if (rc == 0)
		rc = booking_put(lu, op, &spec, uuid, &at, err);
	spec_done(&spec);
	return rc;
}

/* Book all placed instances.  One that cannot be booked fails in its own job,
 * with the reason, unless all or none are wanted.  Others have a turn after
 * each: it takes a millisecond where there are many instances. */
static WAITS int book_all(struct lu *lu, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	struct multi *m = multi_of(lu);

	for (size_t i = 0; i < m->n; i++) {
		const char *name = m->ops[i].instance_name;
		const json_t *nodes = json_get(m->placed, name);

		if (i > 0)
			task_yield();
		if (lu_check_killed(lu, err) < 0)
			return -1;
		if (nodes == NULL || book(lu, i, nodes, err) == 0)
			continue;
		if (op->atomic == 1)
			return error_wrap(err,
					  "No instance is created, since there "
					  "is no place for %s",
					  name);
		lu_warn(lu, "Nothing is reserved for instance %s: %s", name,
			err->text);
	}
	return 0;
}

/* Whether the job of this answer to its submission has not ended yet.  It may
 * have been refused, or a filter's rule has rejected it at once. */
static bool will_run(const struct lu *lu, const json_t *row)
{
	return json_is_true(json_array_get(row, 0)) &&
	       (lu_plans(lu) ||
		queue_lives(lu->m->queue, (uint64_t)json_integer_value(
						  json_array_get(row, 1))));
}

/* Hand the booking over to its job; without one it goes. */
static void hand_over_one(struct lu *lu, const json_t *inst, const json_t *row)
{
	struct config *c = lu->m->config;
	json_t *edited;

	if (!will_run(lu, row)) {
		booking_drop(c, inst);
		return;
	}
	edited = config_edit(inst);
	inst_set_reserved_by_job(edited,
				 json_integer_value(json_array_get(row, 1)));
	config_put(c, CONFIG_INSTANCE, edited);
}

static WAITS int hand_over(struct lu *lu, const json_t *names,
			   const json_t *ids, struct error *err)
{
	struct config *c = lu->m->config;

	for (size_t k = 0; k < json_array_size(names); k++) {
		const json_t *inst = config_find_reserved(
			c, json_string_value(json_array_get(names, k)),
			lu->job_id);

		if (inst != NULL)
			hand_over_one(lu, inst, json_array_get(ids, k));
	}
	lu_release(lu, LOCK_NODE_RES);
	return config_commit(c, err);
}

/* All or none: also when a creation fails. */
static bool is_undone(struct lu *lu)
{
	const struct op_instance_multi_alloc *op = lu->op;

	return op->atomic && !op->keep_others;
}

/* The job that watches over the others when all or none are wanted; it is
 * submitted in the same call, before them. */
static json_t *last_job(struct lu *lu, const json_t *names)
{
	json_t *instances = json_array(), *depends = json_array();
	json_int_t n = (json_int_t)json_array_size(names);

	for (json_int_t k = 0; k < n; k++) {
		const char *name =
			json_string_value(json_array_get(names, (size_t)k));
		const json_t *inst =
			config_find_reserved(lu->m->config, name, lu->job_id);

		json_array_append_new(depends, json_make("[I, [s, s, s]]",
							 k - n, "success",
							 "error", "canceled"));
		json_array_append_new(
			instances,
			json_make("[s, s?]", name, inst_uuid_or(inst, NULL)));
	}
	return json_make("[{s:s, s:o, s:o}]", "OP_ID",
			 "OP_INSTANCE_MULTI_FINISH", "instances", instances,
			 "depends", depends);
}

/* Its id is a member of its own: `jobs` has one for each name. */
static void take_last(json_t *result)
{
	json_t *ids = json_object_get(result, "jobs");
	size_t last = json_array_size(ids) - 1;

	json_object_set(result, "undo_job",
			json_array_get(json_array_get(ids, last), 1));
	json_array_remove(ids, last);
}

/* All or none: none when a job was refused, as the others wait for the success
 * of this one. */
static int check_submitted(struct lu *lu, const json_t *names,
			   const json_t *ids, struct error *err)
{
	const struct op_instance_multi_alloc *op = lu->op;
	const json_t *row;
	size_t k;

	if (op->atomic != 1)
		return 0;
	json_array_foreach (ids, k, row) {
		const char *name = json_string_value(json_array_get(names, k));
		const char *why = json_string_value(json_array_get(row, 1));

		if (!json_is_true(json_array_get(row, 0)))
			return error_set(
				err, ERR_EXEC, NULL,
				"No instance is created, since the job for %s "
				"is refused: %s",
				name == NULL ? "the end" : name,
				why == NULL ? "no reason is given" : why);
	}
	return 0;
}

static WAITS json_t *submit(struct lu *lu, struct error *err)
{
	struct multi *m = multi_of(lu);
	json_t *jobs = json_array(), *result = partial_result(m);
	const json_t *names = json_get(result, "allocatable");
	bool undone;

	for (size_t i = 0; i < m->n; i++) {
		const char *name = m->ops[i].instance_name;
		const json_t *nodes = json_get(m->placed, name);

		if (nodes != NULL)
			json_array_append_new(jobs, job_for(lu, i, nodes));
	}
	undone = json_array_size(jobs) > 0 && is_undone(lu);
	if (undone)
		json_array_append_new(jobs, last_job(lu, names));
	result = lu_submit_jobs(lu, jobs, result, err);
	if (result != NULL &&
	    check_submitted(lu, json_get(result, "allocatable"),
			    json_get(result, "jobs"), err) < 0) {
		json_decref(result);
		return NULL;
	}
	if (result != NULL && undone)
		take_last(result);
	return result;
}

static WAITS json_t *multi_exec(struct lu *lu, struct error *err)
{
	auto_json json_t *result = NULL;

	if (book_all(lu, err) < 0)
		return NULL;
	result = submit(lu, err);
	if (result == NULL || hand_over(lu, json_get(result, "allocatable"),
					json_get(result, "jobs"), err) < 0)
		return NULL;
	return steal(&result);
}

/* Remove bookings that are still this job's. */
static WAITS void multi_undo(struct lu *lu)
{
	struct multi *m = multi_of(lu);
	struct config *c = lu->m->config;
	struct error ignored;
	bool changed = false;

	for (size_t i = 0; i < m->n; i++) {
		const json_t *inst = config_find_reserved(
			c, m->ops[i].instance_name, lu->job_id);

		if (inst == NULL)
			continue;
		booking_drop(c, inst);
		changed = true;
	}
	if (changed)
		config_commit(c, &ignored);
}

static void multi_done(struct lu *lu)
{
	struct multi *m = multi_of(lu);

	json_decref(m->placed);
	json_decref(m->failed);
	json_decref(m->nics);
	json_decref(m->complete);
	free(m->ops);
}

const struct lu_class lu_instance_multi_alloc = {
	.op = &op_class_instance_multi_alloc,
	.size = sizeof(struct multi),
	.expand = multi_expand,
	.check = multi_check,
	.exec = multi_exec,
	.undo = multi_undo,
	.done = multi_done,
};
