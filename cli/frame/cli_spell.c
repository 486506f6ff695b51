/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates words of the design documents into those of 3.0.2: --defaults and
 * --hypervisor-defaults of the cluster, modes r and w of disks, bridge=auto of
 * NICs, CD-ROMs as devices.  It is done before the command looks at its
 * options, so that no command has to know these words. */
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"

/* The number of CD-ROMs that hypervisors support. */
static const char *const cdroms[] = {"cdrom_image_path", "cdrom2_image_path"};

#define N_CDROMS ARRAY_SIZE(cdroms)

/* The value of an option, to be changed; made when it was not given. */
static json_t *value_of(const struct cli *cli, const struct opt *option,
			json_t *empty STEALS)
{
	auto_json json_t *mine = empty;

	if (json_object_get(cli->values, option->name) == NULL)
		json_object_set(cli->values, option->name, mine);
	return json_object_get(cli->values, option->name);
}

/* --- devices --- */

static const char *whole_mode(const char *letter)
{
	return str_eq(letter, "r") ? "ro" : str_eq(letter, "w") ? "rw" : NULL;
}

static void spell_disk(json_t *values)
{
	const char *mode = whole_mode(json_str(values, "mode", NULL));
	const char *access = whole_mode(json_str(values, "access", NULL));

	if (access != NULL)
		json_object_del(values, "access");
	if (access != NULL || mode != NULL)
		json_set_str(values, "mode", access != NULL ? access : mode);
}

/* The image file of a new disk.  For external storage the word is a parameter
 * of the provider's. */
static void spell_image(json_t *values)
{
	json_t *path = json_object_get(values, "path");

	if (path == NULL || json_get(values, "adopt") != NULL)
		return;
	json_object_set(values, "adopt", path);
	json_object_del(values, "path");
}

static bool has_images(const struct cli *cli)
{
	const char *template = cli_text(cli, &OPT_DISK_TEMPLATE);

	return cli_has(cli, &OPT_OS_SIZE) && template != NULL &&
	       !template_get(template)->provider;
}

/* A NIC that names no bridge gets the default one. */
static void spell_nic(json_t *values)
{
	if (str_eq(json_str(values, "bridge", NULL), "auto"))
		json_object_del(values, "bridge");
}

static void spell_devices(const struct cli *cli, const struct opt *option,
			  void (*spell)(json_t *values))
{
	const json_t *all = cli_value(cli, option);

	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *values = json_array_get(json_array_get(all, i), 1);

		if (json_is_object(values))
			spell(values);
	}
}

/* --- parameters of hypervisors --- */

static int spell_cdrom_key(json_t *params, struct error *err)
{
	json_t *image = json_object_get(params, "cdrom");

	if (image == NULL)
		return 0;
	if (json_object_get(params, cdroms[0]) != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "cdrom and cdrom_image_path are the same "
				 "parameter");
	json_object_set(params, cdroms[0], image);
	json_object_del(params, "cdrom");
	return 0;
}

/* The form depends on the command: {...}, [name, {...}] or [[name, {...}],
 * ...]. */
static int spell_hv(json_t *value, struct error *err)
{
	json_t *item;
	size_t i;

	if (json_is_object(value))
		return spell_cdrom_key(value, err);
	json_array_foreach (value, i, item)
		if (spell_hv(item, err) < 0)
			return -1;
	return 0;
}

/* Where a command about one instance has its parameters. */
static json_t *instance_hv(const struct cli *cli)
{
	json_t *value;

	if (cli_has(cli, &OPT_HVPARAMS))
		return value_of(cli, &OPT_HVPARAMS, json_object());
	value = value_of(cli, &OPT_HYPERVISOR, json_make("[n, {}]"));
	return json_array_get(value, 1);
}

static int misfit(const char *ident, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "--cdrom wants N:path=FILE or N:remove, with N 0 or "
			 "1, not '%s'",
			 ident);
}

