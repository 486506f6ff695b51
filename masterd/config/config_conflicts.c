/* SPDX-License-Identifier: BSD-2-Clause */
/* What only one may have and several have: addresses, ports, minors of mirrors,
 * disks.  Jobs reserve such things (reserve.h), so these come from options that
 * pass over a check, from a change by hand, or from another program. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/config/config_private.h"
#include "masterd/config/reserve.h"

/* The parts of a mirror's logical id. */
enum { ID_NODE, ID_PORT = 2, ID_MINOR };

/* {what: [owners]}; both are parts of sentences. */
static void claim(json_t *claims, const char *what, const char *owner)
{
	json_t *owners = json_object_get(claims, what);

	if (owners == NULL) {
		owners = json_array();
		json_object_set_new(claims, what, owners);
	}
	json_array_append_new(owners, json_string(owner));
}

/* --- addresses --- */

static void claim_ip(json_t *claims, const char *ip, const char *owner)
{
	auto_free char *what = xprintf("IP address %s", ip);

	if (!str_empty(ip))
		claim(claims, what, owner);
}

static void claim_node(json_t *claims, const json_t *node)
{
	auto_free char *owner = xprintf("node %s", node_name(node));
	const char *primary = node_primary_ip(node);
	const char *secondary = node_secondary_ip(node);

	claim_ip(claims, primary, owner);
	if (!str_eq(primary, secondary))
		claim_ip(claims, secondary, owner);
}

/* On another link the same IP address is another one. */
static void claim_nic(const struct config *c, json_t *claims,
		      const json_t *inst, size_t i, const json_t *nic)
{
	auto_free char *owner =
		xprintf("NIC %zu of instance %s", i, inst_name(inst));
	auto_free char *link = reserve_link(config_cluster(c), nic);
	auto_free char *place =
		xprintf("%s on %s", nic_ip_or(nic, ""),
			nic_has_network(nic) ? config_name(c, CONFIG_NETWORK,
							   nic_network(nic))
					     : link);
	auto_free char *mac = xprintf("MAC address %s", nic_mac(nic));

	if (*nic_mac(nic) != '\0')
		claim(claims, mac, owner);
	if (nic_has_ip(nic))
		claim_ip(claims, place, owner);
}

static void claim_addresses(const struct config *c, json_t *claims)
{
	const char *uuid;
	json_t *object, *nic;
	size_t i;

	/* A virtual cluster has the address of its first node. */
	if (*c->paths->root == '\0')
		claim_ip(claims, cluster_master_ip(config_cluster(c)),
			 "the cluster");
	json_object_foreach (c->objects[CONFIG_NODE], uuid, object)
		claim_node(claims, object);
	json_object_foreach (c->objects[CONFIG_INSTANCE], uuid, object)
		json_array_foreach (inst_nics(object), i, nic)
			claim_nic(c, claims, object, i, nic);
}

/* --- ports --- */

static void claim_port(json_t *claims, int64_t port, const char *owner)
{
	auto_free char *what = xprintf("Port %jd", (intmax_t)port);

	if (port > 0)
		claim(claims, what, owner);
}

/* Ganeti takes its ports from these. */
static void claim_free_ports(const struct config *c, json_t *claims)
{
	const json_t *pool = cluster_tcpudp_port_pool(config_cluster(c));
	const json_t *port;
	size_t i;

	json_array_foreach (pool, i, port)
		claim_port(claims, json_integer_value(port),
			   "the list of free ports");
}

/* --- disks --- */

static void claim_minor(const struct config *c, json_t *claims,
			const json_t *id, size_t side, const char *owner)
{
	const char *node =
		json_string_value(json_array_get(id, ID_NODE + side));
	const json_t *minor = json_array_get(id, ID_MINOR + side);
	auto_free char *what = NULL;

	if (node == NULL || !json_is_integer(minor))
		return;
	what = xprintf("DRBD minor %jd of node %s",
		       (intmax_t)json_integer_value(minor),
		       config_name(c, CONFIG_NODE, node));
	claim(claims, what, owner);
}

static void claim_mirror(const struct config *c, json_t *claims,
			 const json_t *disk)
{
	const char *inst = config_disk_owner(c, disk_uuid(disk));
	const json_t *id = disk_logical_id(disk);
	auto_free char *owner =
		inst == NULL
			? xprintf("disk %s", disk_uuid(disk))
			: xprintf("disk %s of instance %s", disk_uuid(disk),
				  config_name(c, CONFIG_INSTANCE, inst));

	claim_port(claims, json_integer_value(json_array_get(id, ID_PORT)),
		   owner);
	for (size_t side = 0; side < 2; side++)
		claim_minor(c, claims, id, side, owner);
}

static void claim_disks(json_t *claims, const json_t *inst)
{
	auto_free char *owner = xprintf("instance %s", inst_name(inst));
	const json_t *disk;
	size_t i;

	claim_port(claims, inst_network_port(inst), owner);
	json_array_foreach (inst_disks(inst), i, disk) {
		auto_free char *what =
			xprintf("Disk %s", json_string_value(disk) ?: "");

		claim(claims, what, owner);
	}
}

static void claim_storage(const struct config *c, json_t *claims)
{
	const char *uuid;
	json_t *object;

	json_object_foreach (c->objects[CONFIG_INSTANCE], uuid, object)
		claim_disks(claims, object);
	json_object_foreach (c->objects[CONFIG_DISK], uuid, object)
		if (template_is_pair(disk_dev_type(object)))
			claim_mirror(c, claims, object);
}

void config_verify_conflicts(const struct config *c, struct strv *ret_problems)
{
	auto_json json_t *claims = json_object();
	const char *what;
	json_t *owners;

	claim_addresses(c, claims);
	claim_free_ports(c, claims);
	claim_storage(c, claims);
	json_object_foreach (claims, what, owners) {
		auto_strv struct strv names = {0};
		auto_free char *list = NULL;

		if (json_array_size(owners) == 1)
			continue;
		json_to_strv(owners, &names);
		list = strv_join(&names, ", ");
		strv_addf(ret_problems, "%s is used by more than one: %s", what,
			  list);
	}
}
