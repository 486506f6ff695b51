/* SPDX-License-Identifier: BSD-2-Clause */
/* Hooks: build the environment, have the node daemons run the scripts, and
 * judge what they answer.  The nodes know which scripts there are; the master
 * asks all nodes of the phase at once. */
#include "masterd/jobs/hooks.h"

#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/paths.h"
#include "masterd/lu/frame/lu.h"

/* Status of a script in a node's answer. */
#define HOOK_FAILED 1

static const char *const phase_names[] = {
	[HOOKS_PRE] = "pre", [HOOKS_POST] = "post"};

static void add_prefixed(json_t *env, const char *prefix, const json_t *values)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(values), key, value) {
		auto_free char *name = xprintf("GANETI_%s%s", prefix, key);

		json_object_set(env, name, value);
	}
}

/* The variables of all hooks. */
static json_t *common_environment(struct lu *lu, const char *hook_path,
				  enum hooks_phase phase)
{
	struct config *c = lu->m->config;
	json_t *env = json_make(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "PATH",
		"/sbin:/bin:/usr/sbin:/usr/bin", "GANETI_HOOKS_VERSION", "2",
		"GANETI_HOOKS_PHASE", phase_names[phase], "GANETI_HOOKS_PATH",
		hook_path, "GANETI_OP_CODE", lu->class->op->id,
		"GANETI_DATA_DIR", "/var/lib/ganeti", "GANETI_CLUSTER",
		cluster_name(config_cluster(c)), "GANETI_MASTER",
		node_name(config_master(c)));

	if (lu->class->object_type != NULL)
		json_set_str(env, "GANETI_OBJECT_TYPE", lu->class->object_type);
	return env;
}

static json_t *environment(struct lu *lu, enum hooks_phase phase)
{
	auto_json json_t *own = json_object();
	json_t *env = common_environment(lu, lu->class->hook_path, phase);

	if (lu->class->hook_env != NULL)
		lu->class->hook_env(lu, own);
	if (phase == HOOKS_PRE) {
		json_decref(lu->env_before);
		lu->env_before = json_incref(own);
	} else {
		add_prefixed(env, "POST_", own);
	}
	add_prefixed(env, "", lu->env_before);
	return env;
}

/* Those of the nodes that exist, each once and with a reference. */
static struct node_result *targets(struct lu *lu, const struct strv *uuids,
				   size_t *ret_n)
{
	struct node_result *results = node_results_new(uuids->n);
	auto_strv struct strv seen = {0};

	*ret_n = 0;
	for (size_t i = 0; i < uuids->n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, uuids->items[i]);

		if (node == NULL || strv_has(&seen, uuids->items[i]))
			continue;
		strv_add(&seen, uuids->items[i]);
		results[(*ret_n)++].node = json_ref(node);
	}
	return results;
}

static bool is_row(const json_t *row)
{
	const json_t *output = json_array_get(row, 2);

	return json_is_string(json_array_get(row, 0)) &&
	       json_is_integer(json_array_get(row, 1)) &&
	       (json_is_string(output) || json_is_null(output));
}

/* An answer that is no list of [script, status, output] is none. */
static void check_answer(struct node_result *r)
{
	size_t i = 0, n = json_array_size(r->payload);

	while (i < n && is_row(json_array_get(r->payload, i)))
		i++;
	if (r->payload == NULL || (i == n && json_is_array(r->payload)))
		return;
	json_decref(steal(&r->payload));
	r->err = xalloc(sizeof(*r->err));
	error_set(r->err, ERR_RPC, NULL,
		  "it does not say which hooks ran and how they ended");
}

/* Add [node, script, output] for each failed script of one node's answer. */
static void collect_failed(const struct node_result *r, json_t *failed)
{
	for (size_t i = 0; i < json_array_size(r->payload); i++) {
		const json_t *row = json_array_get(r->payload, i);

		if (json_integer_value(json_array_get(row, 1)) != HOOK_FAILED)
			continue;
		json_array_append_new(failed,
				      json_make("[s, O, O]", node_name(r->node),
						json_array_get(row, 0),
						json_array_get(row, 2)));
	}
}

/* Add what failed on that node, or warn that it has not answered. */
static void judge(struct lu *lu, struct node_result *r, json_t *failed)
{
	check_answer(r);
	collect_failed(r, failed);
	if (r->payload == NULL && !r->offline)
		lu_warn(lu, "Communication failure to node %s: %s",
			node_name(r->node), r->err->text);
}

