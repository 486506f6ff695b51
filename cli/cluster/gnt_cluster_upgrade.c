/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster upgrade: the parts of an upgrade that a cluster can do itself.
 *
 * The packages bring new programs, node by node.  Before that, this command
 * checks that the nodes are well, drains the queue and waits until no job is
 * left, since one version may not understand another's jobs; it checks the
 * configuration and says what to do.  After that, --resume checks that all
 * nodes have the new version and opens the queue again.  A file on the master
 * remembers the new version. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

/* Jobs that take longer are not waited for; an installation, or the sync of a
 * big disk, may well take an hour. */
#define EMPTY_LIMIT_S 7200

/* How long to wait between two looks at the remaining jobs, unless the first of
 * them changes. */
#define LOOK_S 10

#define INTENT_MAX 1000

/* "3.1" or "3.1.0"; what follows a "~" is ignored. */
static bool is_version(const char *text)
{
	size_t parts = 0;

	while (*text != '\0' && *text != '~') {
		size_t n = strspn(text, "0123456789");

		if (n == 0)
			return false;
		parts++;
		text += n;
		if (*text == '.' && text[1] != '\0')
			text++;
		else if (*text != '\0' && *text != '~')
			return false;
	}
	return parts == 2 || parts == 3;
}

/* Whether a program's version belongs to the new one: "0.2" stands for every
 * 0.2.x. */
static bool is_of(const char *version, const char *meant)
{
	size_t n = strlen(meant);

	return version != NULL && strncmp(version, meant, n) == 0 &&
	       (version[n] == '\0' || version[n] == '.' || version[n] == '~');
}

/* --- the new version --- */

/* The new version of an upgrade that was begun; NULL: none was.  To be
 * freed. */
static char *read_intent(const struct paths *p)
{
	auto_free char *text = NULL;
	struct error ignored;

	text = fs_read(path(p, PATH_UPGRADE_INTENT), INTENT_MAX, NULL,
		       &ignored);
	if (text == NULL)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return is_version(text) ? steal(&text) : NULL;
}

static int write_intent(const struct paths *p, const char *to,
			struct error *err)
{
	auto_free char *text = xprintf("%s\n", to);

	return fs_write_atomic(path(p, PATH_UPGRADE_INTENT), text, strlen(text),
			       0600, err);
}

/* --- versions --- */

/* [[name, version or null], ...] of the nodes that are not offline. */
static json_t *ask_versions(struct cli *cli, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, "Query",
			 json_make("[s, [s, s], [s, [s, s]]]", "node", "name",
				   "program_version", "!", "?", "offline"),
			 err);
	json_t *list;
	const json_t *row;
	size_t i;

	if (answer == NULL)
		return NULL;
	list = json_array();
	json_array_foreach (json_get(answer, "data"), i, row) {
		const json_t *version =
			json_array_get(json_array_get(row, 1), 1);

		json_array_append_new(
			list,
			json_make("[O, s?]",
				  json_array_get(json_array_get(row, 0), 1),
				  json_string_value(version)));
	}
	return list;
}

/* Print each node's version; returns how many have another than the new one, or
 * could not be asked. */
static size_t show_versions(const json_t *versions, const char *meant)
{
	const json_t *row;
	size_t i, others = 0;

	json_array_foreach (versions, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		const char *has = json_string_value(json_array_get(row, 1));

		others += !is_of(has, meant);
		printf("  %s: %s\n", name,
		       has == NULL ? "does not answer, or no node daemon of "
				     "Gantry runs there"
				   : has);
	}
	return others;
}

/* The version of the master daemon; to be freed. */
static char *own_version(struct cli *cli, struct error *err)
{
	auto_json json_t *info =
		cli_call(cli, "QueryClusterInfo", json_array(), err);
	const char *text, *digit;

	if (info == NULL)
		return NULL;
	text = json_str(info, "vcs_version", "");
	digit = text + strcspn(text, "0123456789");
	return xstrndup(digit, strcspn(digit, " )"));
}

