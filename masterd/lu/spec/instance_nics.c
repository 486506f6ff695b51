/* SPDX-License-Identifier: BSD-2-Clause */
/* The NICs of an instance: from the opcode to the stored form, and their
 * addresses. */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/json/repr.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ippool.h"
#include "lib/model/constants.h"
#include "lib/model/params/params.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/spec/instance_spec.h"

/* Any free address of the network. */
#define IP_POOL "pool"

static bool valid_mac(const char *mac)
{
	if (strlen(mac) != 17)
		return false;
	for (size_t i = 0; i < 17; i++)
		if (i % 3 == 2 ? mac[i] != ':'
			       : !isxdigit((unsigned char)mac[i]))
			return false;
	return true;
}

static bool valid_ip(const char *ip)
{
	unsigned char address[16];

	return inet_pton(AF_INET, ip, address) == 1 ||
	       inet_pton(AF_INET6, ip, address) == 1;
}

static bool is_none(const char *s)
{
	return s == NULL || strcasecmp(s, "none") == 0;
}

static int nic_params(const json_t *given, json_t **ret, struct error *err)
{
	static const char *const keys[] = {"mode", "link", "vlan"};
	auto_json json_t *changes = json_object();
	const char *bridge = json_str(given, "bridge", NULL);

	for (size_t i = 0; i < 3; i++) {
		const json_t *value = json_get(given, keys[i]);

		if (value != NULL)
			json_object_set(changes, keys[i], json_unconst(value));
	}
	if (bridge != NULL && json_get(given, "link") == NULL)
		json_set_str(changes, "link", bridge); /* the 2.0 name */
	return params_update_nic(NULL, changes, ret, err);
}

static int nic_addresses(const json_t *given, size_t i, json_t *nic,
			 struct error *err)
{
	auto_free char *own =
		spec_lowered(json_str(given, "mac", SPEC_MAC_AUTO));
	const char *mac = own;
	const char *ip = json_str(given, "ip", NULL);
	const char *name = json_str(given, "name", NULL);

	if (strcmp(mac, "generate") == 0)
		mac = SPEC_MAC_AUTO;
	if (strcmp(mac, SPEC_MAC_AUTO) != 0 && !valid_mac(mac))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "NIC %zu: invalid MAC address '%s'", i, mac);
	nic_set_mac(nic, mac);
	if (!is_none(ip)) {
		if (strcasecmp(ip, IP_POOL) != 0 && !valid_ip(ip))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "NIC %zu: invalid IP address '%s'", i,
					 ip);
		nic_set_ip(nic, ip);
	}
	if (!is_none(name))
		nic_set_name(nic, name);
	return 0;
}

json_t *spec_nic(struct lu *lu, const json_t *given, size_t i,
		 struct error *err)
{
	static const char *const known[] = {"mac",     "ip",	 "name",
					    "network", "mode",	 "link",
					    "vlan",    "bridge", NULL};
	auto_json json_t *nic = json_object();
	const char *network = json_str(given, "network", NULL);
	json_t *params = NULL;
	char uuid[37];

	if (spec_check_keys("NIC", i, given, known, err) < 0 ||
	    nic_addresses(given, i, nic, err) < 0)
		return NULL;
	if (!is_none(network)) {
		const json_t *net = config_expect(lu->m->config, CONFIG_NETWORK,
						  network, err);

		if (net == NULL)
			return NULL;
		nic_set_network(nic, network_uuid(net));
	}
	if (nic_params(given, &params, err) < 0) {
		error_wrap(err, "NIC %zu", i);
		return NULL;
	}
	nic_set_nicparams(nic, params);
	uuid_new(uuid);
	nic_set_uuid(nic, uuid);
	return steal(&nic);
}

static int take_mac(struct lu *lu, json_t *nic, struct error *err)
{
	const char *mac = nic_mac_or(nic, SPEC_MAC_AUTO);
	const char *network = nic_network(nic);
	const json_t *net =
		network == NULL
			? NULL
			: config_get(lu->m->config, CONFIG_NETWORK, network);
	auto_free char *generated = NULL;

	if (strcmp(mac, SPEC_MAC_AUTO) != 0)
		return reserve_mac(lu->m->reserve, lu->job_id, mac, err);
	generated = reserve_mac_generate(lu->m->reserve, lu->job_id,
					 network_mac_prefix(net), err);
	if (generated == NULL)
		return -1;
	nic_set_mac(nic, generated);
	return 0;
}

