/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls in a plan.  Calls that only look at a node are made.  All others
 * are recorded, and answered as by a node where everything succeeds.  What
 * later calls would see of their effect is made up as well, as far as logical
 * units ask for it. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/jobs/job_plan_private.h"

/* Calls that change something and whose answer is read, with a made-up answer
 * (NULL: it cannot be made up).  All other calls that change something get an
 * empty answer of the call's kind. */
static const struct answer {
	const char *procedure;
	const char *payload;
} answers[] = {
	{"blockdev_assemble", "[\"(planned)\", \"(planned)\", null]"},
	{"drbd_wait_sync", "[true, 100.0]"},
	{"blockdev_snapshot", NULL},
	{"export_start", NULL},
	{"impexp_status", NULL},
	{"import_start", NULL},
	{"restricted_command", NULL},
	{"run_oob", NULL},
	{"x509_cert_create", NULL},
};

/* Disks that the plan has changed are taken for healthy. */
#define DISK_STATUS                                                            \
	"{\"dev_path\": \"(planned)\", \"major\": 0, \"minor\": 0, "           \
	"\"sync_percent\": null, \"estimated_time\": null, "                   \
	"\"is_degraded\": false, \"ldisk_status\": 1}"

/* node_crypto_tokens: each token is only read. */
static bool only_gets(const json_t *tokens)
{
	size_t i;
	json_t *token;

	json_array_foreach (tokens, i, token)
		if (!str_eq(json_string_value(json_array_get(token, 1)), "get"))
			return false;
	return true;
}

static bool looks(const char *procedure, const json_t *args)
{
	if (strcmp(procedure, "node_crypto_tokens") == 0)
		return only_gets(json_array_get(args, 0));
	return rpc_only_looks(procedure);
}

/* --- what has changed --- */

static char *running_key(const struct noderpc_call *call, const json_t *args)
{
	const json_t *instance = json_array_get(args, 0);
	const char *name = json_is_string(instance)
				   ? json_string_value(instance)
				   : inst_name(instance);

	return xprintf("%s %s", call->node_name, name);
}

static void set_running(struct job_plan *p, const struct noderpc_call *call,
			const json_t *args, bool running)
{
	auto_free char *key = running_key(call, args);

	json_set_bool(p->running, key, running);
}

static bool flag(const json_t *args, size_t i)
{
	return json_is_true(json_array_get(args, i));
}

static void note_effect(struct job_plan *p, const struct noderpc_call *call,
			const json_t *args)
{
	const char *what = call->procedure;

	if (strcmp(what, "instance_start") == 0)
		set_running(p, call, args, true);
	else if (strcmp(what, "instance_shutdown") == 0)
		set_running(p, call, args, false);
	else if (strcmp(what, "instance_finalize_migration_src") == 0)
		set_running(p, call, args, !flag(args, 1));
	else if (strcmp(what, "instance_finalize_migration_dst") == 0)
		set_running(p, call, args, flag(args, 2));
	else if (strncmp(what, "blockdev_", strlen("blockdev_")) == 0 ||
		 strncmp(what, "drbd_", strlen("drbd_")) == 0)
		p->disks_changed = true;
}

/* --- answers --- */

static void reply(const struct noderpc_call *call, bool ok, const char *payload)
{
	auto_free char *text =
		xprintf("[%s, %s]", ok ? "true" : "false", payload);

	call->on_reply(call->arg, text, strlen(text), NULL);
}

/* The state of each disk in the arguments. */
static char *mirrors(const json_t *disks)
{
	struct buf b = {0};

	buf_addc(&b, '[');
	for (size_t i = 0; i < json_array_size(disks); i++)
		buf_addf(&b, "%s%s", i > 0 ? ", " : "", DISK_STATUS);
	buf_addc(&b, ']');
	return buf_steal(&b);
}

/* The answer of a node about something that a recorded call has changed; NULL:
 * nothing was changed, ask the node. */
static char *changed_answer(const struct job_plan *p,
			    const struct noderpc_call *call, const json_t *args)
{
	const char *what = call->procedure;
	auto_free char *key = running_key(call, args);
	const json_t *running = json_get(p->running, key);

	if (strcmp(what, "instance_get_migration_status") == 0)
		return xstrdup("{\"status\": \"completed\"}");
	if (strcmp(what, "instance_info") == 0 && running != NULL)
		return xstrdup(json_is_true(running)
				       ? "{\"state\": \"running\"}"
				       : "{}");
	if (!p->disks_changed)
		return NULL;
	if (strcmp(what, "blockdev_find") == 0)
		return xstrdup(DISK_STATUS);
	if (strcmp(what, "blockdev_getmirrorstatus") == 0)
		return mirrors(json_array_get(args, 0));
	return NULL;
}

static void look(struct job_plan *p, const struct noderpc_call *call,
		 const json_t *args)
{
	auto_free char *made_up = changed_answer(p, call, args);

	if (made_up == NULL) {
		job_plan_note_call(p, call, args, true);
		noderpc_pass(p->real->rpc, call); /* frees the body */
		return;
	}
	reply(call, true, made_up);
	free(call->body);
}

static const struct answer *empty_answer(enum rpc_kind kind)
{
	static const struct answer list = {"", "[]"}, object = {"", "{}"},
				   yes = {"", "true"}, nothing = {"", "null"};

	switch (kind) {
	case RPC_LIST:
		return &list;
	case RPC_OBJECT:
		return &object;
	case RPC_BOOL:
		return &yes;
	default:
		return &nothing;
	}
}

static const struct answer *find_answer(const char *procedure)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (strcmp(answers[i].procedure, procedure) == 0)
			return &answers[i];
	return empty_answer(rpc_find(procedure)->answer);
}

static void record(struct job_plan *p, const struct noderpc_call *call,
		   const json_t *args)
{
	const struct answer *answer = find_answer(call->procedure);

	job_plan_note_call(p, call, args, false);
	note_effect(p, call, args);
	if (answer->payload == NULL && p->unknown == NULL)
		p->unknown = xprintf("%s on node %s", call->procedure,
				     call->node_name);
	if (answer->payload == NULL)
		reply(call, false, "\"a plan cannot know its answer\"");
	else
		reply(call, true, answer->payload);
	free(call->body);
}

void job_plan_send(void *arg, const struct noderpc_call *call)
{
	struct job_plan *p = arg;
	struct error ignored;
	auto_json json_t *args = json_parse(call->body, call->len, &ignored);

	if (looks(call->procedure, args))
		look(p, call, args);
	else
		record(p, call, args);
}
