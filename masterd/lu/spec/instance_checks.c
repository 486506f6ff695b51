/* SPDX-License-Identifier: BSD-2-Clause */
/* Prerequisites that several LUs of instances have. */
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/rpc/resolve.h"

/* The name, or the name up to a dot. */
static bool is_short_for(const char *name, const char *whole)
{
	size_t len = strlen(name);

	return strncasecmp(name, whole, len) == 0 &&
	       (whole[len] == '\0' || whole[len] == '.');
}

int inst_resolve(struct lu *lu, const char *name, const char **ret_name,
		 const char **ret_ip, struct error *err)
{
	auto_resolved struct resolved found = {0};

	if (resolve_host(name, AF_UNSPEC, &found, err) < 0) {
		auto_free char *text = xstrdup(err->text);

		return error_set(err, ERR_PREREQ, ECODE_RESOLVER,
				 "%s (with --no-name-check it need not)", text);
	}
	if (!is_short_for(name, found.name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Resolved hostname '%s' does not look the "
				 "same as given hostname '%s'",
				 found.name, name);
	if (strcmp(name, found.name) != 0)
		lu_info(lu, "Resolved given name '%s' to '%s'", name,
			found.name);
	*ret_name = lu_keep_str(lu, steal(&found.name));
	*ret_ip = lu_keep_str(lu, steal(&found.ip));
	return 0;
}

int inst_check_ip(struct lu *lu, const char *name, const char *ip,
		  struct error *err)
{
	if (!resolve_answers(lu->m->paths, ip))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
			 "IP %s of instance %s already in use", ip, name);
}

bool inst_silent(struct lu *lu, const char *node_uuid, const char *what,
		 struct error *err)
{
	if (err->kind != ERR_RPC)
		return false;
	error_as(err, ERR_PREREQ, ECODE_ENVIRON);
	error_wrap(err,
		   "Node %s does not answer, so that %s can not be checked",
		   lu_node_name(lu, node_uuid), what);
	return true;
}

int inst_os_refused(struct lu *lu, const char *node_uuid, const char *os,
		    struct error *err)
{
	/* Our node daemon and Ganeti's use these words. */
	bool missing = strstr(err->text, "not found in search path") != NULL;
	auto_free char *what = xprintf("OS '%s'", os);

	if (inst_silent(lu, node_uuid, what, err))
		return -1;
	lu_not_valid(err);
	if (missing)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "OS '%s' not known on node %s (gnt-os list "
				 "shows what all nodes have)",
				 os, lu_node_name(lu, node_uuid));
	return error_wrap(err, "OS '%s' with these parameters is refused", os);
}

int inst_check_os(struct lu *lu, const char *node_uuid, const char *os,
		  const struct params_os *own, bool force_variant,
		  struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	auto_json json_t *params = NULL, *answer = NULL;

	if (params_fill_os_all(cluster, os, own, &params, err) < 0)
		return -1;
	answer = lu_call(lu, node_uuid,
			 rpc_os_validate(true, os,
					 json_make("[s]", "parameters"),
					 json_ref(params), force_variant),
			 err);
	if (answer != NULL)
		return 0;
	return inst_os_refused(lu, node_uuid, os, err);
}

/* Ganeti's node daemon does not know the call: then all scripts and hypervisors
 * are taken as supported. */
int inst_check_os_supports(struct lu *lu, const char *node_uuid, const char *os,
			   const char *hypervisor, const char *script,
			   bool required, struct error *err)
{
	auto_json json_t *answer =
		lu_call(lu, node_uuid,
			rpc_os_supports(required, os, hypervisor, script), err);

	if (answer != NULL ||
	    (err->kind == ERR_RPC &&
	     noderpc_is_ganetis(
		     lu->m->rpc,
		     config_get(lu->m->config, CONFIG_NODE, node_uuid))))
		return 0;
	return lu_not_valid(err);
}

int inst_check_stopped(struct lu *lu, const json_t *inst, const char *why,
		       struct error *err)
{
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));
	bool running;

	if (node_offline(node)) {
		lu_warn(lu,
			"Primary node offline, ignoring check that instance "
			"is down");
		return 0;
	}
	if (inst_is_running(lu, inst, NULL, &running, err) < 0)
		return error_as(err, ERR_PREREQ, ECODE_ENVIRON);
	if (!running)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance %s is running, %s", inst_name(inst), why);
}

int inst_check_down(struct lu *lu, const json_t *inst, const char *why,
		    struct error *err)
{
	const char *state = inst_admin_state(inst);

	if (strcmp(state, "up") != 0)
		return inst_check_stopped(lu, inst, why, err);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance '%s' is marked to be %s, %s",
			 inst_name(inst), state, why);
}

/* The bridges of the bridged NICs, each once; to be freed. */
static json_t *bridges_of(struct lu *lu, const json_t *nics)
{
	json_t *bridges = json_array();

	for (size_t i = 0; i < json_array_size(nics); i++) {
		auto_json json_t *params =
			params_fill_nic(config_cluster(lu->m->config),
					nic_nicparams(json_array_get(nics, i)));
		const char *link = nicparams_link(params);

		if (strcmp(nicparams_mode(params), "bridged") == 0 &&
		    !json_array_has_str(bridges, link))
			json_array_append_new(bridges, json_string(link));
	}
	return bridges;
}

int inst_bridges_refused(struct lu *lu, const char *node_uuid,
			 struct error *err)
{
	if (inst_silent(lu, node_uuid, "its bridges", err))
		return -1;
	error_as(err, ERR_PREREQ, ECODE_ENVIRON);
	return error_wrap(err, "Error checking bridges on node '%s'",
			  lu_node_name(lu, node_uuid));
}

int inst_check_bridges(struct lu *lu, const json_t *nics, const char *node_uuid,
		       struct error *err)
{
	auto_json json_t *bridges = bridges_of(lu, nics);
	auto_json json_t *answer = NULL;

	if (json_array_size(bridges) == 0)
		return 0;
	answer = lu_call(lu, node_uuid, rpc_bridges_exist(json_ref(bridges)),
			 err);
	return answer != NULL ? 0 : inst_bridges_refused(lu, node_uuid, err);
}