static int not_unique(size_t i, struct error *err)
{
	if (err->kind != ERR_PREREQ)
		error_as(err, ERR_PREREQ, ECODE_NOTUNIQUE);
	return error_wrap(err, "NIC %zu", i);
}

int spec_reserve_mac(struct lu *lu, json_t *nic, size_t i, struct error *err)
{
	return take_mac(lu, nic, err) == 0 ? 0 : not_unique(i, err);
}

/* --- addresses --- */

/* The same address may be used on different links. */
static int take_ip(struct lu *lu, const json_t *nic, const char *ip,
		   struct error *err)
{
	auto_free char *link = reserve_link(config_cluster(lu->m->config), nic);

	return reserve_ip(lu->m->reserve, lu->job_id, ip, link, err) == 0
		       ? 0
		       : error_as(err, ERR_PREREQ, ECODE_NOTUNIQUE);
}

/* The network's connection to the group of the node. */
static const json_t *network_link(struct lu *lu, const json_t *network,
				  const char *pnode, struct error *err)
{
	struct config *c = lu->m->config;
	const json_t *node = config_get(c, CONFIG_NODE, pnode);
	const json_t *group = config_get(c, CONFIG_GROUP, node_group(node));
	const json_t *link =
		json_get(group_networks(group), network_uuid(network));

	if (link == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Network '%s' is not connected to the node group "
			  "'%s'",
			  network_name(network), group_name(group));
	return link;
}

/* A free address, that no other job has reserved. */
static int take_any(struct lu *lu, json_t *nic, const json_t *network,
		    struct error *err)
{
	auto_strv struct strv tried = {0};

	for (;;) {
		auto_free char *ip = ippool_find(network, &tried, err);
		struct error ignored;

		if (ip == NULL)
			return -1;
		if (take_ip(lu, nic, ip, &ignored) == 0) {
			nic_set_ip(nic, ip);
			lu_info(lu, "Chose IP %s from network %s", ip,
				network_name(network));
			return 0;
		}
		strv_add(&tried, ip);
	}
}

/* Without the check it may be one that is kept from all, but never another
 * instance's. */
static int take_in_network(struct lu *lu, json_t *nic, const json_t *network,
			   bool conflicts_check, struct error *err)
{
	const char *ip = nic_ip(nic);

	if (ip == NULL)
		return 0;
	if (strcasecmp(ip, IP_POOL) == 0)
		return take_any(lu, nic, network, err);
	if (!ippool_contains(network, ip))
		return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
				 "IP address %s does not belong to network %s",
				 ip, network_name(network));
	if (conflicts_check ? ippool_is_taken(network, ip)
			    : ippool_is_used(network, ip))
		return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
				 "IP address %s is already in use in network "
				 "%s",
				 ip, network_name(network));
	return take_ip(lu, nic, ip, err);
}

int spec_nic_link(struct lu *lu, json_t *nic, const char *pnode,
		  struct error *err)
{
	const json_t *network = config_expect(lu->m->config, CONFIG_NETWORK,
					      nic_network_or(nic, ""), err);
	const json_t *link =
		network == NULL ? NULL : network_link(lu, network, pnode, err);

	if (link == NULL)
		return -1;
	nic_set_nicparams(nic, json_copy(json_unconst(link)));
	return 0;
}

/* An address of a network that is connected to the node's group must be used
 * with that network. */
static int check_no_network_has(struct lu *lu, const char *ip,
				const char *pnode, struct error *err)
{
	struct config *c = lu->m->config;
	const json_t *node = config_get(c, CONFIG_NODE, pnode);
	const json_t *group = config_get(c, CONFIG_GROUP, node_group(node));
	const char *uuid;
	json_t *link;

	json_object_foreach (json_unconst(group_networks(group)), uuid, link) {
		const json_t *network = config_get(c, CONFIG_NETWORK, uuid);

		if (network != NULL && ippool_contains(network, ip))
			return error_set(
				err, ERR_PREREQ, ECODE_STATE,
				"The requested IP address (%s) belongs "
				"to network %s, but the target NIC "
				"does not",
				ip, network_name(network));
	}
	return 0;
}

