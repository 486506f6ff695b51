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
	struct quorum *q;
	uint64_t to;
	consensus_sent_fn *sent;
	void *arg;
};

/* A node that answers again may have no server that does: on a former master
 * its daemon is not started before the node knows that it is none. */
static void note_answer(const struct parcel *p, bool answers, bool refuses)
{
	struct quorum *q = p->q;
	struct quorum_candidate *c = quorum_candidate_of(q, p->to);
	bool back = c != NULL && answers && c->away;
	uint64_t term;

	if (c != NULL) {
		c->away = !answers;
		c->refuses = refuses;
	}
	if (back && q->config.heard != NULL && quorum_leads(q, &term))
		q->config.heard(q->config.arg);
}

/* The answer to a parcel is [true, null], or with bytes in place of the null,
 * as hexadecimal digits. */
#define ANSWER_BEGIN "[true,\""
#define ANSWER_END "\"]"

char *quorum_answer_text(const void *data, size_t len)
{
	auto_free char *hex = NULL;

	if (data == NULL)
		return xstrdup("[true,null]");
	hex = str_from_bytes(data, len);
	return xprintf(ANSWER_BEGIN "%s" ANSWER_END, hex);
}

/* NULL: there is none. */
static char *read_answer(const char *text, size_t len, size_t *ret_len)
{
	size_t around = strlen(ANSWER_BEGIN) + strlen(ANSWER_END);

	if (text == NULL || !str_starts(text, ANSWER_BEGIN) || len <= around)
		return NULL;
	return str_to_bytes(text + strlen(ANSWER_BEGIN), len - around, ret_len);
}

static void on_reply(void *arg, const char *text, size_t len,
		     const struct error *err)
{
	auto_free struct parcel *p = arg;
	size_t answer_len = 0;
	auto_free char *answer = read_answer(text, len, &answer_len);

	note_answer(p, text != NULL || err->kind == ERR_EXEC,
		    text == NULL && error_is(err, ECODE_SHUT_OUT));
	p->sent(p->arg, text != NULL && str_starts(text, "[true"), answer,
		answer_len);
}

static void cannot_send(void *arg)
{
	auto_free struct parcel *p = arg;

	p->sent(p->arg, false, NULL, 0);
}

void quorum_send(void *arg, uint64_t to, char *data STEALS, size_t len,
		 consensus_sent_fn *sent, void *sent_arg)
{
	struct quorum *q = arg;
	auto_json json_t *node = quorum_node_of(q, to);
	struct parcel *p = xalloc(sizeof(*p));

	*p = (struct parcel){.q = q, .to = to, .sent = sent, .arg = sent_arg};
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
