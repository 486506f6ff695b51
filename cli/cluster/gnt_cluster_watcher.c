/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster watcher: its pause, and what it did.  The latter stands in files
 * of this node, which gantry-watcher writes: so that one sees it also where the
 * master does not answer. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

#define STATUS_BYTES_MAX (16 * 1024 * 1024)
/* So many of the last actions are shown. */
#define ACTIONS_SHOWN 10

/* --- pause --- */

static int show_pause(const struct cli *cli, const json_t *until)
{
	double moment = json_number_value(until);
	bool paused = json_is_number(until) && moment >= clock_seconds();

	if (cli_wants_data(cli)) {
		auto_json json_t *data =
			json_make("{s:b, s:O}", "paused", paused, "until",
				  paused ? until : json_null());

		cli_print_data(cli, data);
	} else if (!paused) {
		printf("The watcher is not paused.\n");
	} else {
		auto_free char *text = cli_ctime(moment);

		printf("The watcher is paused until %s.\n", text);
	}
	return CLI_OK;
}

static int go_on(struct cli *cli, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, "SetWatcherPause", json_make("[n]"), err);

	if (answer == NULL)
		return -1;
	printf("The watcher is no longer paused.\n");
	return CLI_OK;
}

static int pause_for(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = NULL;
	int64_t seconds;

	if (cli->n_args < 2)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Missing pause duration (like 30m or 2h)");
	seconds = cli_parse_seconds(cli->args[1], err);
	if (seconds < 0)
		return -1;
	answer = cli_call(cli, "SetWatcherPause",
			  json_make("[f]", clock_seconds() + (double)seconds),
			  err);
	return answer == NULL ? -1 : show_pause(cli, answer);
}

static int show_info(struct cli *cli, struct error *err)
{
	auto_json json_t *values =
		cli_call(cli, "QueryConfigValues",
			 json_make("[[s]]", "watcher_pause"), err);

	return values == NULL ? -1 : show_pause(cli, json_array_get(values, 0));
}

/* --- status --- */

static json_t *read_status(const char *file)
{
	struct error ignored;

	return json_read_file(file, STATUS_BYTES_MAX, &ignored);
}

/* {"watcher": {...}, "groups": {name: {...}}}; what has not run yet is null. */
static json_t *read_all(const struct paths *p)
{
	json_t *all =
		json_make("{s:o?, s:{}}", "watcher",
			  read_status(path(p, PATH_WATCHER_STATUS)), "groups");
	auto_strv struct strv groups = {0};

	ssconf_read_lines(p, "nodegroups", &groups);
	for (size_t i = 0; i < groups.n; i++) {
		char *blank = strchr(groups.items[i], ' ');
		auto_free char *file = NULL;
		json_t *status;

		if (blank == NULL)
			continue;
		*blank = '\0';
		file = xprintf("%s/watcher.%s.status", path(p, PATH_DATA_DIR),
			       groups.items[i]);
		status = read_status(file);
		if (status != NULL)
			json_object_set_new(json_object_get(all, "groups"),
					    blank + 1, status);
	}
	return all;
}

static void show_run(const json_t *status)
{
	double begin = json_num(status, "begin", 0);
	auto_free char *when = cli_time(begin);

	printf("  last run: %s, took %.1f s, exit code %jd\n", when,
	       json_num(status, "end", begin) - begin,
	       (intmax_t)json_int(status, "exit_code", 0));
}

static void show_actions(const json_t *actions)
{
	size_t n = json_array_size(actions);

	for (size_t i = n > ACTIONS_SHOWN ? n - ACTIONS_SHOWN : 0; i < n; i++) {
		const json_t *action = json_array_get(actions, i);
		auto_free char *when = cli_time(json_num(action, "time", 0));

		if (i + ACTIONS_SHOWN == n || i == 0)
			printf("  did:\n");
		printf("    %s %s\n", when, json_str(action, "text", ""));
	}
}

static void show_notes(const json_t *notes)
{
	json_t *note;
	size_t i;

	json_array_foreach (notes, i, note) {
		if (i == 0)
			printf("  did not, in the last run:\n");
		printf("    %s\n", json_string_value(note));
	}
}

static void show_part(const char *title, const json_t *status)
{
	printf("%s\n", title);
	show_run(status);
	show_actions(json_get(status, "actions"));
	show_notes(json_get(status, "notes"));
}

static int show_status(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_json json_t *all = NULL;
	const char *name;
	json_t *status;

	if (p == NULL)
		return -1;
	all = read_all(p);
	if (cli_wants_data(cli)) {
		cli_print_data(cli, all);
		return CLI_OK;
	}
	if (json_get(all, "watcher") == NULL) {
		printf("The watcher has not run on node %s yet (cron, a timer, "
		       "or gnt-cluster modify --watcher-interval=5m)\n",
		       p->hostname);
	} else {
		auto_free char *title = xprintf("Node %s", p->hostname);

		show_part(title, json_get(all, "watcher"));
	}
	json_object_foreach (json_object_get(all, "groups"), name, status) {
		auto_free char *title = xprintf("Node group %s", name);

		show_part(title, status);
	}
	return CLI_OK;
}

/* --- the command --- */

static int watcher(struct cli *cli, struct error *err)
{
	static const struct {
		const char *name;
		int (*run)(struct cli *cli, struct error *err);
	} ways[] = {
		{"continue", go_on},
		{"pause", pause_for},
		{"info", show_info},
		{"status", show_status},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (strcmp(cli->args[0], ways[i].name) == 0)
			return ways[i].run(cli, err);
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Command '%s' is not valid (use pause, continue, info "
			 "or status).",
			 cli->args[0]);
}

const struct cli_command cluster_watcher = {
	.name = "watcher",
	.args = "{pause <timespec>|continue|info|status}",
	.help = "Pause the watcher, let it go on, or show what it did",
	.min_args = 1,
	.max_args = 2,
	.options = {OPTS_INFO},
	.run = watcher,
};
