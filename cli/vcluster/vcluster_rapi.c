/* SPDX-License-Identifier: BSD-2-Clause */
/* The remote API of a virtual cluster: on the master, and where else it is
 * asked for, each at the address of its node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/remote/bootstrap.h"
#include "cli/remote/run.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/paths.h"

#define RIGHTS_DEFAULT "read,write"

int vcluster_rapi_port(const char *text, int *ret, struct error *err)
{
	int64_t port = PATHS_RAPI_PORT;

	if (!str_empty(text) &&
	    (!str_to_int64(text, &port) || port < 1 || port > UINT16_MAX))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--rapi takes a port from 1 to %d, not '%s'",
				 UINT16_MAX, text);
	*ret = (int)port;
	return 0;
}

/* "read,write", one of them, or nothing. */
static bool are_rights(const char *text)
{
	auto_strv struct strv words = {0};

	str_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++)
		if (*text != '\0' && strcmp(words.items[i], "read") != 0 &&
		    strcmp(words.items[i], "write") != 0)
			return false;
	return true;
}

/* A line of the users file from "NAME:PASSWORD[:RIGHTS]". */
static int add_user(struct buf *lines, const char *text, struct error *err)
{
	auto_strv struct strv parts = {0};

	str_split(&parts, text == NULL ? "" : text, ':');
	if (parts.n < 2 || parts.n > 3 || *parts.items[0] == '\0' ||
	    *parts.items[1] == '\0' || !str_valid_line(text) ||
	    strpbrk(text, " #") != NULL ||
	    (parts.n == 3 && !are_rights(parts.items[2])))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--user takes NAME:PASSWORD or "
				 "NAME:PASSWORD:RIGHTS, without blanks; the "
				 "rights are read and write, with a comma "
				 "between");
	buf_addf(lines, "%s %s %s\n", parts.items[0], parts.items[1],
		 parts.n == 3 ? parts.items[2] : RIGHTS_DEFAULT);
	return 0;
}

static int write_users(const struct paths *p, const struct buf *lines,
		       struct error *err)
{
	const char *file = path(p, PATH_RAPI_USERS);
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));

	return fs_mkdirs(path(p, PATH_DATA_DIR), 0755, err) < 0 ||
			       fs_mkdirs(folder, 0750, err) < 0
		       ? -1
		       : fs_write_atomic(file, lines->data, lines->len, 0640,
					 err);
}

static int add_users(struct buf *lines, const json_t *users, const char *own,
		     struct error *err)
{
	buf_adds(lines, "# NAME PASSWORD RIGHTS, see doc/rapi.md\n");
	for (size_t i = 0; i < json_array_size(users); i++)
		if (add_user(lines, json_string_value(json_array_get(users, i)),
			     err) < 0)
			return -1;
	return own == NULL ? 0 : add_user(lines, own, err);
}

int vcluster_rapi_write(const struct paths *p, const json_t *users,
			const char *own, struct error *err)
{
	auto_buf struct buf lines = {0};

	return add_users(&lines, users, own, err) < 0
		       ? -1
		       : write_users(p, &lines, err);
}

int vcluster_rapi_users(const struct vcluster *v, const json_t *users,
			const char *own, struct error *err)
{
	auto_buf struct buf lines = {0};

	if (add_users(&lines, users, own, err) < 0)
		return -1;
	for (size_t i = 0; v != NULL && i < v->n; i++)
		if (write_users(v->nodes[i].paths, &lines, err) < 0)
			return -1;
	return 0;
}

static void tell_port(const struct vcluster *v)
{
	char port[20];

	snprintf(port, sizeof(port), "%d",
		 v->rapi_port == 0 ? PATHS_RAPI_PORT : v->rapi_port);
	setenv("GANETI_RAPI_PORT", port, 1);
}

int vcluster_rapi_start(const struct vcluster *v,
			const struct vcluster_node *node, struct error *err)
{
	if (bootstrap_pid(node->paths, DAEMON_RAPI) != 0)
		return 0;
	tell_port(v);
	return bootstrap_start(node->paths, DAEMON_RAPI, NULL, err);
}

/* --- on several nodes --- */

int vcluster_rapi_check(struct vcluster *v, struct error *err)
{
	auto_strv struct strv names = {0};

	if (*v->rapi_on == '\0' || strcmp(v->rapi_on, VCLUSTER_RAPI_ON) == 0)
		return 0;
	str_split(&names, v->rapi_on, ',');
	for (size_t i = 0; i < names.n; i++)
		if (vcluster_node(v, names.items[i], err) == NULL)
			return error_wrap(err, "--rapi-on");
	return 0;
}

/* The names of those that shall have it. */
static void list_wanted(struct vcluster *v, struct strv *ret)
{
	const struct vcluster_node *master = vcluster_master(v), *node;
	bool candidates = strcmp(v->rapi_on, VCLUSTER_RAPI_ON) == 0;
	auto_strv struct strv words = {0};
	struct error ignored;

	strv_add(ret, master->name);
	if (candidates)
		ssconf_read_lines(master->paths, "master_candidates", &words);
	else if (*v->rapi_on != '\0')
		str_split(&words, v->rapi_on, ',');
	for (size_t i = 0; i < words.n; i++) {
		node = vcluster_node(v, words.items[i], &ignored);
		if (node != NULL)
			strv_add_unique(ret, node->name);
	}
}

static int await(const struct vcluster_node *node, int pid, struct error *err)
{
	if (pid > 0 && run_wait(pid) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "The remote API of %s did not start, see %s",
			 node->name, path(node->paths, PATH_RAPI_LOG));
}

int vcluster_rapi_start_all(struct vcluster *v,
			    const struct vcluster_node *only, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_free int *pids = NULL;
	int rc = 0;

	if (v->rapi_port == 0)
		return 0;
	list_wanted(v, &names);
	tell_port(v);
	pids = xcalloc(v->n, sizeof(*pids));
	for (size_t i = 0; i < v->n; i++)
		if ((only == NULL || only == &v->nodes[i]) &&
		    strv_has(&names, v->nodes[i].name) &&
		    bootstrap_pid(v->nodes[i].paths, DAEMON_RAPI) == 0)
			pids[i] = bootstrap_launch(v->nodes[i].paths,
						   DAEMON_RAPI, NULL);
	for (size_t i = 0; i < v->n; i++)
		if (pids[i] != 0 && await(&v->nodes[i], pids[i], err) < 0)
			rc = -1;
	return rc;
}
