/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance policy: which sizes of instances a cluster or group allows. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

/* More bounds than a policy needs; each costs one comparison per instance. */
#define MINMAX_LIMIT 64

/* Members that Ganeti's policies do not have.  They are in a policy only when
 * somebody set them, so that Ganeti's programs can read all other policies. */
#define KEY_MEMORY "oversubscription-ratio"
#define KEY_FAILURES "max-node-failures"

/* Nobody plans to lose more nodes than this at once. */
#define FAILURES_LIMIT 16

static const struct spec {
	const char *name;
	int64_t min, max, std;
} specs[] = {
	{"memory-size", 128, 32768, 128}, {"cpu-count", 1, 8, 1},
	{"disk-count", 1, 16, 1},	  {"disk-size", 1024, 1048576, 1024},
	{"nic-count", 1, 8, 1},		  {"spindle-use", 1, 12, 1},
};

#define N_SPECS ARRAY_SIZE(specs)

json_t *params_default_ipolicy(void)
{
	json_t *min = json_object(), *max = json_object();
	json_t *std = json_object(), *templates = json_array();

	for (size_t i = 0; i < N_SPECS; i++) {
		json_set_int(min, specs[i].name, specs[i].min);
		json_set_int(max, specs[i].name, specs[i].max);
		json_set_int(std, specs[i].name, specs[i].std);
	}
	for (const char *const *t = template_names; *t != NULL; t++)
		json_array_append_new(templates, json_string(*t));
	return json_make("{s:[{s:o, s:o}], s:o, s:i, s:i, s:o}", "minmax",
			 "min", min, "max", max, "std", std, "spindle-ratio",
			 32, "vcpu-ratio", 4, "disk-templates", templates);
}

int64_t params_std_spec(const json_t *ipolicy, const char *name)
{
	int64_t std = json_int(json_get(ipolicy, "std"), name, 0);

	for (size_t i = 0; i < N_SPECS; i++)
		if (strcmp(specs[i].name, name) == 0 && specs[i].std == std)
			return 0;
	return std;
}

static const char *const ratios[] = {"vcpu-ratio", "spindle-ratio"};

json_t *params_overlay_ipolicy(const json_t *base, const json_t *changes)
{
	json_t *policy = json_overlay(base, changes);
	const json_t *std = json_get(changes, "std");

	if (json_is_object(std))
		json_object_set_new(policy, "std",
				    json_overlay(json_get(base, "std"), std));
	for (size_t i = 0; i < ARRAY_SIZE(ratios); i++) {
		const json_t *ratio = json_object_get(policy, ratios[i]);

		if (json_is_real(ratio))
			json_object_set_new(
				policy, ratios[i],
				params_number(json_real_value(ratio)));
	}
	return policy;
}

bool params_ipolicy_is_default(const json_t *value)
{
	if (json_array_size(value) == 1)
		value = json_array_get(value, 0);
	return str_eq(json_string_value(value), "default");
}

static const char *const extra_keys[] = {KEY_MEMORY, KEY_FAILURES};

json_t *params_ipolicy_known(json_t *ipolicy STEALS)
{
	json_t *known = json_copy(ipolicy);

	json_decref(ipolicy);
	for (size_t i = 0; i < 2; i++)
		json_object_del(known, extra_keys[i]);
	return known;
}

json_t *params_ipolicy_extra(const json_t *ipolicy)
{
	json_t *extra = json_object();

	for (size_t i = 0; i < 2; i++)
		if (json_get(ipolicy, extra_keys[i]) != NULL)
			json_object_set(
				extra, extra_keys[i],
				json_object_get(ipolicy, extra_keys[i]));
	return extra;
}

double params_memory_ratio(const json_t *ipolicy)
{
	return json_num(ipolicy, KEY_MEMORY, 1.0);
}

int64_t params_max_node_failures(const json_t *ipolicy)
{
	return json_int(ipolicy, KEY_FAILURES, 0);
}

/* --- checks --- */

static bool is_spec(const char *name)
{
	for (size_t i = 0; i < N_SPECS; i++)
		if (strcmp(specs[i].name, name) == 0)
			return true;
	return false;
}

/* All six values have to be there, as whole numbers that are not negative, and
 * no others. */
