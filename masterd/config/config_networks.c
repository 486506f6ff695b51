/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses that instances have in networks: the networks' reservations
 * follow the instances, whoever changes them. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ippool.h"
#include "masterd/config/config_private.h"

static bool has_address(const json_t *nics, const char *network, const char *ip)
{
	const json_t *nic;
	size_t i;

	json_array_foreach (nics, i, nic)
		if (str_eq(nic_ip(nic), ip) &&
		    str_eq(nic_network(nic), network))
			return true;
	return false;
}

bool config_has_address(const struct config *c, const char *network,
			const char *ip)
{
	const char *uuid;
	json_t *inst;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     inst)
		if (has_address(inst_nics(inst), network, ip))
			return true;
	return false;
}

static void change(struct config *c, const json_t *nic, bool take)
{
	const char *ip = nic_ip(nic);
	const char *uuid = nic_network(nic);
	const json_t *network =
		uuid == NULL ? NULL : config_get(c, CONFIG_NETWORK, uuid);
	struct error ignored;
	json_t *changed;
	int rc;

	/* Configurations of older versions may have an address twice. */
	if (network == NULL || ip == NULL ||
	    (!take && config_has_address(c, uuid, ip)))
		return;
	changed = config_edit(network);
	rc = take ? ippool_take(changed, ip, false, &ignored)
		  : ippool_give(changed, ip, false, &ignored);
	if (rc == 0)
		config_put(c, CONFIG_NETWORK, changed);
	else /* it is so already, or not of the network: nothing to note */
		json_decref(changed);
}

void config_networks_follow(struct config *c, const json_t *before,
			    const json_t *after)
{
	auto_json json_t *old = json_ref(inst_nics(before));
	auto_json json_t *new = json_ref(inst_nics(after));
	const json_t *nic;
	size_t i;

	if (old == new)
		return;
	json_array_foreach (old, i, nic)
		if (!has_address(new, nic_network(nic), nic_ip(nic)))
			change(c, nic, false);
	json_array_foreach (new, i, nic)
		if (!has_address(old, nic_network(nic), nic_ip(nic)))
			change(c, nic, true);
}
