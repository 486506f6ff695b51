/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the master: who it is, its address, its daemon. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/content.h"
#include "lib/model/files/term.h"
#include "noded/calls/calls.h"
#include "noded/core/host.h"
#include "noded/core/noded.h"
#include "noded/core/relay.h"
#include "noded/scripts/hooks.h"
#include "noded/scripts/script.h"

#define IP_TIMEOUT_MS 30000
#define MASTER_IP_SCRIPT "/etc/ganeti/scripts/master-ip-setup"
#define MASTERD "gantry-masterd"
/* The limit for its start, a little less than the call's.  A master waits up to
 * a minute for votes, and reads a queue of 100,000 jobs. */
#define MASTERD_START_TIMEOUT_MS 280000
#define MASTERD_STOP_TIMEOUT_US 60000000
#define MASTERD_POLL_MS 20

json_t *call_master_node_name(struct call *c, struct error *err)
{
	auto_free char *name = ssconf_read(c->paths, "master_node");

	if (name != NULL)
		return json_string(name);
	error_set(err, ERR_EXEC, ECODE_STATE,
		  "This node does not belong to a cluster: it has no "
		  "ssconf_master_node");
	return NULL;
}

/* --- who is master (doc/design/failover.md) --- */

#define CONFIG_MAX (256u * 1024 * 1024)

WAITS json_t *call_master_state(struct call *c, struct error *err)
{
	struct candidate *cand = &c->n->candidate;
	auto_free char *master =
		ssconf_read_on(cand->disk, c->paths, "master_node");

	return candidate_state(cand, master, c->n->masterd_runs(c->n), err);
}

WAITS json_t *call_config_read(struct call *c, struct error *err)
{
	struct disk *disk = c->n->candidate.disk;
	auto_free char *text = NULL;
	json_t *content = NULL;
	size_t len = 0;

	task_leave(); /* the paths never change */
	text = disk->read(disk, path(c->paths, PATH_CONFIG_DATA), CONFIG_MAX,
			  &len, err);
	if (text != NULL)
		content = content_pack(text, len);
	task_enter();
	return content;
}

/* An order to the server of the log on this node. */
WAITS json_t *call_log_order(struct call *c,
			     const struct rpc_args_log_order *args,
			     struct error *err)
{
	auto_free char *order = json_text(args->order);
	auto_free char *text =
		c->n->relay(c->n, LOG_KIND_ORDER, order, strlen(order), err);
	auto_json json_t *answer = NULL;

	if (text == NULL)
		return NULL;
	answer = json_parse(text, strlen(text), err);
	if (json_is_true(json_array_get(answer, 0)))
		return json_ref(json_array_get(answer, 1));
	if (answer != NULL)
		error_set(err, ERR_EXEC, ECODE_STATE, "%s",
			  json_string_value(json_array_get(answer, 1)));
	return NULL;
}

/* Parcels do not come this way: their body is no JSON (noded/access). */
json_t *call_log_parcel(struct call *c, struct error *err)
{
	error_set(err, ERR_REQUEST, NULL, "Call %s takes a parcel of the log",
		  c->procedure);
	return NULL;
}

/* --- the master's address --- */

struct master_ip {
	const char *ip, *netdev;
	int64_t netmask, family;
};

static int read_master_ip(const struct call *c, const json_t *params,
			  struct master_ip *ret, struct error *err)
{
	ret->ip = json_str(params, "ip", "");
	ret->netdev = json_str(params, "netdev", "");
	ret->netmask = json_int(params, "netmask", 32);
	ret->family = json_int(params, "ip_family", 2);
	if (*ret->ip != '\0' && *ret->ip != '-' &&
	    str_valid_filename(ret->netdev))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "Call %s needs the master's ip and netdev",
			 c->procedure);
}

/* Run the site's own script: "start" or "stop", with the values in its
 * environment. */
static WAITS int run_site_script(const struct call *c,
				 const struct master_ip *m, const char *action,
				 struct error *err)
{
	auto_free char *script = paths_local(c->paths, MASTER_IP_SCRIPT);
	const char *const argv[] = {script, action, NULL};
	auto_strv struct strv env = {0};
	auto_proc struct proc_result result = {0};
	auto_free char *output = NULL, *ending = NULL;
	struct proc_spec spec;

