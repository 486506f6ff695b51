/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of customised parameters, as opcodes bring them. */
#include <ctype.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

/* The value that removes an entry, so that the inherited one is in force. */
#define VALUE_DEFAULT "default"

static int update_one(const struct param *table, const char *key,
		      const json_t *value, json_t *result, struct error *err)
{
	const struct param *param = params_table_find(table, key);
	json_t *turned;

	if (param == NULL)
		return error_set(err, ERR_TYPE, NULL,
				 "Unknown parameter '%.100s'", key);
	if (str_eq(json_string_value(value), VALUE_DEFAULT)) {
		json_object_del(result, key);
		return 0;
	}
	turned = params_value(param, value, err);
	if (turned == NULL)
		return -1;
	json_object_set_new(result, key, turned);
	return 0;
}

static int update(const struct param *table, const json_t *base,
		  const json_t *changes, json_t **ret, struct error *err)
{
	auto_json json_t *result = json_overlay(base, NULL);
	const char *key;
	json_t *value;

	if (changes != NULL && !json_is_null(changes) &&
	    !json_is_object(changes))
		return error_set(err, ERR_TYPE, NULL,
				 "Parameters must be given as an object of "
				 "names and values");
	json_object_foreach (json_unconst(changes), key, value)
		if (update_one(table, key, value, result, err) < 0)
			return -1;
	*ret = steal(&result);
	return 0;
}

int params_update_hv(const char *hypervisor, const json_t *base,
		     const json_t *changes, json_t **ret, struct error *err)
{
	const struct param *table = params_table(FAMILY_HV, hypervisor);

	if (table == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Unknown hypervisor '%.100s'", hypervisor);
	if (update(table, base, changes, ret, err) < 0)
		return error_wrap(err, "Hypervisor %s", hypervisor);
	return 0;
}

/* "memory" stands for both bounds: put them into a copy of changes. */
static json_t *without_alias(const json_t *changes)
{
	json_t *memory = json_object_get(changes, "memory");
	json_t *plain;

	if (memory == NULL)
		return json_ref(changes);
	plain = json_copy(json_unconst(changes));
	json_object_set(plain, "maxmem", memory);
	json_object_set(plain, "minmem", memory);
	json_object_del(plain, "memory");
	return plain;
}

int params_update_be(const json_t *base, const json_t *changes, json_t **ret,
		     struct error *err)
{
	auto_json json_t *plain = without_alias(changes);
	auto_json json_t *result = NULL;
	int64_t low, high;

	if (update(params_table(FAMILY_OWN, "be"), base, plain, &result, err) <
	    0)
		return -1;
	low = json_int(result, "minmem", 0);
	high = json_int(result, "maxmem", INT64_MAX);
	if (low > high)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "minmem (%lld) must not be greater than "
				 "maxmem (%lld)",
				 (long long)low, (long long)high);
	*ret = steal(&result);
	return 0;
}

/* An untagged VLAN is stored with its dot, which programs on nodes expect. */
static void dot_vlan(json_t *params)
{
	const char *vlan = json_str(params, "vlan", "");
	auto_free char *dotted = xprintf(".%s", vlan);

	if (isdigit((unsigned char)*vlan))
		json_set_str(params, "vlan", dotted);
}

int params_update_nic(const json_t *base, const json_t *changes, json_t **ret,
		      struct error *err)
{
	auto_json json_t *result = NULL;

	if (update(params_table(FAMILY_OWN, "nic"), base, changes, &result,
		   err) < 0)
		return -1;
	dot_vlan(result);
	if (!str_eq(json_str(result, "mode", ""), "routed") &&
	    str_eq(json_str(result, "link", NULL), ""))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A %s NIC needs the name of a link",
				 json_str(result, "mode", "bridged"));
	*ret = steal(&result);
	return 0;
}

int params_update_nd(const json_t *base, const json_t *changes, json_t **ret,
		     struct error *err)
{
	return update(params_table(FAMILY_OWN, "nd"), base, changes, ret, err);
}

int params_update_disk(const char *template, const json_t *base,
		       const json_t *changes, json_t **ret, struct error *err)
{
	const struct param *table = params_table(FAMILY_DISK, template);

	if (table == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Unknown disk template '%.100s'", template);
	if (update(table, base, changes, ret, err) < 0)
		return error_wrap(err, "Disk template %s", template);
	return 0;
}

json_t *params_update_os(const json_t *base, const json_t *changes)
{
	json_t *result = json_overlay(base, changes);
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(changes), name, value)
		if (json_is_null(value) ||
		    str_eq(json_string_value(value), VALUE_DEFAULT))
			json_object_del(result, name);
	return result;
}
