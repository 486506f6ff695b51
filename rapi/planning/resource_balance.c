/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves that make groups even, as hbal computes them; POST submits them.  Jobs
 * of a set touch no common node and run together; those of the next set wait
 * for them, and are not begun when one fails. */
#include "iallocators/balance/balance.h"
#include "iallocators/model/score.h"
#include "iallocators/options/tool_programs.h"
#include "iallocators/tools/jobs.h"
#include "lib/json/json.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/planning/planning.h"

/* Steps for each group; a second request goes on from there. */
#define STEPS_MAX 1000

/* What is found out about all groups. */
struct plan {
	json_t *groups; /* the answer */
	json_t *jobs;	/* of all sets, in order */
	json_t *first;	/* of the jobs: where each one's set begins */
	json_t *before; /* and where the set before that begins */
};

static void plan_done(struct plan *p)
{
	json_decref(p->groups);
	json_decref(p->jobs);
	json_decref(p->first);
	json_decref(p->before);
}

static json_t *pair(const struct cluster *c, int primary, int secondary)
{
	json_t *list = json_make("[s]", c->nodes[primary].name);

	if (secondary != NO_INDEX)
		json_array_append_new(list,
				      json_string(c->nodes[secondary].name));
	return list;
}

static json_t *step_of(const struct cluster *c, const struct balance_step *s)
{
	auto_buf struct buf moves = {0};

	balance_describe(c, s, &moves);
	return json_make("{s:s, s:o, s:o, s:s, s:f, s:f}", "instance",
			 c->instances[s->instance].name, "from",
			 pair(c, s->old_primary, s->old_secondary), "to",
			 pair(c, s->new_primary, s->new_secondary), "moves",
			 moves.data == NULL ? "" : moves.data, "score",
			 s->score, "cost", s->cost);
}

static json_t *opcodes_of(const struct cluster *c, const struct balance_step *s)
{
	auto_buf struct buf text = {0};
	struct error err;

	jobs_opcodes(c, s, &text);
	return json_parse(text.data, text.len, &err);
}

/* Put the jobs of the steps behind those that there are; the sets of a group
 * wait for each other, those of two groups do not. */
static void add_jobs(const struct cluster *c, const struct balance_step *steps,
		     int n, struct plan *p)
{
	json_int_t before = -1;

	for (int done = 0; done < n;) {
		json_int_t first = (json_int_t)json_array_size(p->jobs);
		int size = jobs_set_size(c, steps, n, done);

		for (int i = 0; i < size; i++) {
			json_array_append_new(p->jobs,
					      opcodes_of(c, &steps[done + i]));
			json_array_append_new(p->first, json_integer(first));
			json_array_append_new(p->before, json_integer(before));
		}
		before = first;
		done += size;
	}
}

static void balance_group(struct cluster *c, int group,
			  const struct balance_options *o, struct plan *p)
{
	struct nodeset nodes = cluster_group_nodes(c, group);
	auto_free struct balance_step *steps = NULL;
	json_t *list = json_array();
	struct stats stats;
	double before, after;
	int n = 0;

	score_stats(c, &nodes, &stats);
	before = after = score_total(&stats);
	if (nodes.n > 0 && c->n_instances > 0 &&
	    before - balance_bound(c, &nodes) >= o->min_score)
		n = balance_run(c, &nodes, o, &steps);
	for (int i = 0; i < n; i++) {
		json_array_append_new(list, step_of(c, &steps[i]));
		after = steps[i].score;
	}
	add_jobs(c, steps, n, p);
	json_array_append_new(p->groups,
			      json_make("{s:s, s:s, s:f, s:f, s:o}", "group",
					c->groups[group].name, "uuid",
					c->groups[group].uuid, "before", before,
					"after", after, "steps", list));
}

static int read_options(const struct request *q, struct balance_options *ret,
			struct error *err)
{
	const struct hbal_opts *normal = hbal_program.defaults;
	static const struct {
		const char *name;
		size_t offset;
	} flags[] = {
		{"evac_mode", offsetof(struct balance_options, evac_mode)},
		{"no_disk_moves",
		 offsetof(struct balance_options, no_disk_moves)},
		{"no_instance_moves",
		 offsetof(struct balance_options, no_instance_moves)},
		{"ignore_soft_errors",
		 offsetof(struct balance_options, ignore_soft_errors)},
	};