	script_env(&env, "PATH", SCRIPT_PATH);
	script_env(&env, "MASTER_NETDEV", m->netdev);
	script_env(&env, "MASTER_IP", m->ip);
	strv_addf(&env, "MASTER_NETMASK=%" PRId64, m->netmask);
	strv_addf(&env, "CLUSTER_IP_VERSION=%d", m->family == 10 ? 6 : 4);
	spec = (struct proc_spec){
		.argv = argv,
		.env = (const char *const *)env.items,
		.timeout_ms = IP_TIMEOUT_MS,
		.merge_stderr = true,
	};
	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (proc_succeeded(&result))
		return 0;
	output = script_text(result.out, result.out_len, true);
	ending = script_ending(&result);
	return error_set(err, ERR_EXEC, NULL,
			 "Master IP script failed (%s): %s", ending, output);
}

static WAITS int change_address(const struct master_ip *m, const char *action,
				int64_t netmask, struct error *err)
{
	auto_free char *address = xprintf("%s/%" PRId64, m->ip, netmask);
	auto_free char *label = xprintf("%s:0", m->netdev);
	const char *const argv[] = {"ip",    "address", action,
				    address, "dev",	m->netdev,
				    "label", label,	NULL};
	const char *const argv6[] = {"ip",  "address", action, address,
				     "dev", m->netdev, NULL};

	return proc_check(m->family == 10 ? argv6 : argv, IP_TIMEOUT_MS, err);
}

/* --- hooks around it --- */

/* Run the hooks of this node; only the master's node runs them. */
static json_t *hook_values(const struct call *c, const struct master_ip *m,
			   const char *hpath, bool up, bool post)
{
	auto_free char *cluster = ssconf_read(c->paths, "cluster_name");
	auto_free char *master = ssconf_read(c->paths, "master_node");
	auto_free char *netmask = xprintf("%" PRId64, m->netmask);
	const char *const own[][2] = {
		{"MASTER_NETDEV", m->netdev},
		{"MASTER_IP", m->ip},
		{"MASTER_NETMASK", netmask},
		{"CLUSTER_IP_VERSION", m->family == 10 ? "6" : "4"}};
	json_t *values = json_make(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "GANETI_HOOKS_VERSION",
		"2", "GANETI_HOOKS_PHASE", post ? "post" : "pre",
		"GANETI_HOOKS_PATH", hpath, "GANETI_OP_CODE",
		up ? "OP_CLUSTER_IP_TURNUP" : "OP_CLUSTER_IP_TURNDOWN",
		"GANETI_DATA_DIR", "/var/lib/ganeti", "GANETI_CLUSTER",
		cluster == NULL ? "" : cluster, "GANETI_MASTER",
		master == NULL ? "" : master);

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		auto_free char *name = xprintf("GANETI_%s", own[i][0]);
		auto_free char *after = xprintf("GANETI_POST_%s", own[i][0]);

		json_set_str(values, name, own[i][1]);
		if (post)
			json_set_str(values, after, own[i][1]);
	}
	return values;
}

/* A pre hook that fails stops the operation; a post hook that fails is only
 * noted. */
static WAITS int address_hooks(const struct call *c, const struct master_ip *m,
			       bool up, bool post, struct error *err)
{
	const char *hpath = up ? "master-ip-turnup" : "master-ip-turndown";
	auto_json json_t *values = hook_values(c, m, hpath, up, post);
	auto_json json_t *results = hooks_run_scripts(
		c->paths, hpath, post ? "post" : "pre", values, err);

	for (size_t i = 0; i < json_array_size(results); i++) {
		const json_t *row = json_array_get(results, i);
		const char *script = json_string_value(json_array_get(row, 0));
		const char *output = json_string_value(json_array_get(row, 2));

		if (json_integer_value(json_array_get(row, 1)) != HOOK_FAILED)
			continue;
		if (!post)
			return error_set(err, ERR_EXEC, NULL,
					 "Hook %s failed, output: %s", script,
					 output);
		log_warning("Hook %s failed, output: %s, ignoring", script,
			    output);
	}
	return results == NULL ? -1 : 0;
}

/* --- up and down --- */

/* The address is up also when nobody was told: neighbours ask after a while. */
static WAITS void announce(const struct master_ip *m)
{
	struct error err;

	if (host_announce(m->ip, m->netdev, &err) < 0)
		log_warning("%s; neighbours may look for the master's address "
			    "at another host for some minutes",
			    err.text);
}

