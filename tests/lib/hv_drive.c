/* SPDX-License-Identifier: BSD-2-Clause */
/* hv_drive VERB FILE [ARGUMENT...]: one act of a hypervisor's class on this
 * machine, without a cluster: for tests of real hypervisors on hosts that have
 * nothing else of ours.  FILE has the object of an instance, as in node calls,
 * with "disk_paths", a list.
 *
 * verify, node, list, info, start, stop, destroy, cleanup, reboot, balloon MIB,
 * console, migration_info, accept TARGET, migrate TARGET, arrived INFO-FILE,
 * left, failed INFO-FILE (on the target), stayed (on the source)
 *
 * Prints JSON; exits with 1 and the error's text when the act fails. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/hv.h"

#define FILE_MAX (1024 * 1024)
#define DISKS_MAX 16

struct act {
	const struct hv_class *class;
	struct paths *p;
	json_t *instance;
	const json_t *hv;
	const char *name, *verb, *arg;
	struct hv_disk disks[DISKS_MAX];
	size_t n_disks;
	struct error err;
	int rc;
};

static void print(json_t *value)
{
	auto_free char *text = value != NULL ? json_text(value) : NULL;

	if (text != NULL)
		puts(text);
	json_decref(value);
}

/* --- looking --- */

static WAITS int do_verify(struct act *a)
{
	return a->class->verify(a->p, a->hv, &a->err) < 0 ||
			       a->class->validate(a->p, a->hv, &a->err) < 0
		       ? -1
		       : 0;
}

static WAITS int do_node(struct act *a)
{
	json_t *info = a->class->node_info(a->p, a->hv, &a->err);

	print(info);
	return info == NULL ? -1 : 0;
}

static WAITS int do_list(struct act *a)
{
	auto_strv struct strv names = {0};

	if (a->class->list(a->p, a->hv, &names, &a->err) < 0)
		return -1;
	print(json_from_strv(&names));
	return 0;
}

static WAITS int do_info(struct act *a)
{
	struct hv_info info = {0};
	int rc = a->class->info(a->p, a->name, a->hv, &info, &a->err);

	if (rc == 1)
		print(json_make("{s:I, s:I, s:I, s:f}", "memory",
				(json_int_t)info.memory, "vcpus",
				(json_int_t)info.vcpus, "state",
				(json_int_t)info.state, "time", info.time));
	else if (rc == 0)
		print(json_object());
	return rc < 0 ? -1 : 0;
}

static int do_console(struct act *a)
{
	auto_json json_t *node = json_make("{s:s}", "name", "node");
	json_t *console =
		a->class->console(a->p, a->instance, node, a->hv, &a->err);

	print(console);
	return console == NULL ? -1 : 0;
}

/* --- a life --- */

static WAITS int do_start(struct act *a)
{
	return a->class->start(a->p, a->instance, a->disks, a->n_disks, false,
			       NULL, &a->err);
}

static WAITS int do_stop(struct act *a)
{
	return a->class->stop(a->p, a->instance, false, false, &a->err);
}

static WAITS int do_destroy(struct act *a)
{
	return a->class->stop(a->p, a->instance, true, false, &a->err);
}

static WAITS int do_cleanup(struct act *a)
{
	return a->class->cleanup(a->p, a->name, &a->err);
}

static WAITS int do_reboot(struct act *a)
{
	return a->class->reboot(a->p, a->instance, &a->err);
}

static WAITS int do_balloon(struct act *a)
{
	return a->class->balloon(a->p, a->instance, strtoll(a->arg, NULL, 10),
				 &a->err);
}

/* --- a migration --- */

static int do_migration_info(struct act *a)
{
	auto_free char *info =
		a->class->migration_info(a->p, a->instance, &a->err);

	if (info == NULL)
		return -1;
	fputs(info, stdout);
	return 0;
}

static WAITS int do_accept(struct act *a)
{
	return a->class->accept(a->p, a->instance, a->disks, a->n_disks, "",
				a->arg, &a->err);
}

static WAITS int do_migrate(struct act *a)
{
	return a->class->migrate(a->p, "cluster", a->instance, a->arg, true,
				 NULL, &a->err);
}

static WAITS int finalize_dst(struct act *a, bool success)
{
	auto_free char *info = fs_read(a->arg, FILE_MAX, NULL, &a->err);

	return info == NULL ? -1
			    : a->class->finalize_dst(a->p, a->instance, info,
						     success, NULL, &a->err);
}

static WAITS int do_arrived(struct act *a)
{
	return finalize_dst(a, true);
}

static WAITS int do_failed(struct act *a)
{
	return finalize_dst(a, false);
}

static WAITS int do_left(struct act *a)
{
	return a->class->finalize_src(a->p, a->instance, true, true, NULL,
				      &a->err);
}

static WAITS int do_stayed(struct act *a)
{
	return a->class->finalize_src(a->p, a->instance, false, true, NULL,
				      &a->err);
}

static const struct verb {
	const char *name;
	bool has_arg;
	WAITS int (*run)(struct act *a);
} verbs[] = {
	{"verify", false, do_verify},
	{"node", false, do_node},
	{"list", false, do_list},
	{"info", false, do_info},
	{"console", false, do_console},
	{"start", false, do_start},
	{"stop", false, do_stop},
	{"destroy", false, do_destroy},
	{"cleanup", false, do_cleanup},
	{"reboot", false, do_reboot},
	{"balloon", true, do_balloon},
	{"migration_info", false, do_migration_info},
	{"accept", true, do_accept},
	{"migrate", true, do_migrate},
	{"arrived", true, do_arrived},
	{"failed", true, do_failed},
	{"left", false, do_left},
	{"stayed", false, do_stayed},
};

static WAITS void run(void *arg)
{
	struct act *a = arg;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, a->verb) == 0 &&
		    (a->arg != NULL || !verbs[i].has_arg)) {
			a->rc = verbs[i].run(a);
			return;
		}
	a->rc = error_set(&a->err, ERR_REQUEST, NULL, "what is %s?", a->verb);
}

static int prepare(struct act *a, const char *file)
{
	const json_t *paths, *disks;

	a->p = paths_from_env(&a->err);
	a->instance = json_read_file(file, FILE_MAX, &a->err);
	if (a->p == NULL || a->instance == NULL)
		return -1;
	a->hv = json_get(a->instance, "hvparams");
	a->name = json_str(a->instance, "name", "");
	paths = json_get(a->instance, "disk_paths");
	disks = json_get(a->instance, "disks_info");
	for (; a->n_disks < json_array_size(paths) && a->n_disks < DISKS_MAX;
	     a->n_disks++)
		a->disks[a->n_disks] = (struct hv_disk){
			json_array_get(disks, a->n_disks),
			mem_unconst(json_string_value(
				json_array_get(paths, a->n_disks)))};
	a->class = hv_of(a->instance, &a->err);
	return a->class == NULL ? -1 : 0;
}

int main(int argc, char **argv)
{
	static struct act a = {.rc = -1};

	if (argc < 3) {
		fputs("usage: hv_drive VERB FILE [ARGUMENT]\n", stderr);
		return 2;
	}
	a.verb = argv[1];
	a.arg = argc > 3 ? argv[3] : NULL;
	tasks_init(uv_default_loop());
	if (prepare(&a, argv[2]) == 0)
		task_spawn("act", run, &a);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	if (a.rc < 0)
		fprintf(stderr, "%s\n", a.err.text);
	return a.rc < 0 ? 1 : 0;
}
