/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of the last day, for plots. */
#include "lib/json/json.h"
#include "rapi/figures/samples.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

json_t *resource_samples(struct request *q, struct error *err)
{
	const char *text = args_get(&q->args, "name");
	auto_json json_t *names = NULL;
	int64_t since;

	if (args_int(&q->args, "since", 0, &since, err) < 0)
		return NULL;
	if (since < 0) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "since is a time, in seconds since 1970");
		return NULL;
	}
	if (q->samples == NULL) {
		error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
			  "There are no samples here");
		return NULL;
	}
	if (text == NULL)
		return samples_names(q->samples);
	names = request_words(text);
	return samples_get(q->samples, names, since);
}
