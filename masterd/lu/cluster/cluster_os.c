/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_SET_PARAMS: what the cluster records about each OS. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/cluster/cluster_params.h"
#include "masterd/lu/parts/lu_instance.h"

/* A copy of a member that has an entry for each OS. */
static json_t *by_os(const json_t *cluster, const char *key)
{
	return json_overlay(json_get(cluster, key), NULL);
}

/* Set the entry if value has members, else remove it. */
static void set_or_drop(json_t *object, const char *key, json_t *value STEALS)
{
	if (json_object_size(value) > 0) {
		json_object_set_new(object, key, value);
		return;
	}
	json_decref(value);
	json_object_del(object, key);
}

/* --- hypervisor parameters of an OS --- */

static int set_hvp(const char *os, json_t *hvps, const json_t *changes,
		   struct error *err)
{
	const char *hv;
	json_t *change;

	json_object_foreach (json_unconst(changes), hv, change) {
		json_t *updated;

		if (json_is_null(change)) {
			json_object_del(hvps, hv);
			continue;
		}
		if (params_update_hv(hv, json_object_get(hvps, hv), change,
				     &updated, err) < 0)
			return error_wrap(err, "OS %s", os);
		set_or_drop(hvps, hv, updated);
	}
	return 0;
}

static int set_os_hvp(const struct op_cluster_set_params *op, json_t *cluster,
		      struct error *err)
{
	auto_json json_t *all = by_os(cluster, CONFIG_MEMBER(cluster, os_hvp));
	const char *os;
	json_t *changes;

	json_object_foreach (json_unconst(op->os_hvp), os, changes) {
		auto_json json_t *hvps = by_os(all, os);

		if (set_hvp(os, hvps, changes, err) < 0)
			return -1;
		set_or_drop(all, os, steal(&hvps));
	}
	cluster_set_os_hvp(cluster, json_ref(all));
	return 0;
}

/* --- parameters of its scripts --- */

static void set_osparams(json_t *cluster, const char *key,
			 const json_t *changes)
{
	auto_json json_t *all = by_os(cluster, key);
	const char *os;
	json_t *change;

	json_object_foreach (json_unconst(changes), os, change)
		set_or_drop(all, os,
			    params_update_os(json_object_get(all, os), change));
	json_object_set(cluster, key, all);
}

/* --- hidden and blacklisted --- */

static bool adds(const json_t *change)
{
	return str_eq(json_string_value(json_array_get(change, 0)), "add");
}

static void drop(json_t *list, const char *text)
{
	for (size_t i = json_array_size(list); i-- > 0;)
		if (str_eq(json_string_value(json_array_get(list, i)), text))
			json_array_remove(list, i);
}

/* changes: [["add", name], ["remove", name]...]. */
static void set_os_list(json_t *cluster, const char *key, const json_t *changes)
{
	auto_json json_t *list =
		json_copy(json_unconst(json_get(cluster, key)));

	if (list == NULL)
		list = json_array();
	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *change = json_array_get(changes, i);
		const char *os = json_string_value(json_array_get(change, 1));

		drop(list, os);
		if (adds(change))
			json_array_append_new(list, json_string(os));
	}
	json_object_set(cluster, key, list);
}

int cluster_os_set(const struct op_cluster_set_params *op, json_t *cluster,
		   struct error *err)
{
	if (set_os_hvp(op, cluster, err) < 0)
		return -1;
	set_osparams(cluster, CONFIG_MEMBER(cluster, osparams), op->osparams);
	set_osparams(cluster, CONFIG_MEMBER(cluster, osparams_private_cluster),
		     op->osparams_private_cluster);
	set_os_list(cluster, CONFIG_MEMBER(cluster, hidden_os), op->hidden_os);
	set_os_list(cluster, CONFIG_MEMBER(cluster, blacklisted_os),
		    op->blacklisted_os);
	return 0;
}

/* --- what the nodes say --- */

static WAITS int ask_master(struct lu *lu, struct rpc_request request,
			    const char *os, struct error *err)
{
	const char *master = node_uuid(config_master(lu->m->config));
	auto_json json_t *answer = lu_call(lu, master, request, err);

	if (answer != NULL)
		return 0;
	error_as(err, ERR_PREREQ, ECODE_INVAL);
	return error_wrap(err, "Parameters of OS '%s'", os);
}

/* ERR_PREREQ names the first node that refuses, or does not answer; nodes that
 * are marked offline are not asked. */
static WAITS int ask_nodes(struct lu *lu, const struct strv *uuids,
			   const char *hv, json_t *values STEALS,
			   struct error *err)
{
	size_t n;
	struct node_result *r = lu_call_nodes(
		lu, uuids, rpc_hypervisor_validate_params(hv, values), &n);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (r[i].payload != NULL || r[i].offline)
			continue;
		rc = error_set(err, ERR_PREREQ, ECODE_INVAL,
			       "Hypervisor parameter validation failed on node "
			       "%s: %s",
			       node_name(r[i].node), r[i].err->text);
	}
	node_results_free(r, n);
	return rc;
}

