/* SPDX-License-Identifier: BSD-2-Clause */
/* These functions set or check one thing and keep no state.  Those that take a
 * configuration only read it; node_check_version() asks the node.  A node's own
 * UUID is left out of the search for a duplicate address. */
#include "masterd/lu/node/node_state.h"

#include <arpa/inet.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "lib/model/params/params.h"

int node_state_set_ndparams(json_t *object, const json_t *changes,
			    struct error *err)
{
	json_t *updated;

	if (json_object_size(changes) == 0)
		return 0;
	if (params_update_nd(node_ndparams(object), changes, &updated, err) < 0)
		return -1;
	node_set_ndparams(object, updated);
	return 0;
}

int node_change_ndparams(json_t *node, const json_t *changes, struct error *err)
{
	if (json_object_get(changes, "exclusive_storage") != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Parameter exclusive_storage can't be set for "
				 "a single node; set it for the cluster or the "
				 "group");
	return node_state_set_ndparams(node, changes, err);
}

static bool is_address(int family, const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(family, text, bytes) == 1;
}

static int check_unused(const struct config *c, const char *node_uuid,
			const char *address, struct error *err)
{
	const char *uuid;
	json_t *node;

	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node) {
		if (str_eq(uuid, node_uuid) ||
		    (!str_eq(node_primary_ip_or(node, NULL), address) &&
		     !str_eq(node_secondary_ip_or(node, NULL), address)))
			continue;
		return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
				 "New node ip address(es) conflict with "
				 "existing node %s: %s",
				 node_name(node), address);
	}
	return 0;
}

int node_check_primary(const struct config *c, const char *node_uuid,
		       const char *address, struct error *err)
{
	int family = cluster_primary_ip_family(config_cluster(c)) == AF_IPV6
			     ? AF_INET6
			     : AF_INET;

	if (!is_address(family, address))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is not a valid IPv%d address", address,
				 family == AF_INET ? 4 : 6);
	return check_unused(c, node_uuid, address, err);
}

int node_check_secondary(const struct config *c, const char *node_uuid,
			 const char *address, struct error *err)
{
	if (!is_address(AF_INET, address) && !is_address(AF_INET6, address))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is not a valid IP address", address);
	return check_unused(c, node_uuid, address, err);
}

/* DRBD connects two addresses of one family. */
static int check_family(const char *master_ip, const char *secondary_ip,
			struct error *err)
{
	bool four = is_address(AF_INET, master_ip);

	if (four == is_address(AF_INET, secondary_ip))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The secondary ip of the master (%s) is of IPv%d, so "
			 "%s can't be a node's",
			 master_ip, four ? 4 : 6, secondary_ip);
}

int node_check_homing(const struct config *c, const char *primary_ip,
		      const char *secondary_ip, struct error *err)
{
	const json_t *master = config_master(c);
	const char *master_sip = node_secondary_ip_or(master, NULL);
	bool single = str_eq(node_primary_ip_or(master, NULL), master_sip);

	if (single == str_eq(primary_ip, secondary_ip))
		return single || master_sip == NULL
			       ? 0
			       : check_family(master_sip, secondary_ip, err);
	if (single)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The master has no secondary ip but the node "
				 "has one (%s)",
				 secondary_ip);
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The master has a secondary ip but the node doesn't "
			 "have one; give it with --secondary-ip");
}

void node_state_drop_watcher_tag(json_t *node)
{
	const json_t *tags = node_tags(node);
	json_t *left, *tag;
	size_t i;

	if (!json_array_has_str(tags, WATCHER_TAG))
		return;
	left = json_array();
	json_array_foreach (tags, i, tag)
		if (!str_eq(json_string_value(tag), WATCHER_TAG))
			json_array_append(left, tag);
	object_set_tags(node, left);
}

int node_check_version(struct lu *lu, const json_t *node, struct error *err)
{
	auto_json json_t *version =
		noderpc_call(lu->m->rpc, node, rpc_version(), err);

	/* A connection that is kept from an earlier life of its daemon, which a
	 * node that joins again has just ended, may be lost only now. */
	if (version == NULL && !error_is(err, ECODE_REFUSED))
		version = noderpc_call(lu->m->rpc, node, rpc_version(), err);
	if (version == NULL) {
		error_as(err, ERR_PREREQ, ECODE_ENVIRON);
		return error_wrap(err,
				  "Can't get version information from "
				  "node %s",
				  node_name(node));
	}
	if (json_integer_value(version) == PROTOCOL_VERSION)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			 "Version mismatch: the master speaks protocol %d, "
			 "node %s %jd",
			 PROTOCOL_VERSION, node_name(node),
			 (intmax_t)json_integer_value(version));
}