	*ret = tool_balance_options(&normal->moves);
	ret->max_steps = STEPS_MAX;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (args_flag(&q->args, flags[i].name,
			      (bool *)((char *)ret + flags[i].offset), err) < 0)
			return -1;
	return planning_number(q, "max_steps", STEPS_MAX, &ret->max_steps, err);
}

/* As planning_fn; arg is the plan. */
static int balance_all(struct request *q, struct planning *p, void *arg,
		       struct error *err)
{
	struct cluster *c = &p->c;
	const char *name = args_get(&q->args, "group");
	int only = name == NULL ? NO_INDEX : cluster_find_group(c, name);
	struct balance_options o;

	if (read_options(q, &o, err) < 0)
		return -1;
	if (name != NULL && only == NO_INDEX)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "There is no group '%.100s'", name);
	for (int g = 0; g < c->n_groups; g++)
		if (only == NO_INDEX || g == only)
			balance_group(c, g, &o, arg);
	return 0;
}

static int make_plan(struct request *q, struct plan *ret, struct error *err)
{
	*ret = (struct plan){json_array(), json_array(), json_array(),
			     json_array()};
	if (planning_run(q, balance_all, ret, err) == 0)
		return 0;
	plan_done(ret);
	return -1;
}

json_t *resource_balance(struct request *q, struct error *err)
{
	struct plan p;
	json_t *answer;

	if (make_plan(q, &p, err) < 0)
		return NULL;
	answer = json_make("{s:O, s:O}", "groups", p.groups, "jobs", p.jobs);
	plan_done(&p);
	return answer;
}

/* --- POST --- */

/* Job i waits for each of the set before its own; in one call a job is named by
 * how many come between. */
static void add_depends(const struct plan *p, size_t i)
{
	json_int_t at = (json_int_t)i;
	json_int_t first = json_integer_value(json_array_get(p->first, i));
	json_int_t before = json_integer_value(json_array_get(p->before, i));
	json_t *depends = json_array();

	for (json_int_t k = before; k >= 0 && k < first; k++)
		json_array_append_new(depends,
				      json_make("[I, [s]]", k - at, "success"));
	json_object_set_new(json_array_get(json_array_get(p->jobs, i), 0),
			    "depends", depends);
}

static int sign_jobs(struct request *q, const struct plan *p, struct error *err)
{
	auto_json json_t *set = fill_set(q, err);
	size_t i;
	json_t *job;

	if (set == NULL)
		return -1;
	json_array_foreach (p->jobs, i, job) {
		fill_each(job, set);
		add_depends(p, i);
	}
	return 0;
}

/* Their ids; null for one that is refused. */
static json_t *submit(struct request *q, const struct plan *p,
		      struct error *err)
{
	auto_json json_t *answer = NULL;
	json_t *ids = json_array();
	const json_t *row;
	size_t i;

	if (json_array_size(p->jobs) == 0)
		return ids;
	answer = request_call(q, "SubmitManyJobs", json_make("[O]", p->jobs),
			      err);
	if (answer == NULL) {
		json_decref(ids);
		return NULL;
	}
	json_array_foreach (answer, i, row)
		json_array_append_new(ids,
				      json_is_true(json_array_get(row, 0))
					      ? json_ref(json_array_get(row, 1))
					      : json_null());
	return ids;
}

json_t *resource_balance_run(struct request *q, struct error *err)
{
	json_t *ids = NULL, *answer = NULL;
	struct plan p;

	if (make_plan(q, &p, err) < 0)
		return NULL;
	if (sign_jobs(q, &p, err) == 0)
		ids = submit(q, &p, err);
	if (ids != NULL)
		answer = json_make("{s:O, s:o}", "groups", p.groups, "jobs",
				   ids);
	plan_done(&p);
	return answer;
}
