/* SPDX-License-Identifier: BSD-2-Clause */
/* Reservations: one table of what jobs have taken, keyed by kind and value.
 * What the configuration has is looked up there, so nothing is kept twice. */
#include "masterd/config/reserve.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/list.h"
#include "lib/base/random.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/config/config.h"

#define MAC_TRIES 1000
#define PORT_FIRST 11000
#define PORT_LAST 14999

struct reservation {
	struct list link;
	uint64_t job;
	char *key; /* "mac aa:00:..." */
};

struct reserve {
	struct config *config;
	struct table taken; /* key -> struct reservation */
	struct list all;
};

struct reserve *reserve_create(struct config *config)
{
	struct reserve *r = xalloc(sizeof(*r));

	r->config = config;
	list_init(&r->all);
	return r;
}

static void drop(struct reserve *r, struct reservation *entry)
{
	table_remove(&r->taken, entry->key);
	list_remove(&entry->link);
	free(entry->key);
	free(entry);
}

void reserve_destroy(struct reserve *r)
{
	if (r == NULL)
		return;
	while (!list_empty(&r->all))
		drop(r, list_first(&r->all, struct reservation, link));
	table_done(&r->taken, NULL);
	free(r);
}

void reserve_release(struct reserve *r, uint64_t job)
{
	struct reservation *entry, *next;

	list_each_safe (entry, next, &r->all, link)
		if (entry->job == job)
			drop(r, entry);
}

/* Whether a NIC in the configuration uses this value; link NULL: on any
 * link. */
static bool nic_has(const struct reserve *r, const char *member,
		    const char *value, const char *link)
{
	const char *uuid;
	json_t *instance, *nic;
	size_t i;

	json_object_foreach (
		json_unconst(config_all(r->config, CONFIG_INSTANCE)), uuid,
		instance)
		json_array_foreach (inst_nics(instance), i, nic) {
			auto_free char *other = NULL;

			if (!str_eq(json_str(nic, member, NULL), value))
				continue;
			if (link == NULL)
				return true;
			other = reserve_link(config_cluster(r->config), nic);
			if (strcmp(other, link) == 0)
				return true;
		}
	return false;
}

char *reserve_link(const json_t *cluster, const json_t *nic)
{
	const char *network = nic_network(nic);
	auto_json json_t *params = NULL;

	if (network != NULL)
		return xstrdup(network);
	params = params_fill_nic(cluster, nic_nicparams(nic));
	return xprintf("%s/%s", nicparams_mode(params), nicparams_link(params));
}

static bool node_has_ip(const struct reserve *r, const char *ip)
{
	const char *uuid;
	json_t *node;

	json_object_foreach (json_unconst(config_all(r->config, CONFIG_NODE)),
			     uuid, node)
		if (str_eq(node_primary_ip_or(node, NULL), ip) ||
		    str_eq(node_secondary_ip_or(node, NULL), ip))
			return true;
	return false;
}

/* Takes ownership of key. */
static bool take_key(struct reserve *r, uint64_t job, char *key STEALS)
{
	struct reservation *entry;

	if (table_get(&r->taken, key) != NULL) {
		free(key);
		return false;
	}
	entry = xalloc(sizeof(*entry));
	entry->job = job;
	entry->key = key;
	table_put(&r->taken, key, entry);
	list_append(&r->all, &entry->link);
	return true;
}

static bool take(struct reserve *r, uint64_t job, const char *kind,
		 const char *value)
{
	return take_key(r, job, xprintf("%s %s", kind, value));
}

struct reserve *reserve_copy(const struct reserve *r, struct config *config)
{
	struct reserve *copy = reserve_create(config);
	const struct reservation *entry;

	list_each (entry, &r->all, link)
		take_key(copy, entry->job, xstrdup(entry->key));
	return copy;
}

