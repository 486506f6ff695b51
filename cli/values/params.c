/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters on the command line are text; opcodes carry them with types.  The
 * master checks values; here only names and types count. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_suggest.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

/* More names than a reader wants in an error. */
#define CHOICES_MAX 80

static int misfit(const char *key, const char *text, const char *what,
		  struct error *err)
{
	return error_set(err, ERR_TYPE, NULL,
			 "'%s' (value %s) is not a valid %s", key, text, what);
}

/* Nothing is false, as in Ganeti: "acpi=". */
static json_t *truth(const char *key, const char *text, struct error *err)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true},
		     {"yes", true},
		     {"false", false},
		     {"no", false},
		     {"", false}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(text, words[i].word) == 0)
			return json_boolean(words[i].value);
	misfit(key, text, "boolean", err);
	return NULL;
}

/* Blanks around it do not count. */
static json_t *number(const char *key, const char *text, bool whole,
		      struct error *err)
{
	auto_free char *copy = xstrdup(text);
	const char *bare = str_trim(copy);
	int64_t integer;
	double real;

	if (whole && str_to_int64(bare, &integer))
		return json_integer(integer);
	if (!whole && str_to_double(bare, &real))
		return json_real(real);
	misfit(key, text, whole ? "integer" : "float", err);
	return NULL;
}

/* The value of key as text when it is a plain word; it may be a boolean
 * already ("no_acpi"). */
static json_t *typed(const char *key, const json_t *value, const json_t *preset,
		     struct error *err)
{
	const char *text = json_string_value(value);

	if (text == NULL)
		return json_deep_copy(value);
	if (json_is_boolean(preset))
		return truth(key, text, err);
	if (json_is_number(preset))
		return number(key, text, json_is_integer(preset), err);
	return json_string(text);
}

/* The known names, if they are few enough to read. */
static char *choices(const json_t *all)
{
	auto_strv struct strv names = {0};
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(all), key, value)
		strv_add(&names, key);
	strv_sort(&names);
	return names.n > CHOICES_MAX ? NULL : strv_join(&names, ", ");
}

static int unknown_kind(const char *kind, const char *name, const json_t *all,
			struct error *err)
{
	auto_free char *list = choices(all);

	return error_set(err, ERR_PREREQ, ECODE_NOENT,
			 "%s '%s' not known (there are %s)", kind, name,
			 list == NULL ? "many others" : list);
}

static int unknown_parameter(const struct opt *option, const char *name,
			     const json_t *all, struct error *err)
{
	auto_buf struct buf text = {0};
	auto_strv struct strv names = {0};
	auto_free char *list = choices(all);
	const char *key, *nearest;
	json_t *value;

	json_object_foreach (json_unconst(all), key, value)
		strv_add(&names, key);
	nearest = cli_nearest(name, &names);
	buf_addf(&text, "Unknown parameter '%s' of --%s", name, option->name);
	if (option->letter != 0)
		buf_addf(&text, " (-%c)", option->letter);
	if (nearest != NULL)
		buf_addf(&text, ", did you mean '%s'?", nearest);
	if (list != NULL)
		buf_addf(&text, "%s There are: %s", nearest == NULL ? "." : "",
			 list);
	return error_set(err, ERR_TYPE, NULL, "%s", text.data);
}

/* The word that takes a value away, in any case. */
static bool is_default(const char *text)
{
	return text != NULL && strcasecmp(text, "default") == 0;
}

int tool_type_params(json_t *params, const struct opt *option,
		     const json_t *defaults, bool allow_default,
		     struct error *err)
{
	const char *key;
	json_t *value, *new;
	void *tmp;

	json_object_foreach_safe(params, tmp, key, value)
	{
		const json_t *preset = json_object_get(defaults, key);

		if (preset == NULL)
			return unknown_parameter(option, key, defaults, err);
		if (allow_default && is_default(json_string_value(value))) {
			json_set_str(params, key, "default");
			continue;
		}
		new = typed(key, value, preset, err);
		if (new == NULL)
			return -1;
		json_object_set_new(params, key, new);
	}
	return 0;
}

