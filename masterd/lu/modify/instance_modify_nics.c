/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: network interfaces. */
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/modify/instance_modify.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_spec.h"

/* Complete parameters are stored with a changed NIC, as Ganeti does. */
static void fill_params(struct lu *lu, json_t *nic)
{
	nic_set_nicparams(nic, params_fill_nic(config_cluster(lu->m->config),
					       nic_nicparams(nic)));
}

static const json_t *network_of(struct lu *lu, const json_t *nic)
{
	const char *uuid = nic_network(nic);

	return uuid == NULL ? NULL
			    : config_get(lu->m->config, CONFIG_NETWORK, uuid);
}

/* --- what has changed, in Ganeti's words --- */

static void report_member(json_t *rows, const char *key, size_t i,
			  const json_t *object)
{
	json_t *value = json_object_get(object, key);

	modify_row(rows, value == NULL ? json_null() : json_incref(value),
		   "nic.%s/%zu", key, i);
}

static void report_change(json_t *rows, size_t i, const json_t *old,
			  const json_t *nic, const json_t *given)
{
	static const char *const own[] = {"mac", "ip", "name"};
	static const char *const filled[] = {"link", "mode", "vlan"};

	for (size_t k = 0; k < 3; k++)
		if (json_object_get(given, own[k]) != NULL ||
		    (k == 0 && !str_eq(nic_mac(nic), nic_mac(old))))
			report_member(rows, own[k], i, nic);
	if (!str_eq(nic_network(nic), nic_network(old)))
		report_member(rows, "network", i,
			      !nic_has_network(nic) ? nic : given);
	for (size_t k = 0; k < 3; k++)
		report_member(rows, filled[k], i, nic_nicparams(nic));
}

static void report_new(struct lu *lu, json_t *rows, size_t i, const json_t *nic)
{
	const json_t *params = nic_nicparams(nic);

	modify_row(rows,
		   json_sprintf("add:mac=%s,ip=%s,mode=%s,link=%s,network=%s",
				nic_mac(nic), nic_ip_or(nic, "None"),
				nicparams_mode(params), nicparams_link(params),
				network_name_or(network_of(lu, nic), "None")),
		   "nic.%zu", i);
}

/* --- checks --- */

static int check_routed(struct lu *lu, const json_t *nic, struct error *err)
{
	if (!spec_nic_lacks_ip(lu, nic))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Cannot set the NIC IP address to None on a routed "
			 "NIC if not attached to a network");
}

static int check_mac(const json_t *given, struct error *err)
{
	json_t *mac = json_object_get(given, "mac");

	if (json_is_null(mac))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot unset the NIC MAC address");
	if (!str_eq(json_string_value(mac), "auto"))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "'auto' is not a valid MAC address when modifying an "
			 "existing NIC");
}

/* --- addresses --- */

static int give_address(struct lu *lu, json_t *nic, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	bool any = str_eq(nic_ip(nic), "pool");
	const json_t *network;

	if (spec_nic_address(lu, nic, inst_primary_node(modify_of(lu)->inst),
			     op->conflicts_check, err) < 0)
		return -1;
	network = network_of(lu, nic);
	if (!any && network != NULL && nic_has_ip(nic))
		lu_info(lu, "Reserving IP %s in network %s", nic_ip_or(nic, ""),
			network_name(network));
	return 0;
}

static bool same(const json_t *a, const json_t *b, const char *key)
{
	return str_eq(json_str(a, key, NULL), json_str(b, key, NULL));
}

/* A network may have a prefix for MACs: a NIC that comes to a network with
 * another prefix gets a new MAC, unless one was given. */
static void renew_mac(struct lu *lu, const json_t *old, const json_t *given,
		      json_t *nic)
{
	if (json_get(given, "mac") == NULL &&
	    !same(network_of(lu, old), network_of(lu, nic), "mac_prefix"))
		nic_set_mac(nic, SPEC_MAC_AUTO);
}

static int give_changed(struct lu *lu, const json_t *old, const json_t *given,
			json_t *nic, size_t i, struct error *err)
{
	const char *primary = inst_primary_node(modify_of(lu)->inst);

	renew_mac(lu, old, given, nic);
	if (!same(nic, old, "mac") && spec_reserve_mac(lu, nic, i, err) < 0)
		return -1;
	if (!same(nic, old, "ip") || !same(nic, old, "network"))
		return give_address(lu, nic, err);
	if (!nic_has_network(old))
		return 0;
	if (json_get(given, "link") != NULL || json_get(given, "mode") != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Not allowed to change link or mode of a NIC "
				 "that is connected to a network");
	return spec_nic_link(lu, nic, primary, err);
}

/* --- the changes --- */

static int add_nic(struct lu *lu, json_t *nics, size_t i, const json_t *given,
		   struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *nic = NULL;

	if (json_array_size(nics) >= SPEC_NICS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance has too many network interfaces "
				 "(%d), cannot add more",
				 SPEC_NICS_MAX);
	nic = spec_nic(lu, given, i, err);
	if (nic == NULL || spec_reserve_mac(lu, nic, i, err) < 0 ||
	    give_address(lu, nic, err) < 0)
		return -1;
	fill_params(lu, nic);
	if (check_routed(lu, nic, err) < 0)
		return -1;
	json_array_insert(nics, i, nic);
	report_new(lu, modify_step(m->nic_steps, "add", i, nic), i, nic);
	return 0;
}