/* The names of both as a list: what has changed. */
static void changed_oses(const struct op_cluster_set_params *op,
			 struct strv *ret)
{
	const json_t *const both[] = {op->osparams,
				      op->osparams_private_cluster};
	const char *os;
	json_t *value;

	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		json_object_foreach (json_unconst(both[i]), os, value)
			strv_add_unique(ret, os);
}

/* An OS without a variant is checked even if only its variants exist, as they
 * all inherit its parameters. */
static WAITS int check_scripts(struct lu *lu, const json_t *cluster,
			       struct error *err)
{
	auto_strv struct strv names = {0};

	changed_oses(lu->op, &names);
	for (size_t i = 0; i < names.n; i++) {
		auto_json json_t *all = NULL;
		const char *os = names.items[i];

		if (params_fill_os_all(cluster, os, &(struct params_os){NULL},
				       &all, err) < 0 ||
		    ask_master(lu,
			       rpc_os_validate(false, os,
					       json_make("[s]", "parameters"),
					       steal(&all),
					       strchr(os, '+') == NULL),
			       os, err) < 0)
			return -1;
	}
	return 0;
}

static WAITS int check_hvp(struct lu *lu, const json_t *cluster,
			   struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	const json_t *enabled = cluster_enabled_hypervisors(cluster);
	const char *os, *hv;
	json_t *hvps, *hvp;

	json_object_foreach (json_unconst(op->os_hvp), os, hvps)
		json_object_foreach (hvps, hv, hvp) {
			if (!json_array_has_str(enabled, hv))
				continue;
			if (ask_master(lu,
				       rpc_hypervisor_validate_params(
					       hv, params_fill_hv(cluster, hv,
								  os, NULL)),
				       os, err) < 0)
				return -1;
		}
	return 0;
}

/* Is the hypervisor new, or does it get other parameters? */
static bool hv_changes(struct lu *lu, const char *hv)
{
	const struct op_cluster_set_params *op = lu->op;
	const json_t *now =
		cluster_enabled_hypervisors(config_cluster(lu->m->config));

	return json_get(op->hvparams, hv) != NULL ||
	       (op->enabled_hypervisors != NULL &&
		!json_array_has_str(now, hv));
}

void cluster_os_nodes(const struct config *c, struct strv *ret)
{
	auto_strv struct strv all = {0};

	config_sorted(c, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++)
		if (node_vm_capable(config_get(c, CONFIG_NODE, all.items[i])))
			strv_add(ret, all.items[i]);
}

/* All nodes have to have the new hypervisors and accept the changed parameters
 * of the others: on a node that lacks one, each listing of running instances
 * would fail. */
static WAITS int check_hypervisors(struct lu *lu, const json_t *cluster,
				   struct error *err)
{
	const json_t *enabled = cluster_enabled_hypervisors(cluster);
	auto_strv struct strv nodes = {0};

	cluster_os_nodes(lu->m->config, &nodes);
	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *hv = json_string_value(json_array_get(enabled, i));

		if (hv_changes(lu, hv) &&
		    ask_nodes(lu, &nodes, hv,
			      params_fill_hv(cluster, hv, NULL, NULL), err) < 0)
			return error_wrap(err, "Hypervisor %s", hv);
	}
	return 0;
}

/* Changes of a list that change nothing. */
static void say_idle(struct lu *lu, const char *key, const json_t *changes)
{
	const json_t *list = json_get(config_cluster(lu->m->config), key);

	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *change = json_array_get(changes, i);
		const char *os = json_string_value(json_array_get(change, 1));

		if (adds(change) == json_array_has_str(list, os))
			lu_info(lu, "OS %s is %s in %s, ignoring", os,
				adds(change) ? "already" : "not", key);
	}
}

int cluster_os_check(struct lu *lu, const json_t *cluster, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;

	say_idle(lu, "hidden_os", op->hidden_os);
	say_idle(lu, "blacklisted_os", op->blacklisted_os);
	if (check_hypervisors(lu, cluster, err) < 0 ||
	    check_scripts(lu, cluster, err) < 0)
		return -1;
	return check_hvp(lu, cluster, err);
}

int cluster_os_check_first(struct lu *lu, struct error *err)
{
	auto_json json_t *enabled = json_copy(json_unconst(
		cluster_enabled_hypervisors(config_cluster(lu->m->config))));

	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *hv = json_string_value(json_array_get(enabled, i));
		auto_json json_t *fine = lu_call(
			lu, node_uuid(config_master(lu->m->config)),
			rpc_hypervisor_validate_params(
				hv,
				params_fill_hv(config_cluster(lu->m->config),
					       hv, NULL, NULL)),
			err);

		if (fine != NULL)
			continue;
		lu_not_valid(err);
		return error_wrap(err, "Hypervisor %s", hv);
	}
	return 0;
}
