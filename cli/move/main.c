/* SPDX-License-Identifier: BSD-2-Clause */
/* move-instance: reads the command line, looks whether both clusters answer,
 * and then moves. */
#include <stdio.h>

#include "cli/move/move_cluster.h"
#include "cli/move/move_many.h"
#include "cli/move/move_options.h"
#include "gantry-config.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/client/rapi.h"
#include "lib/json/json.h"

enum { OK = 0, FAILURE = 1, USAGE = 2 };

/* The cluster answers, knows the user, and is one; what it says of itself, to
 * be freed. */
static json_t *greet(struct move_cluster *c, struct error *err)
{
	json_t *info = move_cluster_ask(c, "GET", "/2/info", NULL, err);

	move_cluster_leave(c);
	if (info == NULL) {
		error_wrap(err, "Cannot move anything with %s", c->name);
		return NULL;
	}
	if (json_is_object(info))
		return info;
	json_decref(info);
	error_set(err, ERR_RESULT, NULL, "%s is no cluster", c->name);
	return NULL;
}

/* Somebody has to choose the nodes. */
static int check_placing(const struct move_options *o, const json_t *info,
			 struct error *err)
{
	if (o->allocator != NULL || o->primary != NULL ||
	    *json_str(info, "default_iallocator", "") != '\0')
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s has no default allocator: name one (-I), or a "
			 "node (--dest-primary-node)",
			 o->dest.cluster);
}

static int check_clusters(const struct move_options *o,
			  struct move_cluster *source,
			  struct move_cluster *dest, struct error *err)
{
	auto_json json_t *from = greet(source, err), *to = NULL;

	if (from == NULL)
		return -1;
	to = greet(dest, err);
	return to == NULL ? -1 : check_placing(o, to, err);
}

static int run(const struct move_options *o, struct error *err)
{
	struct move_cluster source = {0}, dest = {0};
	bool debug = o->debug > 0, all = false;
	int rc = move_cluster_init(&source, &o->source, debug, err);

	if (rc == 0)
		rc = move_cluster_init(&dest, &o->dest, debug, err);
	if (rc == 0)
		rc = check_clusters(o, &source, &dest, err);
	if (rc == 0)
		all = move_many(o, &source, &dest);
	move_cluster_done(&source);
	move_cluster_done(&dest);
	return rc < 0 ? -1 : all ? OK : FAILURE;
}

int main(int argc, char **argv)
{
	struct move_options o;
	struct error err;
	int code = USAGE;

	mem_init();
	fs_hold_standard();
	if (move_options_read(&o, argc, argv, &err) < 0) {
		fprintf(stderr,
			"move-instance: %s\n(--help lists the "
			"options)\n",
			err.text);
	} else if (o.help || o.version) {
		if (o.help)
			move_options_help(stdout);
		else
			printf("move-instance (gantry) " GANTRY_VERSION "\n");
		code = OK;
	} else {
		code = run(&o, &err);
		if (code < 0)
			fprintf(stderr, "move-instance: %s\n", err.text);
		code = code < 0 ? FAILURE : code;
	}
	move_options_done(&o);
	return fflush(stdout) == 0 ? code : FAILURE;
}
