/* SPDX-License-Identifier: BSD-2-Clause */
/* The options --ipolicy-* of clusters and groups, and the --specs-* of init. */
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_suggest.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

#define VALUE_DEFAULT "default"

static int wrong(const char *option, const char *what, const char *text,
		 struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL, "%s: %s '%.200s'",
			 option, what, text);
}

static int unknown_size(const char *option, const char *name, struct error *err)
{
	static const char *const known[] = {
		"cpu-count", "disk-count",  "disk-size", "memory-size",
		"nic-count", "spindle-use", NULL};
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;
	const char *nearest;

	for (size_t i = 0; known[i] != NULL; i++) {
		if (strcmp(known[i], name) == 0)
			return 0;
		strv_add(&names, known[i]);
	}
	nearest = cli_nearest(name, &names);
	list = strv_join(&names, ", ");
	return error_set(err, ERR_TYPE, NULL,
			 "Unknown parameter '%.200s' of %s%s%s%s There are: %s",
			 name, option,
			 nearest == NULL ? "." : ", did you mean '",
			 nearest == NULL ? "" : nearest,
			 nearest == NULL ? "" : "'?", list);
}

/* Numbers by name; sizes may have units. */
static int type_spec(json_t *spec, const char *option, struct error *err)
{
	const char *name;
	json_t *value;
	void *tmp;

	json_object_foreach_safe(spec, tmp, name, value)
	{
		const char *text = json_string_value(value);
		bool is_size = strcmp(name, "memory-size") == 0 ||
			       strcmp(name, "disk-size") == 0;
		int64_t number;

		if (unknown_size(option, name, err) < 0)
			return -1;
		if (text == NULL)
			return wrong(option, "no number is given for", name,
				     err);
		if (is_size ? params_parse_size(text, &number, err) < 0
			    : !str_to_int64(text, &number))
			return error_set(
				err, ERR_PREREQ, ECODE_INVAL,
				"%s: %s is no %s: '%.200s'", option, name,
				is_size ? "size (like 512m or 10g)" : "number",
				text);
		json_set_int(spec, name, number);
	}
	return 0;
}

/* "min:a=1,b=2/max:a=3,b=4" */
static json_t *parse_bound(const char *text, const char *option,
			   struct error *err)
{
	auto_strv struct strv parts = {0};
	auto_json json_t *bound = json_object();

	str_split(&parts, text, '/');
	for (size_t i = 0; i < parts.n; i++) {
		const char *colon = strchr(parts.items[i], ':');
		auto_free char *key = NULL;
		json_t *spec;

		if (colon == NULL) {
			wrong(option, "neither min: nor max: stands before",
			      parts.items[i], err);
			return NULL;
		}
		key = xstrndup(parts.items[i],
			       (size_t)(colon - parts.items[i]));
		if ((strcmp(key, "min") != 0 && strcmp(key, "max") != 0) ||
		    json_object_get(bound, key) != NULL) {
			wrong(option, "one min: and one max: is wanted, not",
			      text, err);
			return NULL;
		}
		spec = opt_keyval(option, colon + 1, err);
		if (spec == NULL)
			return NULL;
		json_object_set_new(bound, key, spec);
		if (type_spec(spec, option, err) < 0)
			return NULL;
	}
	if (json_object_size(bound) == 2)
		return steal(&bound);
	wrong(option, "one min: and one max: is wanted, not", text, err);
	return NULL;
}

/* Bounds with "//" between. */
static json_t *parse_bounds(const char *text, const char *option,
			    struct error *err)
{
	auto_json json_t *bounds = json_array();
	auto_free char *rest = xstrdup(text);
	char *next = rest;

	while (next != NULL) {
		char *end = strstr(next, "//");
		json_t *bound;

		if (end != NULL)
			*end = '\0';
		bound = parse_bound(next, option, err);
		if (bound == NULL)
			return NULL;
		json_array_append_new(bounds, bound);
		next = end == NULL ? NULL : end + 2;
	}
	return steal(&bounds);
}

static int set_bounds(const struct cli *cli, json_t *ipolicy, struct error *err)
{
	const char *text = cli_text(cli, &OPT_IPOLICY_BOUNDS);
	json_t *bounds;

	if (text == NULL)
		return 0;
	bounds = strcmp(text, VALUE_DEFAULT) == 0
			 ? json_string(text)
			 : parse_bounds(text, "--ipolicy-bounds-specs", err);
	if (bounds == NULL)
		return -1;
	json_object_set_new(ipolicy, "minmax", bounds);
	return 0;
}

