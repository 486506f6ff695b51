/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a job is a JSON list with one list for each opcode: status,
 * priority, three times, summary and facts (job_facts_of_op()).  A job that is
 * read back has the facts as its opcodes' input; job_field() needs no more to
 * find the words for searching. */
#include "queue/history/history_row.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "queue/jobs/job_facts.h"

static const struct {
	const char *field;
	int kind;
} kinds[] = {
	{"opid", HISTORY_OPID},	      {"objects", HISTORY_OBJECT},
	{"user", HISTORY_USER},	      {"reason", HISTORY_REASON},
	{"summary", HISTORY_SUMMARY},
};

int history_kind_of(const char *field)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].field, field) == 0)
			return kinds[i].kind;
	return 0;
}

struct job *history_excerpt(const struct job *j)
{
	struct job *copy = job_new(j->id, j->n_ops);

	copy->received_us = j->received_us;
	copy->start_us = j->start_us;
	copy->end_us = j->end_us;
	copy->archived = j->archived;
	for (size_t i = 0; i < j->n_ops; i++) {
		const struct job_op *from = &j->ops[i];

		copy->ops[i] = (struct job_op){
			.input = xstrdup(from->input),
			.summary = xstrdup(from->summary),
			.status = from->status,
			.priority = from->priority,
			.start_us = from->start_us,
			.exec_us = from->exec_us,
			.end_us = from->end_us,
		};
	}
	return copy;
}

static json_t *brief_op(const struct job_op *op)
{
	json_t *facts = job_facts_of_op(op->input);

	return json_make("[i, i, I, I, I, s, o]", (int)op->status, op->priority,
			 (json_int_t)op->start_us, (json_int_t)op->exec_us,
			 (json_int_t)op->end_us, op->summary,
			 facts == NULL ? json_object() : facts);
}

char *history_brief(const struct job *j)
{
	auto_json json_t *ops = json_array();

	for (size_t i = 0; i < j->n_ops; i++)
		json_array_append_new(ops, brief_op(&j->ops[i]));
	return json_text(ops);
}

static int64_t number_at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

static bool read_op(const json_t *list, struct job_op *op)
{
	const char *summary = json_string_value(json_array_get(list, 5));
	const json_t *facts = json_array_get(list, 6);

	if (summary == NULL || !json_is_object(facts) ||
	    number_at(list, 0) < 0 || number_at(list, 0) > JOB_ERROR)
		return false;
	*op = (struct job_op){
		.input = json_text(facts),
		.summary = xstrdup(summary),
		.status = (enum job_state)number_at(list, 0),
		.priority = (int)number_at(list, 1),
		.start_us = number_at(list, 2),
		.exec_us = number_at(list, 3),
		.end_us = number_at(list, 4),
	};
	return true;
}

struct job *history_from_brief(uint64_t id, const char *brief)
{
	struct error ignored;
	auto_json json_t *ops = json_parse(brief, strlen(brief), &ignored);
	struct job *j;

	if (!json_is_array(ops))
		return NULL;
	j = job_new(id, json_array_size(ops));
	for (size_t i = 0; i < j->n_ops; i++)
		if (!read_op(json_array_get(ops, i), &j->ops[i])) {
			job_free(j);
			return NULL;
		}
	return j;
}

void history_each_word(const struct job *j,
		       void (*fn)(void *arg, int kind, const char *text),
		       void *arg)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		auto_json json_t *texts = job_field(j, kinds[k].field);
		const json_t *text;
		size_t i;

		json_array_foreach (texts, i, text)
			if (json_is_string(text))
				fn(arg, kinds[k].kind, json_string_value(text));
	}
}