/* Only with an empty queue, as the job waits for locks that others have. */
static int check_configuration(struct cli *cli, struct error *err)
{
	auto_json json_t *id = NULL, *results = NULL;

	printf("Checking the configuration\n");
	fflush(stdout);
	id = cli_call(cli, "SubmitJobToDrainedQueue",
		      json_make("[[o]]",
				cli_op(cli, &op_class_cluster_verify_config)),
		      err);
	results = id == NULL ? NULL : cli_poll(cli, id, false, err);
	if (results == NULL)
		return -1;
	if (json_is_true(json_array_get(results, 0)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "The configuration is not well (see above): open the "
			 "queue (gnt-cluster queue undrain), mend that, and "
			 "give the command again");
}

/* --- an empty queue --- */

static int set_drain(struct cli *cli, bool drain, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, "SetDrainFlag", json_make("[b]", drain), err);

	return answer == NULL ? -1 : 0;
}

/* [[id, summary, status], ...] of the jobs that have not ended. */
static json_t *ask_left(struct cli *cli, struct error *err)
{
	static const char *const live[] = {"queued", "waiting", "canceling",
					   "running"};
	json_t *filter = json_make("[s]", "|");
	auto_json json_t *answer = NULL;
	json_t *left;
	const json_t *row;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(live); i++)
		json_array_append_new(
			filter, json_make("[s, s, s]", "=", "status", live[i]));
	answer = cli_call(cli, "Query",
			  json_make("[s, [s, s, s], o]", "job", "id", "summary",
				    "status", filter),
			  err);
	if (answer == NULL)
		return NULL;
	left = json_array();
	json_array_foreach (json_get(answer, "data"), i, row)
		json_array_append_new(
			left,
			json_make("[O, O, O]",
				  json_array_get(json_array_get(row, 0), 1),
				  json_array_get(json_array_get(row, 1), 1),
				  json_array_get(json_array_get(row, 2), 1)));
	return left;
}

static void show_left(const json_t *left)
{
	const json_t *first = json_array_get(left, 0);

	printf("Waiting for %zu job(s) to end, the next is "
	       "%" JSON_INTEGER_FORMAT " (%s)\n",
	       json_array_size(left),
	       json_integer_value(json_array_get(first, 0)),
	       json_string_value(json_array_get(json_array_get(first, 1), 0)));
	fflush(stdout);
}

/* Until the first of them has another status, or for LOOK_S.  It may have ended
 * and be archived already. */
static int wait_a_while(struct cli *cli, const json_t *left, struct error *err)
{
	const json_t *first = json_array_get(left, 0);
	auto_json json_t *answer = cli_call_again(
		cli, "WaitForJobChange",
		json_make("[O, [s], [O], i, i]", json_array_get(first, 0),
			  "status", json_array_get(first, 2), LUXI_NO_LOG,
			  LOOK_S),
		err);

	return answer == NULL && err->kind != ERR_JOB_LOST ? -1 : 0;
}

static int wait_until_empty(struct cli *cli, struct error *err)
{
	int64_t deadline = clock_mono_us() + EMPTY_LIMIT_S * 1000000LL;
	size_t shown = 0;

	for (;;) {
		auto_json json_t *left = ask_left(cli, err);

		if (left == NULL)
			return -1;
		if (json_array_size(left) == 0)
			return 0;
		if (json_array_size(left) != shown)
			show_left(left);
		shown = json_array_size(left);
		if (clock_mono_us() > deadline)
			return error_set(err, ERR_PREREQ, ECODE_STATE,
					 "%zu job(s) did not end in %d hours; "
					 "end them (gnt-job cancel) and give "
					 "the command again, or open the queue "
					 "again with gnt-cluster queue undrain",
					 shown, EMPTY_LIMIT_S / 3600);
		if (wait_a_while(cli, left, err) < 0)
			return -1;
	}
}