static int set_std(const struct cli *cli, json_t *ipolicy, struct error *err)
{
	json_t *std;

	if (!cli_given(cli, &OPT_IPOLICY_STD))
		return 0;
	std = json_deep_copy(cli_value(cli, &OPT_IPOLICY_STD));
	if (json_object_size(std) == 1 &&
	    json_is_true(json_object_get(std, VALUE_DEFAULT))) {
		json_decref(std);
		json_set_str(ipolicy, "std", VALUE_DEFAULT);
		return 0;
	}
	json_object_set_new(ipolicy, "std", std);
	return type_spec(std, "--ipolicy-std-specs", err);
}

static int set_failures(const struct cli *cli, json_t *ipolicy,
			struct error *err)
{
	const char *text = cli_text(cli, &OPT_NODE_FAILURES);
	int64_t number;

	if (text == NULL)
		return 0;
	if (strcmp(text, VALUE_DEFAULT) == 0)
		json_set_str(ipolicy, "max-node-failures", text);
	else if (str_to_int64(text, &number))
		json_set_int(ipolicy, "max-node-failures", number);
	else
		return wrong("--ipolicy-max-node-failures",
			     "not a number:", text, err);
	return 0;
}

/* A list of just "default" is no list of templates. */
static void set_templates(const struct cli *cli, json_t *ipolicy)
{
	const json_t *list = cli_value(cli, &OPT_IPOLICY_DT);
	const char *first = json_string_value(json_array_get(list, 0));

	if (list == NULL)
		return;
	if (json_array_size(list) == 1 && str_eq(first, VALUE_DEFAULT))
		json_set_str(ipolicy, "disk-templates", first);
	else
		json_object_set(ipolicy, "disk-templates", json_unconst(list));
}

int tool_set_ipolicy(const struct cli *cli, json_t *op, struct error *err)
{
	const struct {
		const char *key;
		const struct opt *option;
	} ratios[] = {{"vcpu-ratio", &OPT_VCPU_RATIO},
		      {"spindle-ratio", &OPT_SPINDLE_RATIO},
		      {"oversubscription-ratio", &OPT_OVERSUBSCRIPTION}};
	json_t *ipolicy = json_object();

	json_object_set_new(op, "ipolicy", ipolicy);
	if (set_bounds(cli, ipolicy, err) < 0 ||
	    set_std(cli, ipolicy, err) < 0 ||
	    set_failures(cli, ipolicy, err) < 0)
		return -1;
	set_templates(cli, ipolicy);
	for (size_t i = 0; i < ARRAY_SIZE(ratios); i++)
		if (cli_given(cli, ratios[i].option))
			json_object_set(
				ipolicy, ratios[i].key,
				json_unconst(cli_value(cli, ratios[i].option)));
	return 0;
}

/* --- init's other way to say it: one bound, by number --- */

static const struct {
	const char *name;
	const struct opt *option;
} specs[] = {
	{"memory-size", &OPT_SPECS_MEM},  {"cpu-count", &OPT_SPECS_CPU},
	{"disk-count", &OPT_SPECS_DISKS}, {"disk-size", &OPT_SPECS_DISK},
	{"nic-count", &OPT_SPECS_NICS},
};

#define N_SPECS ARRAY_SIZE(specs)

/* "min=1,max=2,std=1" of one number into the policy. */
static int split_spec(const struct cli *cli, size_t i, json_t *bound,
		      json_t *std, struct error *err)
{
	const json_t *given = cli_value(cli, specs[i].option);
	const char *which;
	json_t *value;

	json_object_foreach (json_unconst(given), which, value) {
		auto_json json_t *one =
			json_make("{s:O}", specs[i].name, value);
		json_t *target = strcmp(which, "std") == 0
					 ? std
					 : json_object_get(bound, which);

		if (target == NULL)
			return wrong(specs[i].option->name,
				     "only min, max and std are known, not",
				     which, err);
		if (type_spec(one, specs[i].option->name, err) < 0)
			return -1;
		json_object_update(target, one);
	}
	return 0;
}

int tool_split_specs(const struct cli *cli, json_t *ipolicy, struct error *err)
{
	auto_json json_t *preset = params_default_ipolicy();
	json_t *minmax = json_object_get(preset, "minmax");
	json_t *std = json_object_get(preset, "std");
	bool given = false;

	for (size_t i = 0; i < N_SPECS; i++) {
		given |= cli_given(cli, specs[i].option);
		if (split_spec(cli, i, json_array_get(minmax, 0), std, err) < 0)
			return -1;
	}
	if (!given)
		return 0;
	if (json_object_get(ipolicy, "minmax") != NULL ||
	    json_object_get(ipolicy, "std") != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A --specs-xxx option cannot be specified "
				 "with the --ipolicy-xxx-specs options");
	json_object_set(ipolicy, "minmax", minmax);
	json_object_set(ipolicy, "std", std);
	return 0;
}