static WAITS int set_address(struct call *c, const struct master_ip *m,
			     bool own_script, bool up, struct error *err)
{
	if (noded_is_virtual(c->n))
		return 0; /* in a virtual cluster it is no interface's */
	if (own_script)
		return run_site_script(c, m, up ? "start" : "stop", err);
	if (host_has_address(c->n, m->ip) == up)
		return 0;
	if (change_address(m, up ? "add" : "del", m->netmask, err) < 0)
		return -1;
	if (up)
		announce(m);
	return 0;
}

static WAITS int turn_now(struct call *c, const struct master_ip *m,
			  bool own_script, bool up, struct error *err)
{
	if (address_hooks(c, m, up, false, err) < 0 ||
	    calls_in_force(c, err) < 0 ||
	    set_address(c, m, own_script, up, err) < 0)
		return -1;
	return address_hooks(c, m, up, true, err);
}

/* One call after the other: an address that hooks delay would come up behind
 * the call that takes it down. */
static WAITS json_t *turn(struct call *c, const json_t *params, bool own_script,
			  bool up, struct error *err)
{
	struct noded *n = c->n;
	struct master_ip m = {0};
	int rc;

	if (read_master_ip(c, params, &m, err) < 0)
		return NULL;
	while (n->master_ip.turning)
		cond_wait(&n->master_ip.turned);
	n->master_ip.turning = true;
	rc = turn_now(c, &m, own_script, up, err);
	n->master_ip.turning = false;
	cond_signal(&n->master_ip.turned);
	return rc < 0 ? NULL : json_null();
}

WAITS json_t *call_node_activate_master_ip(
	struct call *c, const struct rpc_args_node_activate_master_ip *args,
	struct error *err)
{
	return turn(c, args->parameters, args->own_script, true, err);
}

WAITS json_t *call_node_deactivate_master_ip(
	struct call *c, const struct rpc_args_node_deactivate_master_ip *args,
	struct error *err)
{
	return turn(c, args->parameters, args->own_script, false, err);
}

WAITS json_t *call_node_change_master_netmask(
	struct call *c, const struct rpc_args_node_change_master_netmask *args,
	struct error *err)
{
	struct master_ip m = {
		.ip = args->ip,
		.netdev = args->netdev,
		.netmask = args->to,
		.family = strchr(args->ip, ':') != NULL ? 10 : 2,
	};

	if (noded_is_virtual(c->n) || args->from == args->to)
		return json_null();
	if (!host_has_address(c->n, m.ip)) {
		error_set(err, ERR_EXEC, ECODE_STATE,
			  "The master IP address %s is not up on this node",
			  m.ip);
		return NULL;
	}
	if (change_address(&m, "add", args->to, err) < 0 ||
	    change_address(&m, "del", args->from, err) < 0)
		return NULL;
	return json_null();
}

/* --- the master daemon --- */

/* The master daemon goes to the background by itself when it is ready. */
WAITS json_t *call_node_start_master_daemons(
	struct call *c, const struct rpc_args_node_start_master_daemons *args,
	struct error *err)
{
	auto_free char *program = NULL;
	const char *argv[] = {NULL, NULL, NULL, NULL};

	if (fs_read_pid(path(c->paths, PATH_MASTERD_PID)) > 0)
		return json_null();
	program = noded_find_program(MASTERD, err);
	if (program == NULL)
		return NULL;
	argv[0] = program;
	if (args->no_voting) {
		argv[1] = "--no-voting";
		argv[2] = "--yes-do-it";
	}
	if (proc_check(argv, MASTERD_START_TIMEOUT_MS, err) < 0)
		return NULL;
	return json_null();
}

WAITS json_t *call_node_stop_master(struct call *c, struct error *err)
{
	const char *file = path(c->paths, PATH_MASTERD_PID);
	int64_t deadline_us = clock_mono_us() + MASTERD_STOP_TIMEOUT_US;
	pid_t pid = fs_read_pid(file);

	if (pid > 0)
		kill(pid, SIGTERM);
	while (fs_read_pid(file) == pid && pid > 0) {
		if (clock_mono_us() > deadline_us) {
			error_set(err, ERR_EXEC, ECODE_STATE,
				  "The master daemon (process %d) does not "
				  "stop",
				  (int)pid);
			return NULL;
		}
		task_sleep(MASTERD_POLL_MS);
	}
	return json_null();
}