/* --- the two halves --- */

static void say_what_is_left(const char *to)
{
	printf("No job runs, and the queue takes no new ones. What is left "
	       "is not the cluster's to do:\n"
	       "  1. keep a copy of /var/lib/ganeti of this node\n"
	       "  2. install version %s on all nodes; restart gantry-noded on "
	       "each (instances go on running),\n"
	       "     and gantry-masterd on this one, last\n"
	       "  3. gnt-cluster upgrade --resume\n"
	       "To give it up: gnt-cluster upgrade --to with the version that "
	       "runs.\n",
	       to);
}

static int finish(struct cli *cli, const struct paths *p, const char *version,
		  struct error *err)
{
	if (set_drain(cli, false, err) < 0)
		return -1;
	if (unlink(path(p, PATH_UPGRADE_INTENT)) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot remove %s: %m; remove it by hand",
				 path(p, PATH_UPGRADE_INTENT));
	printf("The cluster runs version %s, and the queue takes jobs.\n",
	       version);
	return CLI_OK;
}

static int prepare(struct cli *cli, const struct paths *p, const char *version,
		   const char *to, struct error *err)
{
	auto_json json_t *versions = ask_versions(cli, err);

	if (versions == NULL)
		return -1;
	printf("The master runs version %s, the node daemons:\n", version);
	if (show_versions(versions, version) > 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Not all nodes run version %s: mend that "
				 "first, or set nodes that are gone offline",
				 version);
	if (write_intent(p, to, err) < 0 || set_drain(cli, true, err) < 0 ||
	    wait_until_empty(cli, err) < 0 || check_configuration(cli, err) < 0)
		return -1;
	say_what_is_left(to);
	return CLI_OK;
}

static int begin(struct cli *cli, const struct paths *p, const char *to,
		 struct error *err)
{
	auto_free char *version = own_version(cli, err);
	auto_free char *intent = read_intent(p);

	if (version == NULL)
		return -1;
	if (!is_of(version, to))
		return prepare(cli, p, version, to, err);
	if (intent != NULL)
		return finish(cli, p, version, err);
	printf("The cluster runs version %s already.\n", version);
	return CLI_OK;
}

static int resume(struct cli *cli, const struct paths *p, struct error *err)
{
	auto_free char *intent = read_intent(p), *version = NULL;
	auto_json json_t *versions = NULL;

	if (intent == NULL) /* no upgrade was ever begun */
		return CLI_OK;
	version = own_version(cli, err);
	versions = version == NULL ? NULL : ask_versions(cli, err);
	if (versions == NULL)
		return -1;
	printf("An upgrade to version %s was begun. The master runs %s, the "
	       "node daemons:\n",
	       intent, version);
	if (show_versions(versions, intent) > 0 || !is_of(version, intent)) {
		say_what_is_left(intent);
		return CLI_FAILURE;
	}
	return finish(cli, p, version, err);
}

static int upgrade(struct cli *cli, struct error *err)
{
	const char *to = cli_text(cli, &OPT_UPGRADE_TO);
	const struct paths *p = cli_paths(cli, err);

	if ((to != NULL) == cli_given(cli, &OPT_RESUME)) {
		fprintf(stderr, "Precisely one of the options --to and "
				"--resume has to be given\n");
		return CLI_FAILURE;
	}
	if (to != NULL && !is_version(to)) {
		fprintf(stderr, "Could not parse version string %s\n", to);
		return CLI_FAILURE;
	}
	if (p == NULL)
		return -1;
	return to == NULL ? resume(cli, p, err) : begin(cli, p, to, err);
}

const struct cli_command cluster_upgrade = {
	.name = "upgrade",
	.args = "",
	.help = "Prepare the cluster for new packages, and complete that",
	.options = {&OPT_UPGRADE_TO, &OPT_RESUME},
	.run = upgrade,
};
