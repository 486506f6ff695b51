/* SPDX-License-Identifier: BSD-2-Clause */
/* --hypervisor-state and --disk-state, as several commands have them. */
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

/* Sizes may have units; "default" stays for the master. */
static int type_numbers(json_t *state, struct error *err)
{
	const char *key;
	json_t *value;
	void *tmp;

	json_object_foreach_safe(state, tmp, key, value)
	{
		const char *text = json_string_value(value);
		int64_t number;

		if (text == NULL || strcmp(text, "default") == 0)
			continue;
		if (!str_to_int64(text, &number) &&
		    params_parse_size(text, &number, err) < 0)
			return error_wrap(err, "'%s'", key);
		json_set_int(state, key, number);
	}
	return 0;
}

static int set_hv(const struct cli *cli, json_t *ret, struct error *err)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (cli_value(cli, &OPT_HV_STATE), i, pair) {
		json_t *numbers = json_array_get(pair, 1);

		if (type_numbers(numbers, err) < 0)
			return -1;
		json_object_set(ret, json_string_value(json_array_get(pair, 0)),
				numbers);
	}
	return 0;
}

/* The type ends at the first slash: names may be folders. */
static int set_disk(const struct cli *cli, json_t *ret, struct error *err)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (cli_value(cli, &OPT_DISK_STATE), i, pair) {
		const char *ident = json_string_value(json_array_get(pair, 0));
		const char *slash = strchr(ident, '/');
		json_t *numbers = json_array_get(pair, 1), *storages;
		auto_free char *type = NULL;

		if (slash == NULL || slash == ident || slash[1] == '\0')
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "--disk-state wants "
					 "STORAGE/NAME:KEY=VALUE, not '%s'",
					 ident);
		if (type_numbers(numbers, err) < 0)
			return -1;
		type = xstrndup(ident, (size_t)(slash - ident));
		storages = json_object_get(ret, type);
		if (storages == NULL) {
			storages = json_object();
			json_object_set_new(ret, type, storages);
		}
		json_object_set(storages, slash + 1, numbers);
	}
	return 0;
}

int tool_set_states(const struct cli *cli, json_t *op, struct error *err)
{
	json_t *hv = json_object(), *disk = json_object();

	json_object_set_new(op, "hv_state", hv);
	json_object_set_new(op, "disk_state", disk);
	return set_hv(cli, hv, err) < 0 ? -1 : set_disk(cli, disk, err);
}
