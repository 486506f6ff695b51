/* SPDX-License-Identifier: BSD-2-Clause */
#include "noded/answer.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/calls.h"
#include "noded/noded.h"
#include "noded/server.h"

/* Calls that take longer are worth a line in the log. */
#define SLOW_CALL_US 1000000

static char *refuse(int status, int *ret_status, const char *why,
		    const char *detail)
{
	auto_free char *text = xprintf("%s%s", why, detail);
	auto_json json_t *answer = json_make("[b, s]", 0, text);

	*ret_status = status;
	return json_text(answer);
}

static void log_call(const struct call *c, int64_t start_us,
		     const json_t *payload, const char *failure)
{
	int64_t us = clock_mono_us() - start_us;

	if (payload == NULL)
		log_info("%s failed after %" PRId64 " ms: %.400s", c->procedure,
			 us / 1000, failure);
	else if (us > SLOW_CALL_US)
		log_info("%s took %" PRId64 " ms", c->procedure, us / 1000);
	else
		log_debug("%s: %" PRId64 " us", c->procedure, us);
}

static char *run(struct noded *n, const char *procedure, uint64_t term,
		 const json_t *args)
{
	struct call c = {.n = n,
			 .paths = n->paths,
			 .procedure = procedure,
			 .args = args,
			 .term = term};
	auto_json json_t *answer = NULL;
	int64_t start_us = clock_mono_us();
	struct error err;
	json_t *payload;

	payload = calls_run(&c, &err);
	log_call(&c, start_us, payload,
		 c.failure != NULL ? c.failure : err.text);
	if (payload != NULL)
		answer = json_make("[b, o]", 1, payload);
	else
		answer = json_make("[b, s]", 0,
				   c.failure != NULL ? c.failure : err.text);
	free(c.failure);
	return json_text(answer);
}

/* These are how masters learn of terms; they have no say in them. */
static bool is_above_terms(const char *procedure)
{
	return strcmp(procedure, "master_state") == 0 ||
	       strcmp(procedure, "master_promise") == 0;
}

/* The answer to a caller that is not to be served; NULL when it is. */
static char *check_term(struct noded *n, const char *procedure,
			const char *header, uint64_t *ret_term, int *ret_status)
{
	struct error err;
	int64_t term;

	*ret_term = 0;
	if (header == NULL || is_above_terms(procedure))
		return NULL;
	if (!str_to_int64(header, &term) || term < 1)
		return refuse(400, ret_status,
			      "Bad request: not a term: ", header);
	*ret_term = (uint64_t)term;
	switch (candidate_check(&n->candidate, *ret_term, &err)) {
	case CANDIDATE_STALE:
		log_warning("refused %s: %s", procedure, err.text);
		return refuse(412, ret_status, err.text, "");
	case CANDIDATE_ERROR:
		log_error("%s", err.text);
		return refuse(200, ret_status, err.text, "");
	case CANDIDATE_SERVE:
		break;
	}
	return NULL;
}

char *answer(struct noded *n, const struct answer_request *r, int *ret_status)
{
	const char *procedure = r->path[0] == '/' ? r->path + 1 : r->path;
	auto_json json_t *args = NULL;
	struct error err;
	uint64_t term;
	char *refusal;

	if (strcmp(r->method, "POST") != 0 && strcmp(r->method, "PUT") != 0)
		return refuse(400, ret_status,
			      "Only the POST and PUT methods are supported",
			      "");
	if (!calls_known(procedure))
		return refuse(404, ret_status, "Unknown procedure ", procedure);
	refusal = check_term(n, procedure, r->term, &term, ret_status);
	if (refusal != NULL)
		return refusal;
	args = r->len == 0 ? json_array()
			   : json_parse_within(r->body, r->len,
					       NODED_PARSED_MAX, &err);
	if (args == NULL)
		return refuse(400, ret_status, "Bad request: ", err.text);
	if (!json_is_array(args) && !json_is_object(args))
		return refuse(400, ret_status,
			      "Bad request: the body must be a list of "
			      "arguments",
			      "");
	*ret_status = 200;
	return run(n, procedure, term, args);
}
