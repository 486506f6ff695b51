/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of parameters and what a new cluster starts with. */
#include "lib/model/params/params_table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

/* clang-format off */
#define TABLE(id, family, name) static const struct param id##_table[] = {
#define PARAM(name, type, preset, check, arg) \
	{name, PARAM_##type, preset, CHECK_##check, arg},
#define OWN(prefix, name, ...) PARAM(#name, __VA_ARGS__)
#define ADDED(name, type, check, arg) \
	{name, PARAM_##type, NULL, CHECK_##check, arg},
#define TABLE_END {0}};
#include "lib/model/params/params.def"
#undef TABLE
#undef PARAM
#undef OWN
#undef ADDED
#undef TABLE_END

static const struct table_row {
	enum param_family family;
	const char *name;
	const struct param *params;
} tables[] = {
#define TABLE(id, family, name) {FAMILY_##family, name, id##_table},
#define PARAM(name, type, preset, check, arg)
#define OWN(prefix, name, type, preset, check, arg)
#define ADDED(name, type, check, arg)
#define TABLE_END
#include "lib/model/params/params.def"
#undef TABLE
#undef PARAM
#undef OWN
#undef ADDED
#undef TABLE_END
};
/* clang-format on */

#define N_TABLES ARRAY_SIZE(tables)

/* Of a template without parameters. */
static const struct param no_params[] = {{0}};

const struct param *params_table(enum param_family family, const char *name)
{
	for (size_t i = 0; i < N_TABLES; i++)
		if (tables[i].family == family && str_eq(tables[i].name, name))
			return tables[i].params;
	return family == FAMILY_DISK && template_find(name) != NULL ? no_params
								    : NULL;
}

const struct param *params_table_find(const struct param *table,
				      const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/* Above this a double does not represent every whole number. */
#define WHOLE_MAX 9e15

json_t *params_number(double number)
{
	if (fabs(number) < WHOLE_MAX && trunc(number) == number)
		return json_integer((json_int_t)number);
	return json_real(number);
}

/* a default from params.def, which is valid */
json_t *params_table_preset(const struct param *param)
{
	switch (param->type) {
	case PARAM_BOOL:
		return json_boolean(strcmp(param->preset, "true") == 0);
	case PARAM_INT:
	case PARAM_SIZE:
		return json_integer(strtoll(param->preset, NULL, 10));
	case PARAM_FLOAT:
		return params_number(strtod(param->preset, NULL));
	case PARAM_STRING:
	case PARAM_MAYBE:
		return json_string(param->preset);
	}
	assert(!"no such type of a parameter");
	return NULL;
}

/* {name: default} of a table. */
static json_t *params_table_defaults(const struct param *table)
{
	json_t *values = json_object();

	for (; table->name != NULL; table++)
		if (table->preset != NULL)
			json_object_set_new(values, table->name,
					    params_table_preset(table));
	return values;
}

json_t *params_default_hv(const char *hypervisor)
{
	const struct param *table = params_table(FAMILY_HV, hypervisor);

	return table == NULL ? NULL : params_table_defaults(table);
}

json_t *params_default_hvparams(void)
{
	json_t *all = json_object();

	for (size_t i = 0; i < N_TABLES; i++)
		if (tables[i].family == FAMILY_HV)
			json_object_set_new(
				all, tables[i].name,
				params_table_defaults(tables[i].params));
	return all;
}

json_t *params_default_diskparams(void)
{
	json_t *all = json_object();

	for (const char *const *t = template_names; *t != NULL; t++)
		json_object_set_new(
			all, *t,
			params_table_defaults(params_table(FAMILY_DISK, *t)));
	return all;
}

json_t *params_known_diskparams(void)
{
	json_t *all = params_default_diskparams();

	for (const char *const *t = template_names; *t != NULL; t++) {
		const struct param *p = params_table(FAMILY_DISK, *t);

		for (; p->name != NULL; p++)
			if (p->preset == NULL)
				json_set_str(json_object_get(all, *t), p->name,
					     "");
	}
	return all;
}

json_t *params_default_be(void)
{
	return params_table_defaults(be_table);
}

json_t *params_default_nic(void)
{
	return params_table_defaults(nic_table);
}

json_t *params_default_nd(void)
{
	return params_table_defaults(nd_table);
}

bool params_hv_is_global(const char *name)
{
	static const char *const names[] = {"migration_bandwidth",
					    "migration_mode", "migration_port",
					    "xen_cmd"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

int params_check_hv_own(const json_t *hvparams, struct error *err)
{
	auto_strv struct strv globals = {0};
	auto_free char *text = NULL;
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(hvparams), name, value)
		if (params_hv_is_global(name))
			strv_add(&globals, name);
	if (globals.n == 0)
		return 0;
	strv_sort(&globals);
	text = strv_join(&globals, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The following hypervisor parameters are global and "
			 "cannot be customized at instance level, please "
			 "modify them at cluster level: %s",
			 text);
}

void params_hv_names(struct strv *ret)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		const struct param *p = tables[i].params;

		if (tables[i].family != FAMILY_HV)
			continue;
		for (; p->name != NULL; p++)
			strv_add_unique(ret, p->name);
	}
	strv_sort(ret);
}
