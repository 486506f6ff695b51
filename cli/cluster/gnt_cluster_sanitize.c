/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster sanitize-config: this node's configuration in a form that can be
 * shown to others.  It needs no master, since it is used when something is
 * wrong. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/sanitize.h"

/* As the master daemon reads it. */
#define CONFIG_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* Limits of this machine are not an error of ours. */
static int of_machine(struct error *err)
{
	return error_as(err, ERR_PREREQ, ECODE_ENVIRON);
}

static json_t *read_config(const struct paths *p, struct error *err)
{
	auto_free char *file = paths_local(p, paths_plain(PATH_CONFIG_DATA));
	auto_free char *text = NULL;
	json_t *config;
	size_t len;

	text = fs_read(file, CONFIG_BYTES_MAX, &len, err);
	if (text == NULL) {
		error_wrap(err, "Cannot read the configuration (the master and "
				"its candidates have it, for root)");
		of_machine(err);
		return NULL;
	}
	config = json_parse(text, len, err);
	if (config == NULL)
		error_wrap(err, "The configuration %s", file);
	return config;
}

static int sanitize(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_json json_t *config = p == NULL ? NULL : read_config(p, err);
	auto_json json_t *clean = NULL;
	auto_free char *text = NULL;
	const char *file = cli->n_args > 0 ? cli->args[0] : NULL;

	if (config == NULL)
		return -1;
	clean = sanitize_config(config, cli_given(cli, &OPT_ANONYMOUS));
	text = json_dumps(clean, JSON_INDENT(1) | JSON_ENCODE_ANY);
	if (file == NULL) {
		puts(text);
		return fflush(stdout) == 0 ? CLI_OK : CLI_FAILURE;
	}
	if (fs_exists(file) && !cli_given(cli, &OPT_FORCE))
		return error_set(err, ERR_PREREQ, ECODE_EXISTS,
				 "File %s exists; --force writes over it",
				 file);
	return fs_write_atomic(file, text, strlen(text), 0600, err) < 0
		       ? of_machine(err)
		       : CLI_OK;
}

const struct cli_command cluster_sanitize = {
	.name = "sanitize-config",
	.args = "[--anonymous] [-f] [FILE]",
	.help = "Write the configuration without secrets, for the report of a "
		"bug",
	.max_args = 1,
	.options = {&OPT_ANONYMOUS, &OPT_FORCE},
	.run = sanitize,
};
