/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs our own hail in this process: the same code as the program.  Mostly by a
 * call, about a cluster that is filled from the configuration; where the answer
 * has to be a text, by the message that a program would get.  Both only where
 * the search path leads to the file that was installed with this daemon,
 * directly or by links; any other hail is run like any other allocator. */
#include <string.h>
#include <sys/stat.h>

#include "gantry-config.h"
#include "iallocators/allocate/hail_answer.h"
#include "iallocators/allocate/hail_result.h"
#include "iallocators/model/opcodes.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/allocator/iallocator_cluster.h"
#include "masterd/allocator/iallocator_kept.h"
#include "masterd/allocator/iallocator_private.h"

/* The first executable with this name in the search path, to be freed. */
static char *find_program(const struct master *m, const char *name)
{
	auto_strv struct strv folders = {0};

	paths_iallocator_search(m->paths, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		char *file = xprintf("%s/%s", folders.items[i], name);

		if (fs_is_executable(file))
			return file;
		free(file);
	}
	return NULL;
}

/* Where our hail lies beside this program: in a build, in an installation that
 * was moved, where `make install` puts it. */
static void own_places(struct strv *ret)
{
	auto_free char *own = fs_own_folder();

	if (own == NULL)
		return;
	strv_addf(ret, "%s/../bin/hail", own);
	strv_addf(ret, "%s/../lib/ganeti/iallocators/hail", own);
	if (str_eq(own, GANTRY_BINDIR))
		strv_add(ret, GANTRY_IALLOCATOR_DIR "/hail");
}

static bool is_ours(const char *file)
{
	auto_strv struct strv places = {0};
	struct stat theirs, own;

	if (stat(file, &theirs) < 0)
		return false;
	own_places(&places);
	for (size_t i = 0; i < places.n; i++)
		if (stat(places.items[i], &own) == 0 &&
		    own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino)
			return true;
	return false;
}

/* Read the options; false when there are some that only the program knows. */
static bool read_options(const json_t *params, struct hail_options *o)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(params), key, value) {
		if (strcmp(key, "ignore-soft-errors") == 0)
			o->ignore_soft_errors = true;
		else if (strcmp(key, "no-capacity-checks") == 0)
			o->no_capacity_checks = true;
		else if (strcmp(key, "explain") == 0 &&
			 str_eq(json_string_value(value), "json"))
			o->explain = EXPLAIN_JSON;
		else
			return false;
	}
	return true;
}

int iallocator_expect(struct master *m, const char *name, struct error *err)
{
	auto_free char *file = find_program(m, name), *where = NULL;
	auto_strv struct strv folders = {0};
	bool any = false;

	paths_iallocator_search(m->paths, &folders);
	for (size_t i = 0; i < folders.n; i++)
		any |= fs_exists(folders.items[i]);
	if (file != NULL || !any)
		return 0;
	where = strv_join(&folders, ", ");
	return error_set(err, ERR_PREREQ, ECODE_NOENT,
			 "Allocator '%.200s' not known: no executable file of "
			 "this name in %s",
			 name, where);
}

bool iallocator_is_builtin(struct master *m, const char *name,
			   const json_t *params)
{
	struct hail_options o = {0};
	auto_free char *file = NULL;

	if (strcmp(name, "hail") != 0 || !read_options(params, &o))
		return false;
	file = find_program(m, name);
	return file != NULL && is_ours(file);
}

static void warn(const struct buf *warnings)
{
	if (warnings->len > 0)
		log_warning("hail: %s", warnings->data);
}

static int failed(struct error *err)
{
	return error_wrap_as(err, ERR_EXEC,
			     "Failure while running iallocator 'hail'");
}

char *iallocator_run_builtin(char *message, const json_t *params,
			     struct error *err)
{
	struct hail_options o = {.dedicated_per_group = true};
	__attribute__((cleanup(hail_output_done))) struct hail_output out = {
		.answer = {0}};
	int rc;

	read_options(params, &o);
	task_leave(); /* nobody else uses the message */
	rc = hail_answer(message, strlen(message), &o, &out, err);
	task_enter();
	warn(&out.warnings);
	if (rc == 0)
		return buf_steal(&out.answer);
	failed(err);
	return NULL;
}

/* --- by a call --- */

static json_t *json_of_nodes(const struct hail_nodes *nodes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nodes->n; i++)
		json_array_append_new(list, json_string(nodes->names[i]));
	return list;
}