int spec_nic_address(struct lu *lu, json_t *nic, const char *pnode,
		     bool conflicts_check, struct error *err)
{
	const char *uuid = nic_network(nic);
	const char *ip = nic_ip(nic);

	if (uuid == NULL) {
		if (ip != NULL && strcasecmp(ip, IP_POOL) == 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "An address from a pool (ip=pool) "
					 "needs the parameter network");
		if (ip == NULL || !conflicts_check)
			return 0;
		return check_no_network_has(lu, ip, pnode, err) < 0
			       ? -1
			       : take_ip(lu, nic, ip, err);
	}
	if (spec_nic_link(lu, nic, pnode, err) < 0)
		return -1;
	return take_in_network(lu, nic,
			       config_get(lu->m->config, CONFIG_NETWORK, uuid),
			       conflicts_check, err);
}

bool spec_nic_lacks_ip(struct lu *lu, const json_t *nic)
{
	auto_json json_t *filled = params_fill_nic(
		config_cluster(lu->m->config), nic_nicparams(nic));

	return strcmp(nicparams_mode(filled), "routed") == 0 &&
	       !nic_has_ip(nic) && !nic_has_network(nic);
}

char *spec_communication_nic(const char *instance)
{
	return xprintf(COMMUNICATION_NIC_PREFIX "%s", instance);
}

json_t *spec_communication_params(struct lu *lu, const char *name)
{
	const char *network = cluster_instance_communication_network(
		config_cluster(lu->m->config));

	return json_make("{s:s, s:s, s:s, s:s}", "name", name, "mac",
			 "generate", "ip", IP_POOL, "network",
			 *network == '\0' ? "none" : network);
}

int spec_check_nic_network(const json_t *given, size_t i, struct error *err)
{
	const char *network = json_str(given, "network", NULL);

	if (is_none(network) || (json_get(given, "mode") == NULL &&
				 json_get(given, "link") == NULL))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "NIC %zu: the network says mode and link, they can't "
			 "be given with it",
			 i);
}

/* Say what a NIC gets from its network. */
static int inherit(struct lu *lu, json_t *nic, size_t i, const char *pnode,
		   struct error *err)
{
	auto_json json_t *values = NULL;
	auto_free char *text = NULL;
	const json_t *params;

	if (!nic_has_network(nic))
		return 0;
	if (spec_nic_link(lu, nic, pnode, err) < 0)
		return -1;
	params = nic_nicparams(nic);
	values = json_make("[s, s, s]", nicparams_link(params),
			   nicparams_mode(params), nicparams_vlan(params));
	text = json_repr(values);
	lu_info(lu, "NIC/%zu inherits netparams %s", i, text);
	return 0;
}

int spec_reserve_macs(struct lu *lu, struct inst_spec *s, struct error *err)
{
	for (size_t i = 0; i < json_array_size(s->nics) && !s->has_macs; i++)
		if (spec_reserve_mac(lu, json_array_get(s->nics, i), i, err) <
		    0)
			return -1;
	s->has_macs = true;
	return 0;
}

int spec_link_nics(struct lu *lu, struct inst_spec *s, const char *pnode,
		   struct error *err)
{
	for (size_t i = 0; i < json_array_size(s->nics); i++) {
		json_t *nic = json_array_get(s->nics, i);

		if (nic_has_network(nic) &&
		    spec_nic_link(lu, nic, pnode, err) < 0)
			return error_wrap(err, "NIC %zu", i);
	}
	return 0;
}

int spec_reserve_addresses(struct lu *lu, const struct op_instance_create *op,
			   struct inst_spec *s, const char *pnode,
			   struct error *err)
{
	if (spec_reserve_macs(lu, s, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(s->nics); i++) {
		json_t *nic = json_array_get(s->nics, i);

		if (inherit(lu, nic, i, pnode, err) < 0 ||
		    spec_nic_address(lu, nic, pnode, op->conflicts_check, err) <
			    0)
			return not_unique(i, err);
	}
	return 0;
}