/* The old NIC in the form of an opcode, overlaid with the changes. */
static json_t *merged(const json_t *old, const json_t *given)
{
	auto_json json_t *base = json_overlay(nic_nicparams(old), NULL);
	static const char *const keys[] = {"mac", "ip", "name", "network"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_get(old, keys[i]) != NULL)
			json_object_set(base, keys[i],
					json_object_get(old, keys[i]));
	if (json_get(given, "bridge") != NULL)
		json_object_del(base, "link");
	return json_overlay(base, given);
}

static int change_nic(struct lu *lu, json_t *nics, size_t i,
		      const json_t *given, struct error *err)
{
	const json_t *old = json_array_get(nics, i);
	auto_json json_t *whole = merged(old, given);
	auto_json json_t *nic = NULL;

	if (check_mac(given, err) < 0)
		return -1;
	nic = spec_nic(lu, whole, i, err);
	if (nic == NULL || give_changed(lu, old, given, nic, i, err) < 0)
		return -1;
	fill_params(lu, nic);
	if (check_routed(lu, nic, err) < 0)
		return -1;
	nic_set_uuid(nic, nic_uuid(old));
	report_change(modify_step(modify_of(lu)->nic_steps, "modify", i, nic),
		      i, old, nic, given);
	json_array_set(nics, i, nic);
	return 0;
}

static void remove_nic(struct lu *lu, json_t *nics, size_t i)
{
	modify_row(modify_step(modify_of(lu)->nic_steps, "remove", i,
			       json_array_get(nics, i)),
		   json_string("remove"), "NIC/%zu", i);
	json_array_remove(nics, i);
}

static int act(struct lu *lu, json_t *nics, const json_t *change,
	       struct error *err)
{
	const char *action = json_string_value(json_array_get(change, 0));
	const json_t *given = json_array_get(change, 2);
	size_t i;

	if (strcmp(action, "attach") == 0 || strcmp(action, "detach") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s operation is not supported for NICs",
				 *action == 'a' ? "Attach" : "Detach");
	if (modify_find(nics, "NIC", action, json_array_get(change, 1), &i,
			err) < 0 ||
	    spec_check_nic_network(given, i, err) < 0)
		return -1;
	if (strcmp(action, "add") == 0)
		return add_nic(lu, nics, i, given, err);
	if (strcmp(action, "modify") == 0)
		return change_nic(lu, nics, i, given, err);
	remove_nic(lu, nics, i);
	return 0;
}

/* The communication NIC is found by its name. */
static json_t *communication(struct lu *lu, const json_t *inst)
{
	const struct op_instance_set_params *op = lu->op;
	auto_free char *name = spec_communication_nic(inst_name(inst));
	const json_t *nics = inst_nics(inst);
	size_t i = 0, n = json_array_size(nics);

	while (i < n && !str_eq(nic_name(json_array_get(nics, i)), name))
		i++;
	if (op->instance_communication == 1 && i == n)
		return json_make("[s, i, o]", "add", -1,
				 spec_communication_params(lu, name));
	if (op->instance_communication == 0 && i < n)
		return json_make("[s, s, {}]", "remove", name);
	return NULL;
}

int modify_nics(struct lu *lu, const json_t *actions, struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *nics = json_copy(json_unconst(inst_nics(m->inst)));
	auto_json json_t *changes = modify_changes("NIC", actions, err);
	json_t *own = communication(lu, m->inst);

	if (own != NULL && changes != NULL)
		json_array_append(changes, own);
	json_decref(own);
	m->nic_steps = json_array();
	if (changes == NULL)
		return -1;
	for (size_t k = 0; k < json_array_size(changes); k++)
		if (act(lu, nics, json_array_get(changes, k), err) < 0)
			return -1;
	if (modify_check_names("NIC", nics, err) < 0)
		return -1;
	inst_set_nics(m->changed, json_ref(nics));
	return 0;
}

/* --- nodes --- */

static WAITS int check_bridge(struct lu *lu, const json_t *nic,
			      struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	const char *node = inst_primary_node(modify_of(lu)->inst);
	const json_t *params = nic_nicparams(nic);
	auto_json json_t *there = NULL;

	if (strcmp(nicparams_mode(params), "bridged") != 0)
		return 0;
	there = lu_call(
		lu, node,
		rpc_bridges_exist(json_make("[s]", nicparams_link(params))),
		err);
	if (there != NULL)
		return 0;
	inst_bridges_refused(lu, node, err);
	if (!op->force)
		return -1;
	lu_warn(lu, "%s", err->text);
	return 0;
}

WAITS int modify_check_bridges(struct lu *lu, struct error *err)
{
	const json_t *steps = modify_of(lu)->nic_steps;

	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *step = json_array_get(steps, i);

		if (!str_eq(json_str(step, "action", ""), "remove") &&
		    check_bridge(lu, json_get(step, "device"), err) < 0)
			return -1;
	}
	return 0;
}

WAITS void modify_plug_nics(struct lu *lu)
{
	static const struct {
		const char *action, *plug, *row;
	} words[] = {{"add", "hotadd", "nic.%zu"},
		     {"modify", "hotmod", "nic/%zu"},
		     {"remove", "hotremove", "NIC/%zu"}};
	struct modify *m = modify_of(lu);

	for (size_t i = 0; m->hotplug && i < json_array_size(m->nic_steps);
	     i++) {
		const json_t *step = json_array_get(m->nic_steps, i);
		const char *action = json_str(step, "action", "");
		size_t index = (size_t)json_int(step, "index", 0), k = 0;
		bool done;

		while (strcmp(words[k].action, action) != 0)
			k++;
		done = modify_plug(lu, words[k].plug, "nic",
				   json_get(step, "device"), NULL, index);
		modify_row(json_object_get(step, "rows"),
			   json_string(modify_plugged(done)), words[k].row,
			   index);
	}
}
