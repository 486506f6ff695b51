/* SPDX-License-Identifier: BSD-2-Clause */
/* https_post() for tasks, which can wait. */
#include <string.h>

#include "lib/base/mem.h"
#include "lib/event/https_client.h"
#include "lib/event/task.h"

/* A task that waits for its reply; it stands on the task's stack. */
struct reply {
	struct cond changed;
	bool done;
	int status;
	char *body;
	size_t len;
	struct error *err;
};

static void on_waited(void *arg, int status, const char *body, size_t len,
		      const struct error *err)
{
	struct reply *reply = arg;

	reply->done = true;
	reply->status = status;
	if (err != NULL) {
		*reply->err = *err;
	} else {
		reply->body = xalloc(len + 1);
		memcpy(reply->body, body, len);
		reply->len = len;
	}
	cond_signal(&reply->changed);
}

int https_post_wait(struct https_client *c, const struct https_post *post,
		    char *body STEALS, size_t len, int *ret_status,
		    char **ret_body, size_t *ret_len, struct error *err)
{
	struct reply reply = {.err = err};

	cond_init(&reply.changed);
	https_post(c, post, body, len, on_waited, &reply);
	while (!reply.done)
		cond_wait(&reply.changed);
	if (reply.body == NULL)
		return -1;
	*ret_status = reply.status;
	*ret_body = reply.body;
	if (ret_len != NULL)
		*ret_len = reply.len;
	return 0;
}
