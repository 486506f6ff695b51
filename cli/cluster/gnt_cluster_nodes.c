/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster command and copyfile: the same on many nodes, at the same time.
 * A command runs on the master last, when it has ended on all others: it may
 * take the network or the machine down. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cluster/node_output.h"
#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/remote.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"

#define TELL_US 200000 /* between two lines of progress */

/* What is asked of each node. */
enum { COL_NAME, COL_OFFLINE, COL_MASTER, COL_SECONDARY, COL_PORT };
#define COLUMNS                                                                \
	"[s, s, s, s, s]", "name", "offline", "master", "sip", "ndp/ssh_port"

/* The filter of -n and -g: JSON null without either; to be freed. */
static json_t *filter(const struct cli *cli)
{
	auto_json json_t *all = json_make("[s]", "&"), *names = NULL;
	const char *group = cli_text(cli, &OPT_GROUP);
	const json_t *name;
	size_t i;

	if (cli_given(cli, &OPT_ON_NODES)) {
		names = json_make("[s]", "|");
		json_array_foreach (cli_value(cli, &OPT_ON_NODES), i, name)
			json_array_append_new(names, json_make("[s, s, O]", "=",
							       "name", name));
		json_array_append(all, names);
	}
	if (group != NULL)
		json_array_append_new(all,
				      json_make("[s, [s, s, s], [s, s, s]]",
						"|", "=", "group", group, "=",
						"group.uuid", group));
	return json_array_size(all) == 1 ? json_null() : steal(&all);
}

static const json_t *cell(const json_t *row, size_t column)
{
	return json_array_get(json_array_get(row, column), 1);
}

static bool is_master(const json_t *row)
{
	return json_is_true(cell(row, COL_MASTER));
}

/* The rows of the nodes that are online, the master's last. */
static json_t *online_nodes(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = cli_call(
		cli, "Query",
		json_make("[s, o, o]", "node", json_make(COLUMNS), filter(cli)),
		err);
	auto_json json_t *rows = json_array(), *last = json_array();
	auto_strv struct strv offline = {0};
	auto_free char *names = NULL;
	json_t *row;
	size_t i;

	if (answer == NULL ||
	    tool_check_choice(cli, json_get(answer, "data"),
			      cli_value(cli, &OPT_ON_NODES),
			      cli_text(cli, &OPT_GROUP), err) < 0)
		return NULL;
	json_array_foreach (json_get(answer, "data"), i, row) {
		if (json_is_true(cell(row, COL_OFFLINE)))
			strv_add(&offline,
				 json_string_value(cell(row, COL_NAME)));
		else
			json_array_append(is_master(row) ? last : rows, row);
	}
	names = strv_join(&offline, ", ");
	if (offline.n > 0)
		fprintf(stderr, "Note: skipping offline node(s): %s\n", names);
	json_array_extend(rows, last);
	if (json_array_size(rows) > 0)
		return steal(&rows);
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "None of the nodes that are meant is online");
	return NULL;
}

/* The values for all connections; `values` keeps the strings. */
static int open_remote(struct cli *cli, struct remote *ret, json_t **ret_info,
		       struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	json_t *info = p == NULL ? NULL
				 : cli_call(cli, "QueryClusterInfo",
					    json_array(), err);

	if (info == NULL)
		return -1;
	*ret_info = info;
	*ret = (struct remote){
		.paths = p,
		.cluster = json_str(info, "name", ""),
		.ipv6 = json_int(info, "primary_ip_version", 4) == 6};
	return 0;
}

static struct remote_node node_of(const json_t *row, bool secondary)
{
	const char *name = json_string_value(cell(row, COL_NAME));

	return (struct remote_node){
		.name = name,
		.address = secondary
				   ? json_string_value(cell(row, COL_SECONDARY))
				   : name,
		.port = (int)json_integer_value(cell(row, COL_PORT))};
}

/* The nodes of the rows, but for the master's, which is the last one if it is
 * among them; to be freed. */
static struct remote_node *other_nodes(const json_t *rows, bool secondary,
				       size_t *ret_n)
{
	struct remote_node *nodes =
		xcalloc(json_array_size(rows) + 1, sizeof(*nodes));
	const json_t *row;
	size_t i, n = 0;

	json_array_foreach (rows, i, row)
		if (!is_master(row))
			nodes[n++] = node_of(row, secondary);
	*ret_n = n;
	return nodes;
}

/* --- command --- */

static int command(struct cli *cli, struct error *err)
{
	struct node_output_style style = {
		.names = cli_given(cli, &OPT_MACHINE_NAMES),
		.failures_only = cli_given(cli, &OPT_FAILURE_ONLY),
		.stream = cli_given(cli, &OPT_STREAM)};
	auto_json json_t *info = NULL, *rows = NULL;
	auto_strv struct strv words = {0};
	auto_free struct remote_node *others = NULL;
	auto_free char *line = NULL;
	struct remote_node master;
	struct remote remote;
	size_t n;

	for (int k = 0; k < cli->n_args; k++)
		strv_add(&words, cli->args[k]);
	line = strv_join(&words, " ");
	if (open_remote(cli, &remote, &info, err) < 0)
		return -1;
	rows = online_nodes(cli, err);
	if (rows == NULL)
		return -1;
	if (style.stream)
		style.names = json_array_size(rows) > 1;
	others = other_nodes(rows, false, &n);
	node_output_run(&remote, line, &style, others, n);
	if (n == json_array_size(rows))
		return CLI_OK;
	master = node_of(json_array_get(rows, n), false);
	node_output_run(&remote, line, &style, &master, 1);
	return CLI_OK;
}