static json_t *json_of_opcode(const struct opcode *op)
{
	struct opcode_member members[OPCODE_MEMBERS_MAX];
	size_t n = opcode_members(op, members);
	json_t *ret = json_object();

	for (size_t i = 0; i < n; i++) {
		const struct opcode_member *m = &members[i];

		if (m->value == OPCODE_TEXT)
			json_set_str(ret, m->key, m->text);
		else if (m->value == OPCODE_NUMBER)
			json_set_int(ret, m->key, m->number);
		else if (m->value == OPCODE_FLAG)
			json_set_bool(ret, m->key, m->number != 0);
		else
			json_object_set_new(ret, m->key, json_array());
	}
	return ret;
}

static json_t *json_of_failed(const struct hail_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_failed; i++)
		json_array_append_new(list,
				      json_make("[s, s]", r->failed[i].instance,
						r->failed[i].reason));
	return list;
}

static json_t *json_of_placed(const struct hail_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_placed; i++)
		json_array_append_new(
			list, json_make("[s, o]", r->placed[i].instance,
					json_of_nodes(&r->placed[i].nodes)));
	return json_make("[o, o]", list, json_of_failed(r));
}

static json_t *json_of_moves(const struct hail_result *r)
{
	json_t *moved = json_array(), *jobs = json_array();

	for (size_t i = 0; i < r->n_moved; i++) {
		const struct hail_moved *one = &r->moved[i];
		json_t *ops = json_array();

		json_array_append_new(
			moved, json_make("[s, s, o]", one->instance, one->group,
					 json_of_nodes(&one->nodes)));
		for (size_t k = 0; k < one->n_ops; k++)
			json_array_append_new(ops,
					      json_of_opcode(&one->ops[k]));
		json_array_append_new(jobs, ops);
	}
	return json_make("[o, o, o]", moved, json_of_failed(r), jobs);
}

static json_t *json_of_result(const struct hail_result *r)
{
	switch (r->type) {
	case REQUEST_MULTI:
		return json_of_placed(r);
	case REQUEST_CHANGE_GROUP:
	case REQUEST_EVACUATE:
		return json_of_moves(r);
	case REQUEST_SECONDARY:
		return json_string(r->nodes.names[0]);
	default:
		return json_of_nodes(&r->nodes);
	}
}

/* Ask about the snapshot, beside the loop; nobody else uses it. */
static WAITS int place(struct iallocator_snapshot *s,
		       const struct jval *question, const json_t *params,
		       struct hail_result *ret, struct error *err)
{
	struct hail_options o = {.dedicated_per_group = true};
	auto_buf struct buf warnings = {0};
	int rc;

	read_options(params, &o);
	task_leave();
	rc = hail_place(&s->cluster, question, &o, ret, &warnings, err);
	task_enter();
	warn(&warnings);
	return rc;
}

/* The snapshot, and the question in its terms. */
static const struct jval *build(struct iallocator_kept *kept,
				const struct config *c, const json_t *request,
				const struct iallocator_nodes *nodes,
				struct iallocator_snapshot *ret,
				struct error *err)
{
	size_t more = json_array_size(json_get(request, "instances")) + 1;

	if (iallocator_kept_build(kept, c, nodes, more, ret, err) < 0)
		return NULL;
	return iallocator_cluster_jval(&ret->cluster.arena, request);
}

int iallocator_call_builtin(struct master *m, const json_t *request,
			    const struct iallocator_how *how,
			    const json_t *params, struct iallocator_answer *ret,
			    struct error *err)
{
	struct iallocator_kept *own =
		m->kept == NULL ? iallocator_kept_create() : NULL;
	/* This waits. */
	struct iallocator_nodes *nodes =
		iallocator_nodes_ask(m, iallocator_hypervisor(m, request), how);
	struct iallocator_snapshot s;
	struct hail_result result = {.success = false};
	const struct jval *question = build(own != NULL ? own : m->kept,
					    m->config, request, nodes, &s, err);
	int rc = -1;

	iallocator_nodes_free(nodes);
	*ret = (struct iallocator_answer){.success = false};
	if (question != NULL)
		rc = place(&s, question, params, &result, err);
	if (rc == 0) {
		ret->success = result.success;
		ret->info = buf_steal(&result.info);
		ret->result = result.success ? json_of_result(&result) : NULL;
	}
	hail_result_done(&result);
	iallocator_kept_release(&s);
	iallocator_kept_free(own);
	return rc == 0 ? 0 : failed(err);
}

void iallocator_answer_done(struct iallocator_answer *a)
{
	free(a->info);
	json_decref(a->result);
}
