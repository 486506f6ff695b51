/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-vcluster create: the options about its remote API, and those for testing
 * other programs. */
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/array.h"
#include "lib/base/str.h"

const struct opt vcluster_opt_rapi = {
	.name = "rapi",
	.kind = KIND_TEXT,
	.arg = "[PORT]",
	.help = "Start the remote API on the master, at port 5080 unless "
		"another is given",
};

const struct opt vcluster_opt_rapi_on = {
	.name = "rapi-on",
	.kind = KIND_TEXT,
	.arg = "NODE,...",
	.help = "Start the remote API also on these nodes, or on all "
		"\"candidates\"",
};

const struct opt vcluster_opt_user = {
	.name = "user",
	.kind = KIND_TEXT,
	.repeat = true,
	.arg = "NAME:PASSWORD:RIGHTS",
	.help = "A user of the remote API; the rights are read and write, with "
		"a comma between, and both without any",
};

const struct opt vcluster_opt_preset = {
	.name = "preset",
	.kind = KIND_CHOICE,
	.choices = vcluster_preset_names,
	.arg = "simpsons",
	.help = "The cluster that sipgate's programs are tested with: "
		"node1..node5, eight instances, the user gnt-cc, at localhost "
		"if its port is free there",
};

const struct opt vcluster_opt_jobs_take = {
	.name = "jobs-take",
	.kind = KIND_TEXT,
	.arg = "TIME",
	.help = "Each job takes so long, as 3s",
};

const struct opt vcluster_opt_latency = {
	.name = "latency",
	.kind = KIND_TEXT,
	.arg = "TIME",
	.help = "The remote API takes so much longer for an answer, as 50ms",
};

const struct opt vcluster_opt_fail = {
	.name = "fail",
	.kind = KIND_TEXT,
	.repeat = true,
	.arg = "NODE@SECONDS",
	.help = "Kill the node's daemon so many seconds after the cluster is "
		"ready",
};

const struct opt vcluster_opt_record_http = {
	.name = "record-http",
	.kind = KIND_TEXT,
	.arg = "FILE",
	.complete = "file",
	.help = "Append each request to the remote API with its answer, "
		"without passwords, as a line of JSON",
};

const struct opt vcluster_opt_dump_fixtures = {
	.name = "dump-fixtures",
	.kind = KIND_TEXT,
	.arg = "DIR",
	.complete = "file",
	.help = "Write the answer of every GET to the remote API as a file "
		"below the folder",
};

/* What is for testing other programs. */
static int read_double(const struct cli *cli, struct vcluster_double *ret,
		       struct error *err)
{
	const char *take = cli_text(cli, &vcluster_opt_jobs_take);
	const char *latency = cli_text(cli, &vcluster_opt_latency);
	const char *record = cli_text(cli, &vcluster_opt_record_http);

	*ret = (struct vcluster_double){
		.fixtures = cli_text(cli, &vcluster_opt_dump_fixtures),
		.fails = cli_value(cli, &vcluster_opt_fail),
	};
	if (take != NULL &&
	    vcluster_double_time("jobs-take", take, TEST_DOUBLE_JOBS_MAX_MS,
				 &ret->all.jobs_take_ms, err) < 0)
		return -1;
	if (latency != NULL &&
	    vcluster_double_time("latency", latency, TEST_DOUBLE_LATENCY_MAX_MS,
				 &ret->all.latency_ms, err) < 0)
		return -1;
	ret->all.record_file = record == NULL ? NULL : xstrdup(record);
	return 0;
}

/* A preset has nodes and a hypervisor of its own. */
static int read_preset(const struct cli *cli, struct vcluster_options *ret,
		       struct error *err)
{
	static const char *const others[] = {"nodes", "hypervisor"};

	ret->preset = vcluster_preset_find(cli_text(cli, &vcluster_opt_preset));
	for (size_t i = 0; ret->preset != NULL && i < ARRAY_SIZE(others); i++)
		if (json_object_get(cli->values, others[i]) != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "--preset %s says all about the "
					 "nodes; leave out --%s",
					 ret->preset->name, others[i]);
	if (ret->preset != NULL)
		ret->n_nodes = ret->preset->n_nodes;
	return 0;
}

/* The remote API is there when any option speaks of it.  "--rapi 5081" has its
 * port among the words, as it may be left out. */
static int read_rapi(const struct cli *cli, struct vcluster_options *ret,
		     struct error *err)
{
	static const struct opt *const about[] = {
		&vcluster_opt_rapi,	    &vcluster_opt_rapi_on,
		&vcluster_opt_user,	    &vcluster_opt_preset,
		&vcluster_opt_latency,	    &vcluster_opt_record_http,
		&vcluster_opt_dump_fixtures};
	const char *port = cli_text(cli, &vcluster_opt_rapi);
	bool wanted = false;

	for (size_t i = 0; i < ARRAY_SIZE(about); i++)
		wanted = wanted || cli_given(cli, about[i]);
	if (cli->n_args > 1 &&
	    (!cli_given(cli, &vcluster_opt_rapi) || !str_empty(port)))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "One folder is made at a time; '%s' is too "
				 "much",
				 cli->args[1]);
	if (cli->n_args > 1) {
		int64_t number;
		bool first = str_to_int64(cli->args[0], &number);

		port = cli->args[first ? 0 : 1];
		ret->dir = cli->args[first ? 1 : 0];
	}
	if (!wanted)
		return 0;
	ret->rapi_on = cli_text(cli, &vcluster_opt_rapi_on);
	if (vcluster_rapi_port(port, &ret->rapi_port, err) < 0)
		return -1;
	return vcluster_rapi_users(NULL, ret->users, NULL, err);
}

int vcluster_options_read(const struct cli *cli, struct vcluster_options *ret,
			  struct error *err)
{
	if (read_preset(cli, ret, err) < 0 || read_rapi(cli, ret, err) < 0)
		return -1;
	return read_double(cli, &ret->test_double, err);
}