static bool mac_is_free(const struct reserve *r, const char *mac)
{
	auto_free char *key = xprintf("mac %s", mac);

	return table_get(&r->taken, key) == NULL &&
	       !nic_has(r, "mac", mac, NULL);
}

char *reserve_mac_generate(struct reserve *r, uint64_t job, const char *prefix,
			   struct error *err)
{
	if (prefix == NULL)
		prefix = cluster_mac_prefix(config_cluster(r->config));
	for (int i = 0; i < MAC_TRIES; i++) {
		unsigned tail = (unsigned)random_below(1 << 24);
		auto_free char *mac =
			xprintf("%s:%02x:%02x:%02x", prefix, tail >> 16,
				tail >> 8 & 0xff, tail & 0xff);

		if (!mac_is_free(r, mac))
			continue;
		take(r, job, "mac", mac);
		return steal(&mac);
	}
	error_set(err, ERR_RESERVATION, NULL,
		  "Cannot find an unused MAC address with prefix %s", prefix);
	return NULL;
}

int reserve_mac(struct reserve *r, uint64_t job, const char *mac,
		struct error *err)
{
	if (nic_has(r, "mac", mac, NULL) || !take(r, job, "mac", mac))
		return error_set(err, ERR_RESERVATION, NULL,
				 "MAC address %s is already in use", mac);
	return 0;
}

int reserve_name(struct reserve *r, uint64_t job, const char *instance_name,
		 struct error *err)
{
	const json_t *other =
		config_find(r->config, CONFIG_INSTANCE, instance_name);

	if (str_eq(object_name_or(other, NULL), instance_name))
		return error_set(err, ERR_PREREQ, ECODE_EXISTS,
				 "Instance '%s' is already in the cluster",
				 instance_name);
	if (!take(r, job, "name", instance_name))
		return error_set(err, ERR_RESERVATION, NULL,
				 "Instance '%s' is just being created by "
				 "another job",
				 instance_name);
	return 0;
}

int reserve_ip(struct reserve *r, uint64_t job, const char *ip,
	       const char *link, struct error *err)
{
	auto_free char *place = xprintf("%s on %s", ip, link);

	if (str_eq(cluster_master_ip_or(config_cluster(r->config), NULL), ip))
		return error_set(err, ERR_RESERVATION, NULL,
				 "IP address %s is the cluster's", ip);
	if (node_has_ip(r, ip))
		return error_set(err, ERR_RESERVATION, NULL,
				 "IP address %s is a node's", ip);
	if (nic_has(r, "ip", ip, link) || !take(r, job, "ip", place))
		return error_set(err, ERR_RESERVATION, NULL,
				 "IP address %s is already in use", ip);
	return 0;
}

/* --- ports --- */

/* Note the ports of the configuration in a set of flags from PORT_FIRST on. */
static void mark(bool *used, int64_t port)
{
	if (port >= PORT_FIRST && port <= PORT_LAST)
		used[port - PORT_FIRST] = true;
}

static void mark_used_ports(const struct reserve *r, bool *used)
{
	const char *uuid;
	json_t *object;

	json_object_foreach (
		json_unconst(config_all(r->config, CONFIG_INSTANCE)), uuid,
		object)
		mark(used, inst_network_port(object));
	json_object_foreach (json_unconst(config_all(r->config, CONFIG_DISK)),
			     uuid, object)
		if (str_eq(disk_dev_type_or(object, NULL), "drbd"))
			mark(used, json_integer_value(json_array_get(
					   disk_logical_id(object), 2)));
}

static bool is_reserved_port(const struct reserve *r, int port)
{
	auto_free char *key = xprintf("port %d", port);

	return table_get(&r->taken, key) != NULL;
}