/* --- copyfile --- */

/* How far all copies are, for whoever sits at the terminal. */
struct progress {
	bool shown;
	size_t n, ended;
	uint64_t done, total; /* bytes, of all nodes together */
	int64_t told_us;
};

static void tell(struct progress *p, bool now)
{
	int64_t time_us = clock_mono_us();

	if (!p->shown || (!now && time_us - p->told_us < TELL_US))
		return;
	p->told_us = time_us;
	fprintf(stderr, "\r%zu of %zu nodes, %" PRIu64 " of %" PRIu64 " MiB",
		p->ended, p->n, p->done >> 20, p->total >> 20);
	if (p->ended == p->n)
		fprintf(stderr, "\n");
	fflush(stderr);
}

/* One copy. */
struct copy {
	struct progress *all;
	uint64_t done;
};

static void on_progress(struct remote_job *job, uint64_t done, uint64_t total)
{
	struct copy *c = job->arg;

	(void)total;
	c->all->done += done - c->done;
	c->done = done;
	tell(c->all, false);
}

static void on_end(struct remote_job *job)
{
	struct copy *c = job->arg;

	c->all->ended++;
	if (job->failed)
		fprintf(stderr, "%sCopy of file %s to node %s:%d failed: %s\n",
			c->all->shown ? "\n" : "", job->file, job->node.name,
			job->node.port, job->err.text);
	tell(c->all, true);
}

static void copy_to(const struct remote *r, const char *from, const char *file,
		    const struct remote_node *nodes, size_t n)
{
	auto_free struct remote_job *jobs = xcalloc(n + 1, sizeof(*jobs));
	auto_free struct copy *copies = xcalloc(n + 1, sizeof(*copies));
	struct progress all = {.shown = isatty(STDERR_FILENO), .n = n};
	struct stat info;

	if (stat(file, &info) == 0)
		all.total = (uint64_t)info.st_size * n;
	for (size_t i = 0; i < n; i++) {
		copies[i].all = &all;
		jobs[i] = (struct remote_job){.node = nodes[i],
					      .file = file,
					      .from = from,
					      .on_progress = on_progress,
					      .on_end = on_end,
					      .arg = &copies[i]};
	}
	remote_do(r, jobs, n);
}

/* Its path from the root, to be freed.  A link is not followed: the file gets
 * its name on the other nodes, and the contents of what it points to. */
static char *absolute(const char *file)
{
	auto_free char *cwd = *file == '/' ? NULL : getcwd(NULL, 0);
	auto_free char *whole = xprintf("%s/%s", cwd == NULL ? "" : cwd, file);
	auto_strv struct strv parts = {0};
	auto_buf struct buf path = {0};
	auto_free const char **kept = NULL;
	size_t n = 0;

	str_split(&parts, whole, '/');
	kept = xcalloc(parts.n, sizeof(*kept));
	for (size_t i = 0; i < parts.n; i++) {
		const char *part = parts.items[i];

		if (strcmp(part, "..") == 0)
			n -= n > 0;
		else if (*part != '\0' && strcmp(part, ".") != 0)
			kept[n++] = part;
	}
	for (size_t i = 0; i < n; i++)
		buf_addf(&path, "/%s", kept[i]);
	return buf_steal(&path);
}

static int copyfile(struct cli *cli, struct error *err)
{
	auto_free char *file = absolute(cli->args[0]);
	auto_free char *from = realpath(file, NULL);
	auto_json json_t *info = NULL, *rows = NULL;
	auto_free struct remote_node *nodes = NULL;
	struct remote remote;
	size_t n;

	if (from == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No such filename '%s'", cli->args[0]);
	if (open_remote(cli, &remote, &info, err) < 0)
		return -1;
	rows = online_nodes(cli, err);
	if (rows == NULL)
		return -1;
	nodes = other_nodes(rows, cli_given(cli, &OPT_REPLICATION_NET), &n);
	copy_to(&remote, from, file, nodes, n);
	return CLI_OK;
}

const struct cli_command cluster_command = {
	.name = "command",
	.args = "[-n <node>...] <command>",
	.help = "Run a command on all or some nodes",
	.min_args = 1,
	.max_args = -1,
	.ends_options = true,
	.options = {&OPT_ON_NODES, &OPT_GROUP, &OPT_MACHINE_NAMES,
		    &OPT_FAILURE_ONLY, &OPT_STREAM},
	.run = command,
};

const struct cli_command cluster_copyfile = {
	.name = "copyfile",
	.args = "[-n <node>...] <file>",
	.help = "Copy a file to all or some other nodes",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_ON_NODES, &OPT_GROUP, &OPT_REPLICATION_NET},
	.run = copyfile,
};