static void warn_failed(struct lu *lu, const json_t *failed)
{
	for (size_t i = 0; i < json_array_size(failed); i++) {
		const json_t *row = json_array_get(failed, i);
		const char *output = json_string_value(json_array_get(row, 2));

		lu_warn(lu, "On %s script %s failed, output: %s",
			json_string_value(json_array_get(row, 0)),
			json_string_value(json_array_get(row, 1)),
			output == NULL || *output == '\0' ? "(no output)"
							  : output);
	}
}

/* Ask all nodes; the failed scripts as a list, results to be freed. */
static WAITS json_t *ask(struct lu *lu, enum hooks_phase phase,
			 struct node_result **ret_results, size_t *ret_n)
{
	auto_strv struct strv before = {0};
	json_t *failed = json_array();

	/* Those for afterwards are chosen now as well, so that hooks run also
	 * on nodes which the object leaves. */
	if (phase == HOOKS_PRE)
		lu->class->hook_nodes(lu, &before, &lu->hooks_after);
	*ret_results = targets(
		lu, phase == HOOKS_PRE ? &before : &lu->hooks_after, ret_n);
	noderpc_call_many(lu->m->rpc, *ret_results, *ret_n,
			  rpc_hooks_runner(lu->class->hook_path,
					   phase_names[phase],
					   environment(lu, phase)));
	for (size_t i = 0; i < *ret_n; i++)
		judge(lu, &(*ret_results)[i], failed);
	return failed;
}

/* The failed scripts with at most max bytes of the output of each. */
static json_t *shortened(const json_t *failed, size_t max)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(failed); i++) {
		const json_t *row = json_array_get(failed, i);
		const char *output = json_string_value(json_array_get(row, 2));
		size_t len = output == NULL ? 0 : strnlen(output, max);

		while (len == max && len > 0 && (output[len] & 0xc0) == 0x80)
			len--; /* do not cut a character */
		json_array_append_new(
			list, json_make("[O, O, s%]", json_array_get(row, 0),
					json_array_get(row, 1),
					output == NULL ? "" : output, len));
	}
	return list;
}

/* The list as JSON, short enough for an error; *ret_cut when outputs were cut.
 * Clients parse the list, so it must be complete JSON. */
static char *fitting_text(const json_t *failed, bool *ret_cut)
{
	auto_json json_t *list = json_ref(failed);
	size_t max = ERROR_TEXT_MAX;

	for (*ret_cut = false;; *ret_cut = true) {
		char *text = json_text(list);

		if (strlen(text) < ERROR_TEXT_MAX)
			return text;
		free(text);
		if (max > 0) {
			max /= 2;
			json_decref(list);
			list = shortened(failed, max);
		} else {
			json_array_remove(list, json_array_size(list) - 1);
		}
	}
}

int hooks_run(struct lu *lu, enum hooks_phase phase, struct error *err)
{
	auto_json json_t *failed = NULL;
	struct node_result *results;
	auto_free char *text = NULL;
	size_t n;
	bool cut;

	if (lu->class->hook_path == NULL)
		return 0;
	failed = ask(lu, phase, &results, &n);
	node_results_free(results, n);
	if (json_array_size(failed) == 0)
		return 0;
	text = fitting_text(failed, &cut);
	if (cut) /* the job's log has all of it */
		warn_failed(lu, failed);
	return error_set(err, ERR_HOOKS_ABORT, NULL, "%s", text);
}

void hooks_run_post(struct lu *lu, json_t **result)
{
	auto_json json_t *failed = NULL;
	struct node_result *results;
	size_t n;

	if (lu->class->hook_path == NULL)
		return;
	failed = ask(lu, HOOKS_POST, &results, &n);
	if (lu->class->hooks_done != NULL)
		lu->class->hooks_done(lu, results, n, result);
	else
		warn_failed(lu, failed);
	node_results_free(results, n);
}

/* --- config-update --- */

#define CONFIG_UPDATE "config-update"

/* These hooks run on this machine: if it has none, do not call the node
 * daemon. */
static bool has_config_update(const struct master *m)
{
	auto_free char *folder = xprintf("%s/" CONFIG_UPDATE "-post.d",
					 path(m->paths, PATH_HOOKS_DIR));

	return fs_is_dir(folder);
}

void hooks_run_config_update(struct lu *lu)
{
	auto_json json_t *failed = json_array();
	struct node_result *result;
	json_t *env;

	if (!has_config_update(lu->m))
		return;
	env = common_environment(lu, CONFIG_UPDATE, HOOKS_POST);
	add_prefixed(env, "", lu->env_before);
	result = node_results_new(1);
	result->node = json_ref(config_master(lu->m->config));
	noderpc_call_many(
		lu->m->rpc, result, 1,
		rpc_hooks_runner(CONFIG_UPDATE, phase_names[HOOKS_POST], env));
	judge(lu, result, failed);
	warn_failed(lu, failed);
	node_results_free(result, 1);
}
