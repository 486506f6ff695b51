/* SPDX-License-Identifier: BSD-2-Clause */
/* A line in the access log for each; in the daemon's log one a minute for each
 * address.  What stands behind the path may be a ticket and is left out. */
#include "rapi/refusals.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "rapi/frame/reply.h"
#include "rapi/rapi.h"

static void note(struct rapi *r, const struct https_refusal *refusal,
		 const char *answer)
{
	auto_free char *path =
		refusal->target == NULL
			? NULL
			: xstrndup(refusal->target,
				   strcspn(refusal->target, "?"));
	unsigned left_out = 0;

	access_log_write(&r->log,
			 &(struct access_line){
				 .address = refusal->peer_ip,
				 .method = refusal->method,
				 .target = path,
				 .version = refusal->version,
				 .status = refusal->status,
				 .bytes = answer == NULL ? 0 : strlen(answer)});
	if (log_rate_due(&r->refusals, refusal->peer_ip, &left_out))
		log_info("refused a request of %s (%d): %s; and %u others "
			 "before",
			 refusal->peer_ip, refusal->status, refusal->why,
			 left_out);
}

char *refusals_word(void *rapi, const struct https_refusal *refusal,
		    const char **ret_type)
{
	struct rapi *r = rapi;
	char *text = reply_error_text(refusal->status, refusal->why);

	note(r, refusal, text);
	record_write(&r->record,
		     &(struct record_entry){.address = refusal->peer_ip,
					    .method = refusal->method,
					    .target = refusal->target,
					    .begin_us = clock_mono_us(),
					    .status = refusal->status,
					    .answer = text});
	*ret_type = REPLY_TYPE;
	return text;
}

void refusals_tell(void *rapi, const struct https_refusal *refusal)
{
	note(rapi, refusal, NULL);
}