int tool_type_be(json_t *params, bool allow_default, struct error *err)
{
	static const char *const sizes[] = {"memory", "minmem", "maxmem"};
	auto_json json_t *defaults = params_default_be();

	json_object_set_new(defaults, "memory", json_integer(0));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const char *text = json_str(params, sizes[i], NULL);
		int64_t mib;

		if (text == NULL || (allow_default && is_default(text)))
			continue;
		if (params_parse_size(text, &mib, err) < 0)
			return error_wrap(err, "'%s' (value %s)", sizes[i],
					  text);
		json_set_int(params, sizes[i], mib);
	}
	return tool_type_params(params, &OPT_BEPARAMS, defaults, allow_default,
				err);
}

int tool_type_nd(json_t *params, struct error *err)
{
	auto_json json_t *defaults = params_default_nd();

	/* The default is a whole number, others need not be. */
	json_object_set_new(defaults, "cpu_speed", json_real(1));
	return tool_type_params(params, &OPT_NDPARAMS, defaults, true, err);
}

/* A comma ends a parameter on the command line, so USB devices have blanks
 * between there; everywhere else they have commas. */
static void devices_with_commas(json_t *params)
{
	const char *given = json_str(params, "usb_devices", NULL);
	auto_free char *list = given == NULL ? NULL : xstrdup(given);

	if (list == NULL)
		return;
	for (char *c = list; *c != '\0'; c++)
		*c = *c == ' ' ? ',' : *c;
	json_set_str(params, "usb_devices", list);
}

int tool_type_hv(json_t *params, const char *hypervisor, bool allow_default,
		 struct error *err)
{
	auto_json json_t *all = params_default_hvparams();
	auto_json json_t *defaults = json_object();
	const char *name;
	json_t *one;

	if (hypervisor != NULL && json_object_get(all, hypervisor) == NULL)
		return unknown_kind("Hypervisor", hypervisor, all, err);
	json_object_foreach (all, name, one)
		if (hypervisor == NULL || strcmp(name, hypervisor) == 0)
			json_object_update_missing(defaults, one);
	devices_with_commas(params);
	return tool_type_params(params, &OPT_HVPARAMS, defaults, allow_default,
				err);
}

/* --- options that several commands have --- */

json_t *tool_by_ident(const json_t *pairs, struct error *err)
{
	auto_json json_t *object = json_object();
	const json_t *pair;
	size_t i;

	json_array_foreach (pairs, i, pair) {
		const char *ident = json_string_value(json_array_get(pair, 0));
		json_t *values = json_array_get(pair, 1);

		if (!json_is_object(values)) {
			error_set(err, ERR_PARAMETER, NULL,
				  "'%s' wants parameters, NAME:KEY=VALUE",
				  ident);
			return NULL;
		}
		json_object_set(object, ident, values);
	}
	return steal(&object);
}

int tool_netmask(const struct cli *cli, struct error *err)
{
	const char *text = cli_text(cli, &OPT_MASTER_NETMASK);
	int64_t bits;

	if (text == NULL)
		return 0;
	if (!str_to_int64(text, &bits) || bits < 0 || bits > INT_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--master-netmask wants a number of bits, not "
				 "'%s'",
				 text);
	return (int)bits;
}

int tool_set_diskparams(const struct cli *cli, json_t *op, struct error *err)
{
	json_t *all = tool_by_ident(cli_value(cli, &OPT_DISKPARAMS), err), *one;
	auto_json json_t *defaults = params_known_diskparams();
	const char *name;

	if (all == NULL)
		return -1;
	json_object_set_new(op, "diskparams", all);
	json_object_foreach (all, name, one)
		if (json_object_get(defaults, name) == NULL)
			return unknown_kind("Disk template", name, defaults,
					    err);
	json_object_foreach (all, name, one)
		if (tool_type_params(one, &OPT_DISKPARAMS,
				     json_object_get(defaults, name), true,
				     err) < 0)
			return -1;
	return 0;
}

void tool_print_changes(const char *what, const char *name,
			const json_t *changes)
{
	const json_t *change;
	size_t i;

	if (json_array_size(changes) > 0)
		printf("Modified %s %s\n", what, name);
	json_array_foreach (changes, i, change) {
		auto_free char *param = cli_str(json_array_get(change, 0));
		auto_free char *value = cli_str(json_array_get(change, 1));

		printf(" - %-5s -> %s\n", param, value);
	}
}

json_t *tool_tags(const struct cli *cli)
{
	const char *given = cli_text(cli, &OPT_TAGS);
	auto_strv struct strv tags = {0};

	if (given != NULL)
		str_split(&tags, given, ',');
	return json_from_strv(&tags);
}
