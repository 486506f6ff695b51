/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of networks.  Addresses are numbered from the first of the subnet;
 * a network's two reservation strings have one digit for each. */
#include <arpa/inet.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ippool.h"
#include "masterd/query/query_private.h"

static const char *own_uuid(const struct query_row *row)
{
	return network_uuid(row->object);
}

/* How many addresses it has.  A string that is too short says nothing of the
 * rest, which then is free; without a subnet there are the strings alone. */
static size_t n_addresses(const struct query_row *row)
{
	size_t own = strlen(network_reservations_or(row->object, ""));
	size_t ext = strlen(network_ext_reservations_or(row->object, ""));
	struct error ignored;
	struct ippool pool;

	if (ippool_parse(network_network(row->object), &pool, &ignored) == 0)
		return pool.size;
	return own > ext ? own : ext;
}

/* The map of a network: "X" for each address that is taken, "." for each free
 * one. */
static char *address_map(const struct query_row *row)
{
	const char *own = network_reservations_or(row->object, "");
	const char *ext = network_ext_reservations_or(row->object, "");
	size_t n_own = strlen(own), n_ext = strlen(ext);
	size_t n = n_addresses(row);
	char *map = xalloc(n + 1);

	for (size_t i = 0; i < n; i++)
		map[i] = (i < n_own && own[i] == '1') ||
					 (i < n_ext && ext[i] == '1')
				 ? 'X'
				 : '.';
	return map;
}

static struct query_cell get_map(const struct query *q, struct query_row *row,
				 const struct query_field *field)
{
	auto_free char *map = address_map(row);

	(void)q;
	(void)field;
	return query_text(map);
}

/* How often the map contains the character field->arg. */
static struct query_cell get_count(const struct query *q, struct query_row *row,
				   const struct query_field *field)
{
	auto_free char *map = address_map(row);
	json_int_t n = 0;

	(void)q;
	for (const char *c = map; *c != '\0'; c++)
		n += *c == field->arg[0];
	return query_value(json_integer(n));
}

static struct query_cell get_external(const struct query *q,
				      struct query_row *row,
				      const struct query_field *field)
{
	const char *ext = network_ext_reservations_or(row->object, "");
	const char *subnet = network_network(row->object);
	auto_free char *address = xstrndup(subnet, strcspn(subnet, "/"));
	auto_strv struct strv list = {0};
	auto_free char *text = NULL;
	size_t n = n_addresses(row);
	struct in_addr first;

	(void)q;
	(void)field;
	if (inet_pton(AF_INET, address, &first) != 1)
		return query_none(QUERY_UNAVAIL);
	for (uint32_t i = 0; i < n && ext[i] != '\0'; i++) {
		struct in_addr one = {.s_addr = htonl(ntohl(first.s_addr) + i)};
		char dotted[INET_ADDRSTRLEN];

		if (ext[i] == '1')
			strv_add(&list, inet_ntop(AF_INET, &one, dotted,
						  sizeof(dotted)));
	}
	text = strv_join(&list, ", ");
	return query_text(text);
}

/* [[group, mode, link, vlan], ...] */
static json_t *connections(const struct query *q, const struct query_row *row)
{
	auto_strv struct strv groups = {0};
	json_t *list = json_array();

	config_sorted(q->m->config, CONFIG_GROUP, &groups);
	for (size_t i = 0; i < groups.n; i++) {
		const json_t *group =
			config_get(q->m->config, CONFIG_GROUP, groups.items[i]);
		const json_t *nic =
			json_get(group_networks(group), own_uuid(row));

		if (nic != NULL)
			json_array_append_new(list,
					      json_make("[s, s, s, s]",
							group_name(group),
							nicparams_mode(nic),
							nicparams_link(nic),
							nicparams_vlan(nic)));
	}
	return list;
}

static bool uses_network(const json_t *instance, const char *uuid)
{
	const json_t *nics = inst_nics(instance);

	for (size_t i = 0; i < json_array_size(nics); i++)
		if (str_eq(nic_network(json_array_get(nics, i)), uuid))
			return true;
	return false;
}

static json_t *instances(const struct query *q, const struct query_row *row)
{
	auto_strv struct strv uuids = {0};
	const char *uuid;
	json_t *instance;

	json_object_foreach (
		json_unconst(config_all(q->m->config, CONFIG_INSTANCE)), uuid,
		instance)
		if (uses_network(instance, own_uuid(row)))
			strv_add(&uuids, uuid);
	return query_names(q, CONFIG_INSTANCE, &uuids);
}

static struct query_cell get_list(const struct query *q, struct query_row *row,
				  const struct query_field *field)
{
	return query_value(strcmp(field->arg, "groups") == 0
				   ? connections(q, row)
				   : instances(q, row));
}

static struct query_cell get_size(const struct query *q, struct query_row *row,
				  const struct query_field *field)
{
	struct query_cell list = get_list(q, row, field);
	json_int_t n = (json_int_t)json_array_size(list.value);

	json_decref(list.value);
	return query_value(json_integer(n));
}

/* clang-format off */
static const struct query_field fields[] = {
	{"name", "Network", KIND_TEXT, "Name of the network",
	 query_get_member, "name"},
	{"network", "Subnet", KIND_TEXT, "Its IPv4 subnet", query_get_member,
	 "network"},
	{"gateway", "Gateway", KIND_OTHER, "Its IPv4 gateway",
	 query_get_member, "gateway"},
	{"network6", "IPv6Subnet", KIND_OTHER, "Its IPv6 subnet",
	 query_get_member, "network6"},
	{"gateway6", "IPv6Gateway", KIND_OTHER, "Its IPv6 gateway",
	 query_get_member, "gateway6"},
	{"mac_prefix", "MacPrefix", KIND_OTHER,
	 "Prefix of MAC addresses in it", query_get_member, "mac_prefix"},
	{"free_count", "FreeCount", KIND_NUMBER, "Number of free addresses",
	 get_count, "."},
	{"reserved_count", "ReservedCount", KIND_NUMBER,
	 "Number of addresses that are taken", get_count, "X"},
	{"map", "Map", KIND_TEXT, "Its addresses: X taken, . free", get_map},
	{"external_reservations", "ExternalReservations", KIND_TEXT,
	 "Addresses that are never given to instances", get_external},
	{"group_cnt", "NodeGroups", KIND_NUMBER,
	 "Number of groups connected to it", get_size, "groups"},
	{"group_list", "GroupList", KIND_OTHER,
	 "Groups connected to it, with mode, link and VLAN", get_list,
	 "groups"},
	{"inst_cnt", "Instances", KIND_NUMBER,
	 "Number of instances connected to it", get_size, "instances"},
	{"inst_list", "InstanceList", KIND_OTHER,
	 "Instances connected to it", get_list, "instances"},
	QUERY_COMMON_FIELDS("network"),
};
/* clang-format on */

const struct query_class query_class_network = {
	.what = "network",
	.title = "Network",
	.name_field = "name",
	QUERY_TABLE(fields),
	.kind = CONFIG_NETWORK,
};
