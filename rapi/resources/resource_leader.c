/* SPDX-License-Identifier: BSD-2-Clause */
/* Which node is the master, and making another one the master.  These are asked
 * of the master daemon of this node, whichever role it has. */
#include "lib/json/json.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

json_t *resource_leader(struct request *q, struct error *err)
{
	return request_relay(q, "Leader", json_array(), err);
}

/* {"node": NAME}; without it this node. */
json_t *resource_failover(struct request *q, struct error *err)
{
	const json_t *node = json_get(q->body, "node");

	if (q->body != NULL &&
	    request_check_dict(q->body, "Body contents", err) < 0)
		return NULL;
	if (json_object_size(q->body) > (node != NULL) ||
	    (node != NULL && !json_is_string(node))) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "The body has the name of a node, as 'node', and "
			  "nothing else");
		return NULL;
	}
	return request_relay(q, "TakeOver",
			     json_make("[o]", json_ref(node) ?: json_null()),
			     err);
}