/* Free ports up to the highest that was ever used, and what else was listed. */
static json_t *free_ports(const struct reserve *r, const bool *used,
			  int64_t highest)
{
	const json_t *before =
		cluster_tcpudp_port_pool(config_cluster(r->config));
	json_t *list = json_array();
	const json_t *item;
	size_t i;

	for (int port = PORT_FIRST; port <= PORT_LAST && port <= highest;
	     port++)
		if (!used[port - PORT_FIRST] && !is_reserved_port(r, port))
			json_array_append_new(list, json_integer(port));
	json_array_foreach (before, i, item)
		if (json_integer_value(item) < PORT_FIRST ||
		    json_integer_value(item) > PORT_LAST)
			json_array_append(list, json_unconst(item));
	return list;
}

/* Ganeti finds free ports by two members of the cluster object: keep them up to
 * date.  What was given back since the last time is listed as well. */
static void note_port(struct reserve *r, const bool *used, int port)
{
	const json_t *cluster = config_cluster(r->config);
	int64_t highest = cluster_highest_used_port(cluster);
	bool above = highest < port;
	auto_json json_t *list = free_ports(r, used, above ? port : highest);
	json_t *edited;

	if (!above && json_equal(list, cluster_tcpudp_port_pool(cluster)))
		return;
	edited = config_edit(cluster);
	cluster_set_tcpudp_port_pool(edited, json_incref(list));
	if (above)
		cluster_set_highest_used_port(edited, port);
	config_put_cluster(r->config, edited);
}

int reserve_port(struct reserve *r, uint64_t job, struct error *err)
{
	bool used[PORT_LAST - PORT_FIRST + 1] = {false};

	mark_used_ports(r, used);
	for (int port = PORT_FIRST; port <= PORT_LAST; port++) {
		char text[16];

		snprintf(text, sizeof(text), "%d", port);
		if (used[port - PORT_FIRST] || !take(r, job, "port", text))
			continue;
		note_port(r, used, port);
		return port;
	}
	error_set(err, ERR_RESERVATION, NULL,
		  "All ports from %d to %d are in use", PORT_FIRST, PORT_LAST);
	return 0;
}

/* Note the minors of this node below n in a set of flags.  The logical id of a
 * mirror is [node, node, port, minor, minor, secret]. */
static void mark_minors(const json_t *disk, const char *node, bool *used,
			size_t n)
{
	const json_t *id = disk_logical_id(disk);

	if (!str_eq(disk_dev_type_or(disk, NULL), "drbd"))
		return;
	for (size_t i = 0; i < 2; i++) {
		json_int_t minor =
			json_integer_value(json_array_get(id, 3 + i));

		if (minor >= 0 && (uint64_t)minor < n &&
		    str_eq(json_string_value(json_array_get(id, i)), node))
			used[minor] = true;
	}
}

int64_t reserve_minor(struct reserve *r, uint64_t job, const char *node_uuid)
{
	const json_t *disks = config_all(r->config, CONFIG_DISK);
	/* More than there are can not be in use. */
	size_t n = 2 * json_object_size(disks) + r->taken.n + 1, minor = 0;
	auto_free bool *used = xcalloc(n, sizeof(*used));
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(disks), uuid, disk)
		mark_minors(disk, node_uuid, used, n);
	for (;; minor++) {
		auto_free char *key = xprintf("%s %zu", node_uuid, minor);

		assert(minor < n);
		if (!used[minor] && take(r, job, "minor", key))
			return (int64_t)minor;
	}
}

static bool path_in_use(const struct reserve *r, const char *path)
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(config_all(r->config, CONFIG_DISK)),
			     uuid, disk)
		if (str_eq(json_string_value(
				   json_array_get(disk_logical_id(disk), 1)),
			   path))
			return true;
	return false;
}

bool reserve_path(struct reserve *r, uint64_t job, const char *path)
{
	return !path_in_use(r, path) && take(r, job, "path", path);
}

bool reserve_disk(struct reserve *r, uint64_t job, const char *uuid)
{
	return config_disk_owner(r->config, uuid) == NULL &&
	       take(r, job, "disk", uuid);
}
