/* SPDX-License-Identifier: BSD-2-Clause */
/* The resources: functions that routes.def names, as request.h describes
 * them. */
#ifndef RAPI_RESOURCE_H
#define RAPI_RESOURCE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/mem.h"

struct error;
struct request;

/* Objects of which there is a list and, by name, each one. */
struct resource_kind {
	const char *what;	   /* to the call Query */
	const char *call;	   /* of LUXI, with names, fields and locking */
	const char *const *fields; /* ends with NULL */
	const char *name_field;
	const char *id;	     /* what a short list calls the name */
	const char *path;    /* before the name */
	bool all_is_null;    /* null stands for all names, not [] */
	bool locks;	     /* the call has a third argument */
	const char *same[2]; /* the second is another name of the first */
	bool has_memory;     /* beparams get "memory" */

	/* Of lists that are always shaped: */
	int64_t page;	    /* so many without a limit; 0: all */
	const char *always; /* a field that is always asked for */
	/* Narrow the filter (NULL: none) by arguments of its own. */
	int (*narrow)(const struct request *q, json_t **qfilter,
		      struct error *err);
};

extern const struct resource_kind resource_kind_instance, resource_kind_node,
	resource_kind_group, resource_kind_network, resource_kind_job,
	resource_kind_filter, resource_kind_history;

/* The answer's JSON, to be freed; NULL with err. */
#define RESOURCE(name) json_t *name(struct request *q, struct error *err)

/* Without the master. */
RESOURCE(resource_null);
RESOURCE(resource_version);
RESOURCE(resource_features);

/* What the master tells of the cluster and its objects: resource_query.c. */
RESOURCE(resource_info);
RESOURCE(resource_list);
RESOURCE(resource_one);
RESOURCE(resource_tags);
RESOURCE(resource_console);
RESOURCE(resource_node_role);
RESOURCE(resource_resources);
RESOURCE(resource_query);
RESOURCE(resource_query_filtered);
RESOURCE(resource_query_fields);

/* Lists of what is asked for, with filter, fields, sort, limit or after among
 * the arguments: resource_shape.c. */
bool resource_is_shaped(const struct request *q);
json_t *resource_shaped_list(struct request *q, bool bulk, struct error *err);
/* Whether the request is answered with all that is known of many objects. */
bool resource_is_long(const struct request *q);

/* Of jobs, and what a job has to tell: resource_jobs.c. */
RESOURCE(resource_job_status);
RESOURCE(resource_job_cancel);
RESOURCE(resource_job_wait);
RESOURCE(resource_job_why);
RESOURCE(resource_job_log);
RESOURCE(resource_job_plan);
RESOURCE(resource_os);

/* The history of jobs, and the check of its archive: resource_history.c. */
RESOURCE(resource_history);
RESOURCE(resource_history_verify);

/* Submit a job of the route's opcode, or of several: its id. */
RESOURCE(resource_submit);
RESOURCE(resource_reinstall);

/* Wait q->wait_s for the end of the job with this id: the job; or, when it has
 * not ended by then, the id, with the status 202 and the way to the job. */
json_t *resource_job_end(struct request *q, const json_t *id,
			 struct error *err);

/* Who is the master, and another one: resource_leader.c. */
RESOURCE(resource_leader);
RESOURCE(resource_failover);

/* Tokens and sessions: resource_tokens.c. */
RESOURCE(resource_tokens);
RESOURCE(resource_token_add);
RESOURCE(resource_token_remove);
RESOURCE(resource_session_begin);
RESOURCE(resource_session_end);

/* Of streams: how those who do not come to it are told; never called for
 * others. */
RESOURCE(resource_events);

/* Where instances would be placed, without a job: resource_placement.c. */
RESOURCE(resource_placement);

/* What hspace and hbal compute; the latter also as jobs: resource_capacity.c,
 * resource_balance.c. */
RESOURCE(resource_capacity);
RESOURCE(resource_balance);
RESOURCE(resource_balance_run);

/* The wanted state of an instance: resource_wanted.c. */
RESOURCE(resource_wanted);

/* A ticket for the console of an instance, and the way to it:
 * resource_console.c. */
RESOURCE(resource_console_ticket);
RESOURCE(resource_console_ws);

/* Figures of the last day: resource_samples.c. */
RESOURCE(resource_samples);

/* For probes, monitoring and tools. */
RESOURCE(resource_alive);
RESOURCE(resource_ready);
RESOURCE(resource_metrics);
RESOURCE(resource_openapi);

/* Filters of jobs: resource_filters.c. */
RESOURCE(resource_filter_add);
RESOURCE(resource_filter_replace);
RESOURCE(resource_filter_delete);

/* The parameters of an opcode that the body gives in a form of its own; to be
 * freed: resource_input.c. */
RESOURCE(input_node_role);
RESOURCE(input_node_migrate);
RESOURCE(input_storage_changes);
RESOURCE(input_instance_create);
RESOURCE(input_multi_alloc);
RESOURCE(input_usb_devices);
RESOURCE(input_replace_disks);

#endif
