/* SPDX-License-Identifier: BSD-2-Clause */
/* What servers send each other, as node calls: the node daemon there hands it
 * to its master daemon, and starts one that stands by if there is none. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/rpc/rpc.h"
#include "masterd/quorum/quorum_private.h"

/* A parcel that takes longer counts as lost. */
#define PARCEL_MS 5000u

/* A parcel on its way. */
struct parcel {
	void (*sent)(void *arg, bool arrived);
	void *arg;
};

static void on_reply(void *arg, const char *text, size_t len,
		     const struct error *err)
{
	auto_free struct parcel *p = arg;

	(void)len;
	(void)err;
	p->sent(p->arg, text != NULL && str_starts(text, "[true"));
}

static void cannot_send(void *arg)
{
	auto_free struct parcel *p = arg;

	p->sent(p->arg, false);
}

void quorum_send(void *arg, uint64_t to, char *data STEALS, size_t len,
		 void (*sent)(void *sent_arg, bool arrived), void *sent_arg)
{
	struct quorum *q = arg;
	auto_json json_t *node = quorum_node_of(q, to);
	struct parcel *p = xalloc(sizeof(*p));

	*p = (struct parcel){.sent = sent, .arg = sent_arg};
	if (node == NULL) {
		free(data);
		task_spawn("unknown server", cannot_send, p);
		return;
	}
	noderpc_pass(q->rpc, &(struct noderpc_call){
				     .node_name = node_name(node),
				     .address = node_primary_ip(node),
				     .procedure = "log_parcel",
				     .body = data,
				     .len = len,
				     .timeout_ms = PARCEL_MS,
				     .on_reply = on_reply,
				     .arg = p,
			     });
}

json_t *quorum_give_order(struct quorum *q, const json_t *node,
			  json_t *order STEALS, unsigned timeout_ms,
			  struct error *err)
{
	return noderpc_call(q->rpc, node,
			    rpc_within(rpc_log_order(order), timeout_ms), err);
}