static int check_ispec(const json_t *ispec, const char *what, struct error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(ispec))
		return error_set(err, ERR_TYPE, NULL,
				 "Instance policy: %s values are missing",
				 what);
	json_object_foreach (json_unconst(ispec), name, value)
		if (!is_spec(name))
			return error_set(err, ERR_TYPE, NULL,
					 "Unknown parameter '%.100s'", name);
	for (size_t i = 0; i < N_SPECS; i++)
		if (json_int(ispec, specs[i].name, -1) < 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Instance policy: the %s value of %s "
					 "is missing or not a number from 0",
					 what, specs[i].name);
	return 0;
}

static int check_order(const json_t *low, const json_t *high,
		       const char *what_low, const char *what_high,
		       struct error *err)
{
	for (size_t i = 0; i < N_SPECS; i++) {
		int64_t lo = json_int(low, specs[i].name, 0);
		int64_t hi = json_int(high, specs[i].name, 0);

		if (lo > hi)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Instance policy: the %s value of %s "
					 "(%lld) is above its %s value (%lld)",
					 what_low, specs[i].name, (long long)lo,
					 what_high, (long long)hi);
	}
	return 0;
}

static int check_minmax(const json_t *minmax, struct error *err)
{
	size_t n = json_array_size(minmax);

	if (!json_is_array(minmax) || n == 0 || n > MINMAX_LIMIT)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance policy: minmax must be a list of 1 "
				 "to %d bounds",
				 MINMAX_LIMIT);
	for (size_t i = 0; i < n; i++) {
		const json_t *bound = json_array_get(minmax, i);
		const json_t *min = json_object_get(bound, "min");
		const json_t *max = json_object_get(bound, "max");

		if (check_ispec(min, "min", err) < 0 ||
		    check_ispec(max, "max", err) < 0 ||
		    check_order(min, max, "min", "max", err) < 0)
			return -1;
	}
	return 0;
}

static bool within(const json_t *ispec, const json_t *bound)
{
	struct error ignored;

	return check_order(json_object_get(bound, "min"), ispec, "", "",
			   &ignored) == 0 &&
	       check_order(ispec, json_object_get(bound, "max"), "", "",
			   &ignored) == 0;
}

/* The standard size must lie within one of the bounds. */
static int check_std(const json_t *std, const json_t *minmax, struct error *err)
{
	if (check_ispec(std, "std", err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(minmax); i++)
		if (within(std, json_array_get(minmax, i)))
			return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance policy: the std values are not within the "
			 "min and max values");
}

static int check_templates(const json_t *list, struct error *err)
{
	if (!json_is_array(list) || json_array_size(list) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance policy: disk-templates must be a "
				 "list with at least one template");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (template_find(name) == NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Instance policy: unknown disk "
					 "template '%.100s'",
					 name == NULL ? "" : name);
	}
	return 0;
}

static int check_ratio(const char *key, const json_t *value, struct error *err)
{
	if (json_is_number(value) && json_number_value(value) > 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance policy: %s must be a number above 0", key);
}

static int check_failures(const json_t *value, struct error *err)
{
	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) <= FAILURES_LIMIT)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance policy: " KEY_FAILURES " must be a number "
			 "from 0 to %d",
			 FAILURES_LIMIT);
}

static int check_member(const json_t *ipolicy, const char *key,
			const json_t *value, bool is_cluster, struct error *err)
{
	if (strcmp(key, "minmax") == 0)
		return check_minmax(value, err);
	if (strcmp(key, "disk-templates") == 0)
		return check_templates(value, err);
	if (strcmp(key, "vcpu-ratio") == 0 ||
	    strcmp(key, "spindle-ratio") == 0 || strcmp(key, KEY_MEMORY) == 0)
		return check_ratio(key, value, err);
	if (strcmp(key, KEY_FAILURES) == 0)
		return check_failures(value, err);
	if (strcmp(key, "std") == 0 && is_cluster)
		return check_std(value, json_object_get(ipolicy, "minmax"),
				 err);
	if (strcmp(key, "std") == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance policy: std values are set on the "
				 "cluster, not on a group");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance policy: unknown key '%.100s'", key);
}

