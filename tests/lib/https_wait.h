/* SPDX-License-Identifier: BSD-2-Clause */
/* https_post() for tasks of tests, which can wait. */
#ifndef TESTS_LIB_HTTPS_WAIT_H
#define TESTS_LIB_HTTPS_WAIT_H

#include <string.h>

#include "lib/base/mem.h"
#include "lib/event/https_client.h"
#include "lib/event/task.h"

/* A task that waits for its reply; it stands on the task's stack. */
struct https_reply {
	struct cond changed;
	bool done;
	int status;
	char *body;
	size_t len;
	struct error *err;
};

static inline void https_on_waited(void *arg, int status, const char *body,
				   size_t len, const struct error *err)
{
	struct https_reply *reply = arg;

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

/* 0 with *ret_body (ret_len bytes and a NUL, to be freed), or -1. */
static inline WAITS int https_post_wait(struct https_client *c,
					const struct https_post *post,
					char *body STEALS, size_t len,
					int *ret_status, char **ret_body,
					size_t *ret_len, struct error *err)
{
	struct https_reply reply = {.err = err};

	cond_init(&reply.changed);
	https_post(c, post, body, len, https_on_waited, &reply);
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

#endif
