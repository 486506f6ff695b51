/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to https_server.c (MHD daemons on the loop) and https_call.c (the
 * requests on them). */
#ifndef EVENT_HTTPS_INTERNAL_H
#define EVENT_HTTPS_INTERNAL_H

#include <microhttpd.h>
#include <uv.h>

#include "lib/base/list.h"
#include "lib/event/https_server.h"
#include "lib/event/timer.h"

struct https_server {
	struct https_server_config config;
	int listen_fd, port;
	struct https_instance *current;
	struct list instances;
	struct list waiting; /* calls whose turn has not come */
	unsigned running;    /* calls in their handler */
	unsigned busy;	     /* read, and not yet answered to the end */
	uint64_t accepted;
	bool closing;
	struct timer linger;
	void (*done)(void *arg);
	void *done_arg;
};

/* One MHD daemon. */
struct https_instance {
	struct list link;
	struct https_server *server;
	struct MHD_Daemon *mhd;
	uv_poll_t poll;
	uv_timer_t timer;
	uv_idle_t idle;
	struct list handled; /* calls to be resumed */
	bool retired;
	int to_close;
};

/* Let MHD work as soon as possible, after resuming what was handled. */
void https_instance_wake(struct https_instance *i);

/* MHD's callbacks; arg is the instance.  A new and a closed connection: */
void https_on_connection(void *arg, struct MHD_Connection *connection,
			 void **context,
			 enum MHD_ConnectionNotificationCode code);

/* The headers of a request have come, each piece of its body, its end, and
 * after the connection was resumed. */
enum MHD_Result https_on_access(void *arg, struct MHD_Connection *connection,
				const char *path, const char *method,
				const char *version, const char *data,
				size_t *len, void **call);

/* The request is over, however it ended. */
void https_on_completed(void *arg, struct MHD_Connection *connection,
			void **call, enum MHD_RequestTerminationCode code);

/* Let the connections go on whose calls are handled. */
void https_resume_handled(struct https_instance *i);

/* Answer those whose turn has not come: the server ends. */
void https_refuse_waiting(struct https_server *s);

#endif
