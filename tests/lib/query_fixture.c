/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/query_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/rpc/noderpc.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"
#include "tests/lib/compat.h"

#define MAX_JOBS 16

/* --- the queue: the functions that queries use, and no others --- */

static struct {
	struct job *jobs[MAX_JOBS];
	char *texts[MAX_JOBS];
	size_t n;
	bool indexed;
	uint64_t state; /* of all pages */
} list;

void fixture_index_jobs(bool indexed)
{
	list.indexed = indexed;
}

void fixture_add_job(const char *text, bool archived)
{
	struct error err;
	struct job *job = job_from_text(text, strlen(text), &err);

	cr_assert_not_null(job, "%s", err.text);
	cr_assert_lt(list.n, MAX_JOBS);
	job->archived = archived;
	list.texts[list.n] = xstrdup(text);
	list.jobs[list.n++] = job;
	list.state++;
}

void fixture_forget_jobs(void)
{
	while (list.n > 0) {
		job_free(list.jobs[--list.n]);
		free(list.texts[list.n]);
	}
}

const struct job *queue_job(struct queue *q, uint64_t id)
{
	(void)q;
	for (size_t i = 0; i < list.n; i++)
		if (list.jobs[i]->id == id && !list.jobs[i]->archived)
			return list.jobs[i];
	return NULL;
}

const struct job *queue_next(struct queue *q, uint64_t after)
{
	const struct job *next = NULL;

	(void)q;
	for (size_t i = 0; i < list.n; i++)
		if (!list.jobs[i]->archived && list.jobs[i]->id > after &&
		    (next == NULL || list.jobs[i]->id < next->id))
			next = list.jobs[i];
	return next;
}

bool queue_page_from(struct queue *q, uint64_t number, struct queue_page *ret)
{
	const struct job *next =
		queue_next(q, number == 0 ? 0 : number * QUEUE_PAGE - 1);

	if (next == NULL)
		return false;
	*ret = (struct queue_page){next->id / QUEUE_PAGE, list.state};
	return true;
}

void queue_each(struct queue *q, bool (*fn)(const struct job *j, void *arg),
		void *arg)
{
	const struct job *j = queue_next(q, 0);

	while (j != NULL && fn(j, arg))
		j = queue_next(q, j->id);
}

static struct job *copy_of(size_t i)
{
	struct error err;
	struct job *copy =
		job_from_text(list.texts[i], strlen(list.texts[i]), &err);

	copy->archived = true;
	return copy;
}

int queue_each_archived(struct queue *q,
			bool (*fn)(struct job *j STEALS, void *arg), void *arg,
			struct error *err)
{
	(void)q;
	(void)err;
	for (size_t i = 0; i < list.n; i++)
		if (list.jobs[i]->archived && !fn(copy_of(i), arg))
			break;
	return 0;
}

int queue_each_indexed(struct queue *q, const json_t *qfilter,
		       bool (*fn)(const struct job *j, void *arg), void *arg)
{
	(void)q;
	(void)qfilter;
	for (size_t i = 0; list.indexed && i < list.n; i++)
		if (list.jobs[i]->archived && !fn(list.jobs[i], arg))
			return -1;
	return list.indexed;
}

struct job *queue_archived(struct queue *q, uint64_t id, struct error *err)
{
	(void)q;
	for (size_t i = 0; i < list.n; i++)
		if (list.jobs[i]->archived && list.jobs[i]->id == id)
			return copy_of(i);
	error_set(err, ERR_JOB_LOST, NULL, "no such job");
	return NULL;
}

uint64_t queue_last_id(const struct queue *q)
{
	uint64_t last = 0;

	(void)q;
	for (size_t i = 0; i < list.n; i++)
		if (list.jobs[i]->id > last)
			last = list.jobs[i]->id;
	return last;
}

bool queue_drained(const struct queue *q)
{
	(void)q;
	return false;
}

/* --- the nodes --- */

static bool is_sick(const struct query_fixture *f, const char *key,
		    const char *procedure)
{
	const json_t *args = json_object_get(f->calls, key);

	return strcmp(procedure, "all_instances_info") == 0 &&
	       f->sick_hypervisor != NULL &&
	       json_array_has_str(json_array_get(args, 0), f->sick_hypervisor);
}

static void answer(void *arg, const struct noderpc_call *call)
{
	struct query_fixture *f = arg;
	json_t *payload = json_object_get(
		json_object_get(f->nodes, call->procedure), call->node_name);
	auto_free char *key =
		xprintf("%s %s", call->procedure, call->node_name);
	auto_free char *text = NULL;
	auto_json json_t *reply = NULL;
	struct error err;

	json_object_set_new(f->calls, key, fixture_parse(call->body));
	free(call->body);
	if (payload == NULL) {
		error_set(&err, ERR_RPC, NULL, "no answer");
		return call->on_reply(call->arg, NULL, 0, &err);
	}
	reply = is_sick(f, key, call->procedure)
			? json_make("[b, s]", 0, "it is not installed")
			: json_make("[b, O]", 1, payload);
	text = json_text(reply);
	call->on_reply(call->arg, text, strlen(text), NULL);
}

/* --- the master --- */

json_t *fixture_parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

void fixture_begin(struct query_fixture *f, void (*edit)(json_t *config))
{
	auto_json json_t *config = compat_read("config.data");
	auto_free char *text = NULL;
	const char *file;
	struct error err;

	memset(f, 0, sizeof(*f));
	strcpy(f->root, "/tmp/query-XXXXXX");
	cr_assert_not_null(mkdtemp(f->root));
	f->m.paths = paths_create(f->root, "node1.example.com");
	if (edit != NULL)
		edit(config);
	text = json_text(config);
	file = path(f->m.paths, PATH_CONFIG_DATA);
	cr_assert_eq(fs_mkdirs(path(f->m.paths, PATH_DATA_DIR), 0755, &err), 0);
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0600, &err), 0);
	f->m.disk = disk_real();
	f->m.config = config_load(f->m.disk, f->m.paths, &err);
	cr_assert_not_null(f->m.config, "%s", err.text);
	f->m.locks = locks_create();
	f->nodes = compat_read("nodes.json");
	f->calls = json_object();
	f->m.rpc = noderpc_create(
		&(struct noderpc_transport){.arg = f, .send = answer});
}

void fixture_end(struct query_fixture *f)
{
	struct error err;

	fixture_forget_jobs();
	noderpc_destroy(f->m.rpc);
	locks_destroy(f->m.locks);
	config_free(f->m.config);
	paths_destroy(f->m.paths);
	json_decref(f->nodes);
	json_decref(f->calls);
	cr_assert_eq(fs_remove_tree(f->root, &err), 0, "%s", err.text);
}

json_t *fixture_query(struct query_fixture *f, const char *what,
		      const char *fields, const char *qfilter)
{
	auto_json json_t *wanted = fixture_parse(fields);
	auto_json json_t *filter = fixture_parse(qfilter);
	struct error err;
	json_t *result = query_run(&f->m, what, wanted, filter, &err);

	cr_assert_not_null(result, "%s", err.text);
	return result;
}

static const json_t *cell(const json_t *answer, size_t row, size_t column)
{
	const json_t *rows = json_object_get(answer, "data");

	cr_assert_lt(row, json_array_size(rows));
	return json_array_get(json_array_get(rows, row), column);
}

const json_t *fixture_value(const json_t *answer, size_t row, size_t column)
{
	return json_array_get(cell(answer, row, column), 1);
}

int fixture_status(const json_t *answer, size_t row, size_t column)
{
	return (int)json_integer_value(
		json_array_get(cell(answer, row, column), 0));
}