int params_check_ipolicy(const json_t *ipolicy, bool is_cluster,
			 struct error *err)
{
	static const char *const keys[] = {"minmax", "std", "disk-templates",
					   "vcpu-ratio", "spindle-ratio"};
	const char *key;
	json_t *value;

	if (!json_is_object(ipolicy))
		return error_set(err, ERR_TYPE, NULL,
				 "The instance policy must be an object");
	for (size_t i = 0; is_cluster && i < ARRAY_SIZE(keys); i++)
		if (json_get(ipolicy, keys[i]) == NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Instance policy: '%s' is missing",
					 keys[i]);
	json_object_foreach (json_unconst(ipolicy), key, value)
		if (check_member(ipolicy, key, value, is_cluster, err) < 0)
			return -1;
	return 0;
}

int params_check_ipolicy_enabled(const json_t *ipolicy, const json_t *enabled,
				 struct error *err)
{
	const json_t *allowed = json_get(ipolicy, "disk-templates");
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	for (size_t i = 0; i < json_array_size(allowed); i++) {
		const char *name =
			json_string_value(json_array_get(allowed, i));

		if (!json_array_has_str(enabled, name))
			strv_add(&names, name);
	}
	if (names.n == 0)
		return 0;
	list = strv_join(&names, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The following disk templates are allowed by the "
			 "ipolicy, but not enabled on the cluster: %s",
			 list);
}

/* --- violations --- */

static void add_if_outside(const json_t *bound, const char *name,
			   const char *qualifier, int64_t value,
			   struct strv *ret)
{
	const json_t *min = json_object_get(bound, "min");
	const json_t *max = json_object_get(bound, "max");
	int64_t lo = json_int(min, name, 0);
	int64_t hi = json_int(max, name, INT64_MAX);

	if (value == PARAMS_SPEC_UNSAID || (value >= lo && value <= hi))
		return;
	strv_addf(ret, "%s%s value %lld is not in range [%lld, %lld]", name,
		  qualifier, (long long)value, (long long)lo, (long long)hi);
}

static void add_violations(const json_t *bound, const struct params_spec *spec,
			   struct strv *ret)
{
	add_if_outside(bound, "memory-size", "", spec->memory, ret);
	add_if_outside(bound, "cpu-count", "", spec->vcpus, ret);
	add_if_outside(bound, "nic-count", "", spec->nic_count, ret);
	add_if_outside(bound, "spindle-use", "", spec->spindle_use, ret);
	for (size_t i = 0; i < spec->n_disk_sizes; i++) {
		auto_free char *qualifier = xprintf("/%zu", i);

		add_if_outside(bound, "disk-size", qualifier,
			       spec->disk_sizes[i], ret);
	}
	/* A diskless instance has no disks by definition, so the minimum does
	 * not count. */
	if (!str_eq(spec->disk_template, "diskless"))
		add_if_outside(bound, "disk-count", "", spec->disk_count, ret);
}

static void check_template(const json_t *ipolicy, const char *template,
			   struct strv *ret)
{
	const json_t *allowed = json_get(ipolicy, "disk-templates");
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	if (allowed == NULL || template == NULL ||
	    json_array_has_str(allowed, template))
		return;
	json_to_strv(allowed, &names);
	strv_sort(&names);
	list = strv_join(&names, ", ");
	strv_addf(ret,
		  "Disk template %s is not allowed (allowed templates: %s)",
		  template, list);
}

static void move_all(struct strv *to, struct strv *from)
{
	strv_done(to);
	*to = *from;
	*from = (struct strv){0};
}

void params_ipolicy_violations(const json_t *ipolicy,
			       const struct params_spec *spec,
			       struct strv *ret_sentences)
{
	const json_t *minmax = json_get(ipolicy, "minmax");
	auto_strv struct strv best = {0};

	check_template(ipolicy, spec->disk_template, ret_sentences);
	for (size_t i = 0; i < json_array_size(minmax); i++) {
		auto_strv struct strv found = {0};

		add_violations(json_array_get(minmax, i), spec, &found);
		if (i == 0 || found.n < best.n)
			move_all(&best, &found);
	}
	for (size_t i = 0; i < best.n; i++)
		strv_add(ret_sentences, best.items[i]);
}
