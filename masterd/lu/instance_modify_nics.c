/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: network interfaces. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/params.h"
#include "masterd/lu/instance_modify.h"
#include "masterd/lu/instance_spec.h"

/* Complete parameters are stored with a changed NIC, as Ganeti does. */
static void fill_params(struct lu *lu, json_t *nic)
{
	json_object_set_new(nic, "nicparams",
			    params_fill_nic(config_cluster(lu->m->config),
					    json_get(nic, "nicparams")));
}

static const char *or_none(const json_t *object, const char *key)
{
	return json_str(object, key, "None");
}

static const char *network_name(struct lu *lu, const json_t *nic)
{
	const char *uuid = json_str(nic, "network", NULL);

	return uuid == NULL ? "None"
			    : config_name(lu->m->config, CONFIG_NETWORK, uuid);
}

static int give_address(struct lu *lu, json_t *nic, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;

	return spec_nic_address(
		lu, nic, json_str(modify_of(lu)->inst, "primary_node", ""),
		op->conflicts_check, err);
}

static int add_nic(struct lu *lu, json_t *nics, size_t i, const json_t *given,
		   struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *nic = NULL;
	const json_t *params;
	auto_free char *text = NULL;

	if (json_array_size(nics) >= SPEC_NICS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance has too many network interfaces "
				 "(%zu), cannot add more",
				 json_array_size(nics));
	if (spec_check_nic_network(given, i, err) < 0)
		return -1;
	nic = spec_nic(lu, given, i, err);
	if (nic == NULL || spec_reserve_mac(lu, nic, i, err) < 0 ||
	    give_address(lu, nic, err) < 0)
		return -1;
	fill_params(lu, nic);
	params = json_get(nic, "nicparams");
	text = xprintf("add:mac=%s,ip=%s,mode=%s,link=%s,network=%s",
		       json_str(nic, "mac", ""), or_none(nic, "ip"),
		       json_str(params, "mode", ""),
		       json_str(params, "link", ""), network_name(lu, nic));
	json_array_insert(nics, i, nic);
	modify_row(m->nic_rows, json_string(text), "nic.%zu", i);
	return 0;
}

/* The old NIC as an opcode would give it, the changes on top. */
static json_t *merged(const json_t *old, const json_t *given)
{
	auto_json json_t *base = json_overlay(json_get(old, "nicparams"), NULL);
	static const char *const keys[] = {"mac", "ip", "name", "network"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_get(old, keys[i]) != NULL)
			json_object_set(base, keys[i],
					json_object_get(old, keys[i]));
	if (json_get(given, "bridge") != NULL)
		json_object_del(base, "link");
	return json_overlay(base, given);
}

static void report_nic(struct modify *m, size_t i, const json_t *nic,
		       const json_t *given)
{
	static const char *const own[] = {"mac", "ip", "name"};
	static const char *const filled[] = {"link", "mode", "vlan"};

	for (size_t k = 0; k < 3; k++)
		if (json_object_get(given, own[k]) != NULL)
			modify_row(m->nic_rows,
				   json_incref(json_object_get(given, own[k])),
				   "nic.%s/%zu", own[k], i);
	if (json_object_get(given, "network") != NULL)
		modify_row(m->nic_rows,
			   json_incref(json_object_get(given, "network")),
			   "nic.network/%zu", i);
	for (size_t k = 0; k < 3; k++)
		modify_row(m->nic_rows,
			   json_incref(json_object_get(
				   json_get(nic, "nicparams"), filled[k])),
			   "nic.%s/%zu", filled[k], i);
}

static int change_nic(struct lu *lu, json_t *nics, size_t i,
		      const json_t *given, struct error *err)
{
	const json_t *old = json_array_get(nics, i);
	const char *mac = json_str(given, "mac", NULL);
	auto_json json_t *whole = merged(old, given);
	auto_json json_t *nic = NULL;

	if (str_eq(mac, "auto") || str_eq(mac, "generate"))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is not a valid MAC address when "
				 "modifying an existing NIC",
				 mac);
	if (spec_check_nic_network(given, i, err) < 0)
		return -1;
	nic = spec_nic(lu, whole, i, err);
	if (nic == NULL)
		return -1;
	if (!str_eq(json_str(nic, "mac", ""), json_str(old, "mac", "")) &&
	    spec_reserve_mac(lu, nic, i, err) < 0)
		return -1;
	if ((json_get(given, "ip") != NULL ||
	     json_get(given, "network") != NULL) &&
	    (!str_eq(json_str(nic, "ip", NULL), json_str(old, "ip", NULL)) ||
	     !str_eq(json_str(nic, "network", NULL),
		     json_str(old, "network", NULL))) &&
	    give_address(lu, nic, err) < 0)
		return -1;
	fill_params(lu, nic);
	json_object_set(nic, "uuid", json_object_get(old, "uuid"));
	report_nic(modify_of(lu), i, nic, given);
	json_array_set(nics, i, nic);
	return 0;
}

int modify_nics(struct lu *lu, const json_t *actions, struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *nics = json_copy(json_object_get(m->inst, "nics"));

	for (size_t k = 0; k < json_array_size(actions); k++) {
		const json_t *one = json_array_get(actions, k);
		const char *action = json_string_value(json_array_get(one, 0));
		const json_t *given = json_array_get(one, 2);
		size_t i;
		int rc = 0;

		if (modify_find(nics, "NIC", action, json_array_get(one, 1), &i,
				err) < 0)
			return -1;
		if (strcmp(action, "add") == 0) {
			rc = add_nic(lu, nics, i, given, err);
		} else if (strcmp(action, "remove") == 0) {
			json_array_remove(nics, i);
			modify_row(m->nic_rows, json_string("remove"),
				   "NIC/%zu", i);
		} else {
			rc = change_nic(lu, nics, i, given, err);
		}
		if (rc < 0)
			return -1;
	}
	json_object_set(m->changed, "nics", nics);
	return 0;
}
