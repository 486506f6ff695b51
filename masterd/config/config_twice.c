/* SPDX-License-Identifier: BSD-2-Clause */
/* What the configuration says in two places: the addresses of NICs are reserved
 * in their networks, and disks have their place in the list of their instance
 * as their name.  Jobs keep both together (config_networks.c), so differences
 * come from a change by hand, or from another program. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ippool.h"
#include "masterd/config/config_private.h"

/* So many addresses of a network are named. */
#define NAMED_MAX 10

/* --- addresses --- */

/* {network's UUID: [addresses of NICs]} */
static json_t *addresses(const struct config *c)
{
	json_t *all = json_object();
	const json_t *inst, *nic;
	const char *uuid;
	size_t i;

	json_object_foreach (c->objects[CONFIG_NETWORK], uuid, inst)
		json_object_set_new(all, uuid, json_array());
	json_object_foreach (c->objects[CONFIG_INSTANCE], uuid, inst)
		json_array_foreach (inst_nics(inst), i, nic)
			if (nic_has_network(nic) && nic_has_ip(nic))
				json_array_append_new(
					json_object_get(all, nic_network(nic)),
					json_string(nic_ip(nic)));
	return all;
}

static void report(const json_t *network, const char *what,
		   const struct strv *ips, struct strv *ret)
{
	auto_strv struct strv named = {0};
	auto_free char *list = NULL;

	if (ips->n == 0)
		return;
	for (size_t i = 0; i < ips->n && i < NAMED_MAX; i++)
		strv_add(&named, ips->items[i]);
	if (ips->n > NAMED_MAX)
		strv_addf(&named, "and %zu more", ips->n - NAMED_MAX);
	list = strv_join(&named, ", ");
	strv_addf(ret, "network %s %s: %s", network_name(network), what, list);
}

static void verify_networks(const struct config *c, struct strv *ret)
{
	auto_json json_t *all = addresses(c);
	const char *uuid;
	json_t *network;

	json_object_foreach (c->objects[CONFIG_NETWORK], uuid, network) {
		auto_strv struct strv ips = {0}, leaked = {0}, missing = {0};

		json_to_strv(json_get(all, uuid), &ips);
		ippool_differences(network, &ips, &leaked, &missing);
		report(network,
		       "reserves addresses that no NIC has (gnt-network "
		       "modify --remove-reserved-ips frees them)",
		       &leaked, ret);
		report(network,
		       "does not reserve addresses that NICs have (gnt-network "
		       "modify --add-reserved-ips does)",
		       &missing, ret);
	}
}

/* --- disks --- */

static void verify_disks(const struct config *c, const json_t *inst,
			 struct strv *ret)
{
	auto_strv struct strv wrong = {0};
	auto_free char *list = NULL;
	const json_t *uuid, *disk;
	size_t i;

	json_array_foreach (inst_disks(inst), i, uuid) {
		auto_free char *wanted = xprintf("disk/%zu", i);

		disk = config_get(c, CONFIG_DISK,
				  json_string_value(uuid) ?: "");
		if (disk != NULL && !str_eq(disk_iv_name(disk), wanted))
			strv_addf(&wrong,
				  "name of disk %zu should be '%s', but is "
				  "'%s'",
				  i, wanted, disk_iv_name(disk));
	}
	if (wrong.n == 0)
		return;
	list = strv_join(&wrong, "; ");
	strv_addf(ret, "instance %s has wrongly named disks: %s",
		  inst_name(inst), list);
}

void config_verify_twice(const struct config *c, struct strv *ret_problems)
{
	const char *uuid;
	json_t *inst;

	verify_networks(c, ret_problems);
	json_object_foreach (c->objects[CONFIG_INSTANCE], uuid, inst)
		verify_disks(c, inst, ret_problems);
}
