/* SPDX-License-Identifier: BSD-2-Clause */
/* Thin wrappers that add what belongs to a job: how recent the answer of a node
 * has to be, so that the node need not be asked again whether it is alive; and
 * a warning in the job's log with the output of an allocator.  An answer is
 * recent if it is at most five seconds old and not older than the LU. */
#include "masterd/lu/parts/lu_allocator.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"

/* A job may have waited for a long time; then nodes are asked again. */
#define SIGN_US (5 * INT64_C(1000000))

static int64_t heard_since(const struct lu *lu)
{
	int64_t recently = clock_mono_us() - SIGN_US;

	return lu->began_us > recently ? lu->began_us : recently;
}

static void tell(struct lu *lu, const char *name, const char *output)
{
	if (output != NULL)
		lu_warn(lu, "Output of iallocator %s: %s", name, output);
}

WAITS json_t *lu_allocator(struct lu *lu, json_t *request STEALS,
			   struct iallocator_how how, struct error *err)
{
	auto_free char *output = NULL;
	json_t *result;

	how.heard_since_us = heard_since(lu);
	result = iallocator_run(lu->m, request, &how, &output, err);
	tell(lu, how.name, output);
	return result;
}

WAITS char *lu_allocator_ask(struct lu *lu, const json_t *request,
			     struct iallocator_how how, struct error *err)
{
	auto_free char *output = NULL;
	char *answer;

	how.heard_since_us = heard_since(lu);
	answer = iallocator_ask(lu->m, request, &how, &output, err);
	tell(lu, how.name, output);
	return answer;
}

WAITS json_t *lu_allocator_explain(struct lu *lu, const json_t *request,
				   const char *name, const char *template,
				   struct error *err)
{
	const struct iallocator_how how = {
		.name = name, .disk_template = template, .explain = true};
	auto_free char *output = lu_allocator_ask(lu, request, how, err);
	auto_json json_t *answer = NULL;
	json_t *explanation;
	struct error why;

	if (output == NULL)
		return NULL;
	answer = json_parse(output, strlen(output), &why);
	explanation = json_incref(json_object_get(answer, "explanation"));
	if (explanation == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "The iallocator '%s' explains nothing; ours (hail) "
			  "does",
			  name);
	return explanation;
}
