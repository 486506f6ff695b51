/* SPDX-License-Identifier: BSD-2-Clause */
/* Nothing is changed here directly: the opcodes that add and connect the
 * network are submitted as one job, in this order.  The network has link-local
 * addresses; the address at which nodes answer is reserved in it. */
#include "masterd/lu/group/communication.h"

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"

/* Link-local addresses, which no router forwards; clouds use them for the same
 * purpose. */
#define SUBNET4 "169.254.0.0/16"
#define SUBNET6 "fe80::/10"
#define MODE "routed"
#define LINK "communication_rt"

static const json_t *find(struct lu *lu, const char *name)
{
	return *name == '\0' ? NULL
			     : config_find(lu->m->config, CONFIG_NETWORK, name);
}

void communication_warn(struct lu *lu, const char *name)
{
	static const struct {
		const char *key, *what, *usual;
	} table[] = {
		{"network", "IPv4 network", SUBNET4},
		{"network6", "IPv6 network", SUBNET6},
		{"mac_prefix", "MAC prefix", COMMUNICATION_MAC_PREFIX},
	};
	const json_t *network = name == NULL ? NULL : find(lu, name);

	if (network == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *value = json_str(network, table[i].key, "None");

		if (!str_eq(value, table[i].usual))
			lu_warn(lu,
				"Network '%s' has the %s %s, others may reach "
				"it; instance communication usually has %s",
				name, table[i].what, value, table[i].usual);
	}
}

void communication_say(struct lu *lu, const char *before, const char *name)
{
	if (*before != '\0' && !str_eq(before, name))
		lu_feedback(lu,
			    "Previous instance communication network '%s' "
			    "should be removed manually.",
			    before);
	if (*name == '\0')
		lu_feedback(lu, "Disabling instance communication network, "
				"only new instances will be affected.");
	else
		lu_feedback(lu,
			    "Changing instance communication network to '%s', "
			    "only new instances will be affected.",
			    name);
}

/* No instance must get the address at which nodes answer. */
static json_t *add_op(const char *name)
{
	return json_make("{s:s, s:s, s:s, s:s, s:s, s:[s]}", "OP_ID",
			 "OP_NETWORK_ADD", "network_name", name, "network",
			 SUBNET4, "network6", SUBNET6, "mac_prefix",
			 COMMUNICATION_MAC_PREFIX, "add_reserved_ips",
			 METADATA_ADDRESS);
}

static json_t *connect_op(const char *name, const char *group_uuid)
{
	return json_make("{s:s, s:s, s:s, s:s, s:s}", "OP_ID",
			 "OP_NETWORK_CONNECT", "network_name", name,
			 "group_name", group_uuid, "network_mode", MODE,
			 "network_link", LINK);
}

static WAITS json_t *submit(struct lu *lu, json_t *ops STEALS,
			    struct error *err)
{
	if (json_array_size(ops) > 0)
		return lu_submit_jobs(lu, json_make("[o]", ops), NULL, err);
	json_decref(ops);
	return json_null();
}

json_t *communication_everywhere(struct lu *lu, const char *name,
				 struct error *err)
{
	const json_t *network = find(lu, name);
	const char *wanted = network_uuid(network);
	json_t *ops = json_array();
	const char *uuid;
	json_t *group;

	if (*name == '\0')
		return submit(lu, ops, err);
	if (network == NULL)
		json_array_append_new(ops, add_op(name));
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_GROUP)), uuid,
		group)
		if (json_get(group_networks(group), wanted) == NULL)
			json_array_append_new(ops, connect_op(name, uuid));
	return submit(lu, ops, err);
}

json_t *communication_in_group(struct lu *lu, const char *group_uuid,
			       struct error *err)
{
	const char *name = cluster_instance_communication_network(
		config_cluster(lu->m->config));
	json_t *ops = json_array();

	if (find(lu, name) != NULL)
		json_array_append_new(ops, connect_op(name, group_uuid));
	return submit(lu, ops, err);
}
