/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that are for testing other programs.  Everything that may be
 * wrong with them is found before the cluster is made. */
#include "cli/vcluster/vcluster_double.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static const struct {
	const char *name;
	double ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}};

int vcluster_double_time(const char *option, const char *text, unsigned max_ms,
			 unsigned *ret_ms, struct error *err)
{
	size_t n = strspn(text, "0123456789.");
	auto_free char *number = xstrndup(text, n);
	double value;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + n, units[i].name) != 0 ||
		    !str_to_double(number, &value) ||
		    value * units[i].ms > max_ms)
			continue;
		*ret_ms = (unsigned)(value * units[i].ms);
		return 0;
	}
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "--%s takes a time with its unit, as 50ms, 3s or 2m, "
			 "of at most %u s, not '%s'",
			 option, max_ms / 1000, text);
}

/* --- before the cluster is made --- */

static int check_record(struct vcluster_double *d, struct error *err)
{
	char *name = d->all.record_file;
	auto_free char *cwd = NULL;
	int fd;

	if (name == NULL)
		return 0;
	fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--record-http: cannot open %s: %s", name,
				 strerror(errno));
	close(fd);
	if (*name == '/')
		return 0;
	cwd = getcwd(NULL, 0);
	d->all.record_file = xprintf("%s/%s", cwd == NULL ? "" : cwd, name);
	free(name);
	return 0;
}

static int check_fixtures(const struct vcluster_double *d, struct error *err)
{
	auto_strv struct strv names = {0};

	if (d->fixtures == NULL || !fs_exists(d->fixtures))
		return 0;
	if (fs_list(d->fixtures, &names, err) < 0)
		return error_wrap(err, "--dump-fixtures");
	if (names.n == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_EXISTS,
			 "--dump-fixtures: the folder %s is not empty (it has "
			 "%s)",
			 d->fixtures, names.items[0]);
}

int vcluster_double_check(struct vcluster *v, struct vcluster_double *d,
			  struct error *err)
{
	const struct vcluster_node *node;
	unsigned ms;

	for (size_t i = 0; i < json_array_size(d->fails); i++)
		if (vcluster_fail_read(
			    v, json_string_value(json_array_get(d->fails, i)),
			    &node, &ms, err) < 0)
			return -1;
	return check_fixtures(d, err) < 0 ? -1 : check_record(d, err);
}

/* --- on the cluster that was made --- */

static int dump(const struct vcluster *v, const char *folder, struct error *err)
{
	auto_free char *program = run_find("gantry-rapi");
	auto_free char *root =
		xprintf("GANETI_ROOTDIR=%s", v->nodes[0].paths->root);
	auto_free char *host = xprintf("GANETI_HOSTNAME=%s", v->nodes[0].name);
	const char *argv[] = {program, "--dump-fixtures", folder, NULL};
	const char *env[] = {root, host, NULL};
	pid_t pid = run_start(argv, env, err);
	int status;

	if (pid < 0)
		return -1;
	status = run_wait(pid);
	if (status == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "--dump-fixtures: gantry-rapi ended with status %d",
			 status);
}

static bool is_plain(const struct test_double *all)
{
	return all->jobs_take_ms == 0 && all->latency_ms == 0 &&
	       all->record_file == NULL;
}

int vcluster_double_start(struct vcluster *v, const struct vcluster_double *d,
			  struct error *err)
{
	/* At full speed, hence first. */
	if (d->fixtures != NULL && dump(v, d->fixtures, err) < 0)
		return -1;
	for (size_t i = 0; !is_plain(&d->all) && i < v->n; i++)
		if (test_double_write(v->nodes[i].paths, &d->all, err) < 0)
			return -1;
	for (size_t i = 0; i < json_array_size(d->fails); i++) {
		const struct vcluster_node *node;
		unsigned ms;

		if (vcluster_fail_read(
			    v, json_string_value(json_array_get(d->fails, i)),
			    &node, &ms, err) < 0 ||
		    vcluster_fail_later(node, ms, err) < 0)
			return -1;
	}
	return 0;
}