/* ["0", {"path": FILE}] or ["0", {"remove": true}] */
static int spell_cdrom(const json_t *pair, json_t *params, struct error *err)
{
	const char *ident = json_string_value(json_array_get(pair, 0));
	const json_t *values = json_array_get(pair, 1);
	const char *path = json_str(values, "path", NULL);
	int64_t n;

	if (!str_to_int64(ident, &n) || n < 0 || n >= (int64_t)N_CDROMS ||
	    json_object_size(values) != 1 ||
	    (path == NULL) != json_is_true(json_get(values, "remove")))
		return misfit(ident, err);
	json_set_str(params, cdroms[n], path == NULL ? "" : path);
	return 0;
}

static int spell_cdroms(const struct cli *cli, struct error *err)
{
	const json_t *given = cli_value(cli, &OPT_CDROM);
	json_t *params = given == NULL ? NULL : instance_hv(cli);

	for (size_t i = 0; i < json_array_size(given); i++)
		if (spell_cdrom(json_array_get(given, i), params, err) < 0)
			return -1;
	return 0;
}

/* --- the cluster --- */

static void spell_hv_defaults(const struct cli *cli)
{
	const json_t *given = cli_value(cli, &OPT_HV_DEFAULTS);

	if (given != NULL)
		json_array_extend(value_of(cli, &OPT_HVLIST, json_array()),
				  json_unconst(given));
}

/* The hypervisors that the cluster has, or will have; to be freed, NULL with
 * err. */
static json_t *enabled(struct cli *cli, struct error *err)
{
	const json_t *given = cli_value(cli, &OPT_ENABLED_HV);
	auto_json json_t *info = NULL;

	if (given != NULL)
		return json_deep_copy(given);
	if (strcmp(cli->command->name, "init") == 0)
		return json_array();
	info = cli_call(cli, "QueryClusterInfo", json_array(), err);
	return info == NULL
		       ? NULL
		       : json_deep_copy(json_get(info, "enabled_hypervisors"));
}

/* The default hypervisor is the first of those enabled. */
static int spell_hypervisor(struct cli *cli, const char *name,
			    struct error *err)
{
	auto_json json_t *all = enabled(cli, err);
	auto_json json_t *order = json_make("[s]", name);

	if (all == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *one = json_array_get(all, i);

		if (!str_eq(json_string_value(one), name))
			json_array_append(order, one);
	}
	if (json_array_size(all) > 0 &&
	    json_array_size(order) != json_array_size(all))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Hypervisor '%s' cannot be the default, as it "
				 "is not enabled (--enabled-hypervisors)",
				 name);
	json_object_set(cli->values, OPT_ENABLED_HV.name, order);
	return 0;
}

static void set_in(const struct cli *cli, const struct opt *option,
		   const char *key, const char *value)
{
	json_set_str(value_of(cli, option, json_object()), key, value);
}

static int spell_defaults(struct cli *cli, struct error *err)
{
	const json_t *given = cli_value(cli, &OPT_DEFAULTS);
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(given), key, value) {
		const char *text = json_string_value(value);

		if (str_empty(text))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "--defaults: %s wants a value", key);
		if (strcmp(key, "disksize") == 0)
			set_in(cli, &OPT_IPOLICY_STD, "disk-size", text);
		else if (strcmp(key, "bridge") == 0)
			set_in(cli, &OPT_NICPARAMS, "link", text);
		else if (strcmp(key, "hypervisor") != 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "--defaults knows hypervisor, "
					 "disksize and bridge, not '%s'",
					 key);
		else if (spell_hypervisor(cli, text, err) < 0)
			return -1;
	}
	return 0;
}

/* Options of different commands may have the same name; one that the command
 * does not have was not given. */
int cli_spell(struct cli *cli, struct error *err)
{
	if (cli_has(cli, &OPT_DISK))
		spell_devices(cli, &OPT_DISK, spell_disk);
	if (has_images(cli))
		spell_devices(cli, &OPT_DISK, spell_image);
	if (cli_has(cli, &OPT_NET))
		spell_devices(cli, &OPT_NET, spell_nic);
	if (cli_has(cli, &OPT_CDROM) && spell_cdroms(cli, err) < 0)
		return -1;
	if (cli_has(cli, &OPT_HV_DEFAULTS))
		spell_hv_defaults(cli);
	if (cli_has(cli, &OPT_DEFAULTS) && spell_defaults(cli, err) < 0)
		return -1;
	return spell_hv(json_object_get(cli->values, OPT_HVPARAMS.name), err);
}
