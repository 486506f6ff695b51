/* SPDX-License-Identifier: BSD-2-Clause */
/* A request is checked in this order: method, procedure, term header,
 * arguments.  Then it waits for its turn (noded/replica/order.h).  The term is
 * checked before the call and after it, so a master that was replaced meanwhile
 * is refused.  A call that fails is status 200 with [false, text]. */
#include "noded/access/answer.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/files/term.h"
#include "lib/model/rpc/rpc.h"
#include "noded/access/server.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/core/relay.h"

/* Calls that take longer than this are logged. */
#define SLOW_CALL_US 1000000

static char *refuse(int status, int *ret_status, const char *why,
		    const char *detail)
{
	auto_free char *text = xprintf("%s%s", why, detail);
	auto_json json_t *answer = NULL;

	str_repair_utf8(text); /* it may repeat what the peer has sent */
	answer = json_make("[b, s]", 0, text);
	*ret_status = status;
	return json_text(answer);
}

/* The caller has given this call up and sent a later one, whose result
 * counts. */
static char *superseded(int *ret_status)
{
	*ret_status = 200;
	return xstrdup("[true,null]");
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

static WAITS char *run(struct noded *n, const char *procedure, uint64_t term,
		       const json_t *args)
{
	struct call c = {.n = n,
			 .paths = n->paths,
			 .procedure = procedure,
			 .term = term};
	auto_json json_t *answer = NULL;
	int64_t start_us = clock_mono_us();
	struct error err = {0};
	json_t *payload;

	payload = calls_run(&c, args, &err);
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

/* Calls by which masters learn of terms; they are served whatever the caller's
 * term. */
static bool is_above_terms(const char *procedure)
{
	return strcmp(procedure, "master_state") == 0;
}

/* The caller by its header "T N": its term, and the number of the call (0: the
 * call is not counted).  All 0 for a caller without a term. */
struct caller {
	uint64_t term, number;
};

static char *read_caller(const char *procedure, const char *header,
			 struct caller *ret, int *ret_status)
{
	auto_strv struct strv words = {0};
	int64_t term, number = 0;

	*ret = (struct caller){0};
	if (header == NULL || is_above_terms(procedure))
		return NULL;
	str_split(&words, header, ' ');
	if (words.n < 1 || words.n > 2 ||
	    !str_to_int64(words.items[0], &term) || term < 1 ||
	    (uint64_t)term > TERM_MAX ||
	    (words.n == 2 &&
	     (!str_to_int64(words.items[1], &number) || number < 0)))
		return refuse(400, ret_status,
			      "Bad request: not a term: ", header);
	*ret = (struct caller){.term = (uint64_t)term,
			       .number = (uint64_t)number};
	return NULL;
}

/* The answer to a caller that must not be served; NULL: it is served.  end:
 * what the refusal of a term that is over ends with. */
static char *check_term(struct noded *n, const char *procedure,
			const struct caller *caller, const char *end,
			int *ret_status)
{
	struct error err;

	switch (candidate_check(&n->candidate, caller->term, &err)) {
	case CANDIDATE_STALE:
		log_warning("refused %s: %s", procedure, err.text);
		return refuse(412, ret_status, err.text, end);
	case CANDIDATE_ERROR:
		log_error("%s", err.text);
		return refuse(200, ret_status, err.text, "");
	case CANDIDATE_SERVE:
		break;
	}
	return NULL;
}

/* Run the call in its turn.  If another master has come before that or
 * meanwhile, the caller gets a refusal: it must not count on the result. */
static WAITS char *run_in_order(struct noded *n, const char *procedure,
				const struct caller *caller, const json_t *args,
				int *ret_status)
{
	enum order_stream stream = order_stream(procedure, args);
	auto_free char *done = NULL;
	struct error err;
	char *refusal;

	order_begin(&n->order, stream);
	refusal = check_term(n, procedure, caller, RPC_NOT_BEGUN, ret_status);
	if (refusal == NULL && order_check(&n->order, stream, caller->term,
					   caller->number, &err) < 0)
		refusal = stream == ORDER_PAUSE
				  ? superseded(ret_status)
				  : refuse(200, ret_status, err.text, "");
	if (refusal == NULL) {
		*ret_status = 200;
		done = run(n, procedure, caller->term, args);
		refusal = check_term(n, procedure, caller, "", ret_status);
	}
	order_end(&n->order, stream);
	return refusal != NULL ? refusal : steal(&done);
}

static WAITS json_t *parse_body(const struct answer_request *r,
				struct error *err)
{
	json_t *value;

	if (r->len == 0)
		return json_array();
	if (r->len <= JSON_INLINE_MAX)
		return json_parse_within(r->body, r->len, NODED_PARSED_MAX,
					 err);
	task_leave(); /* nobody else uses the body */
	value = json_parse_within(r->body, r->len, NODED_PARSED_MAX, err);
	task_enter();
	return value;
}

/* The list of arguments, to be freed; NULL with err.  Ganeti's luxid sends some
 * calls' only argument, an object, without a list around it. */
static WAITS json_t *parse_args(const struct answer_request *r,
				struct error *err)
{
	json_t *value = parse_body(r, err);

	if (value == NULL || json_is_array(value))
		return value;
	if (json_is_object(value))
		return json_make("[o]", value);
	json_decref(value);
	error_set(err, ERR_REQUEST, NULL,
		  "the body must be a list of arguments");
	return NULL;
}

/* A parcel of the log is bytes, and has no term: the log has its own rules.
 * What the server here answers is for the sender's alone. */
static WAITS char *
hand_on_parcel(struct noded *n, const struct answer_request *r, int *ret_status)
{
	struct error err;
	auto_free char *answer =
		n->relay(n, LOG_KIND_QUESTION, r->body, r->len, &err);

	if (answer == NULL)
		return refuse(200, ret_status, err.text, "");
	*ret_status = 200;
	return steal(&answer);
}

char *answer_http(struct noded *n, const struct answer_request *r,
		  int *ret_status)
{
	const char *procedure = r->path[0] == '/' ? r->path + 1 : r->path;
	auto_json json_t *args = NULL;
	struct caller caller;
	struct error err;
	char *refusal;

	if (strcmp(r->method, "POST") != 0 && strcmp(r->method, "PUT") != 0)
		return refuse(400, ret_status,
			      "Only the POST and PUT methods are supported",
			      "");
	if (rpc_find(procedure) == NULL)
		return refuse(404, ret_status, "Unknown procedure ", procedure);
	if (strcmp(procedure, "log_parcel") == 0)
		return hand_on_parcel(n, r, ret_status);
	refusal = read_caller(procedure, r->term, &caller, ret_status);
	if (refusal != NULL)
		return refusal;
	args = parse_args(r, &err);
	if (args == NULL)
		return refuse(400, ret_status, "Bad request: ", err.text);
	return run_in_order(n, procedure, &caller, args, ret_status);
}
