/* SPDX-License-Identifier: BSD-2-Clause */
#include "noded/answer.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
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

static char *run(struct noded *n, const char *procedure, const json_t *args)
{
	struct call c = {.n = n,
			 .paths = n->paths,
			 .procedure = procedure,
			 .args = args};
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

char *answer_request(struct noded *n, const char *method, const char *path,
		     const char *body, size_t len, int *ret_status)
{
	const char *procedure = path[0] == '/' ? path + 1 : path;
	auto_json json_t *args = NULL;
	struct error err;

	if (strcmp(method, "POST") != 0 && strcmp(method, "PUT") != 0)
		return refuse(400, ret_status,
			      "Only the POST and PUT methods are supported",
			      "");
	if (!calls_known(procedure))
		return refuse(404, ret_status, "Unknown procedure ", procedure);
	args = len == 0 ? json_array()
			: json_parse_within(body, len, NODED_PARSED_MAX, &err);
	if (args == NULL)
		return refuse(400, ret_status, "Bad request: ", err.text);
	if (!json_is_array(args) && !json_is_object(args))
		return refuse(400, ret_status,
			      "Bad request: the body must be a list of "
			      "arguments",
			      "");
	*ret_status = 200;
	return run(n, procedure, args);
}
