/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of nodes are compared by their identity, which is type and key data
 * without the comment.  ssh-setup compares the files of this node with what the
 * master knows, ssh-clutter looks for owners of several keys, and nodelist logs
 * in to other nodes. */
#include "noded/calls/verify_ssh.h"

#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/login/login.h"
#include "lib/model/config/ssconf.h"
#include "noded/core/noded.h"
#include "noded/instance/ssh_keys.h"

#define PUBLIC_MAX (4u * 1024 * 1024)
#define LOGINS 32 /* at the same time */
#define BLANKS " \t\r\n"

/* The data of a check, and what it has found. */
struct look {
	const struct paths *p;
	const char *type;
	const json_t *nodes;
	const json_t *keys;	/* {uuid: [line]} */
	struct strv authorized; /* identities of plain keys */
	struct strv marked;	/* the marked ones of these */
	json_t *found;
};

static void tell(struct look *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(struct look *l, const char *fmt, ...)
{
	va_list ap;
	json_t *text;

	va_start(ap, fmt);
	text = json_vsprintf(fmt, ap);
	va_end(ap);
	json_array_append_new(l->found, text);
}

/* --- ssh-setup --- */

static const char *row_str(const json_t *row, size_t i)
{
	const char *text = json_string_value(json_array_get(row, i));

	return text == NULL ? "" : text;
}

static bool row_flag(const json_t *row, size_t i)
{
	return json_is_true(json_array_get(row, i));
}

/* The row of this node; NULL: there is none. */
static const json_t *own_row(const struct look *l)
{
	for (size_t i = 0; i < json_array_size(l->nodes); i++) {
		const json_t *row = json_array_get(l->nodes, i);

		if (strcmp(row_str(row, 1), l->p->hostname) == 0)
			return row;
	}
	return NULL;
}

/* The lines of authorized_keys; false when they cannot be read. */
static bool read_authorized(struct look *l)
{
	auto_strv struct strv lines = {0};
	struct error err;
	auto_free char *text = ssh_keys_authorized(l->p, &err);

	if (text == NULL) {
		tell(l, "%s", err.text);
		return false;
	}
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		size_t len = strlen(lines.items[i]);
		auto_free char *id = ssh_keys_id(lines.items[i], len);

		if (id == NULL)
			continue;
		strv_add_unique(&l->authorized, id);
		if (ssh_keys_marked(lines.items[i], len))
			strv_add_unique(&l->marked, id);
	}
	return true;
}

static void add_ids(const json_t *lines, struct strv *ret)
{
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *line = json_string_value(json_array_get(lines, i));
		auto_free char *id =
			line == NULL ? NULL : ssh_keys_id(line, strlen(line));

		if (id != NULL)
			strv_add_unique(ret, id);
	}
}

/* All candidates' keys are accepted, and no other key of the cluster. */
static void check_authorized(struct look *l)
{
	auto_strv struct strv expected = {0};

	for (size_t i = 0; i < json_array_size(l->nodes); i++) {
		const json_t *row = json_array_get(l->nodes, i);
		auto_strv struct strv ids = {0};
		bool candidate = row_flag(row, 2), missing = false;

		add_ids(json_get(l->keys, row_str(row, 0)), &ids);
		for (size_t k = 0; k < ids.n; k++) {
			bool there = strv_has(&l->authorized, ids.items[k]);

			if (candidate)
				strv_add_unique(&expected, ids.items[k]);
			missing = missing || (candidate && !there);
			if (!candidate && there)
				strv_add_unique(&l->marked, ids.items[k]);
		}
		if (candidate && (missing || ids.n == 0))
			tell(l,
			     ids.n == 0 ? "no SSH key of master candidate %s "
					  "is known"
					: "the SSH key of master candidate %s "
					  "is missing in authorized_keys",
			     row_str(row, 1));
	}
	for (size_t i = 0; i < l->marked.n; i++)
		if (!strv_has(&expected, l->marked.items[i]))
			tell(l,
			     "authorized_keys has a key of the cluster that "
			     "belongs to no master candidate: %.30s...",
			     l->marked.items[i]);
}

/* This node's key pair is the one that the master knows. */
static void check_own(struct look *l, const json_t *row)
{
	struct error err;
	auto_json json_t *state = ssh_keys_state(l->p, l->type, &err);
	auto_strv struct strv known = {0}, own = {0};

	if (state == NULL) {
		tell(l, "%s", err.text);
		return;
	}
	if (!row_flag(row, 3))
		return;
	add_ids(json_get(state, "keys"), &own);
	add_ids(json_get(l->keys, row_str(row, 0)), &known);
	if (own.n == 0)
		tell(l, "there is no SSH key id_%s", l->type);
	else if (!ssh_keys_private_is_safe(l->p, l->type))
		tell(l,
		     "the SSH key id_%s is missing, or others than root may "
		     "read it",
		     l->type);
	for (size_t i = 0; i < own.n; i++)
		if (!strv_has(&known, own.items[i]))
			tell(l,
			     "its SSH key is not the one that the cluster "
			     "knows: %.30s...",
			     own.items[i]);
	if (json_get(state, "staged") != NULL)
		tell(l, "a renewal of SSH keys is not complete (gnt-cluster "
			"renew-crypto --new-ssh-keys completes it)");
}

/* ganeti_pub_keys exists where it should, with the master's content. */
static void check_public(struct look *l, const json_t *row,
			 const json_t *from_master)
{
	const char *file = path(l->p, PATH_SSH_PUB_KEYS);
	struct error err;
	auto_free char *text = NULL;
	auto_json json_t *mine = NULL;

	if (!fs_exists(file)) {
		if (row_flag(row, 3))
			tell(l, "%s is missing",
			     paths_plain(PATH_SSH_PUB_KEYS));
		return;
	}
	if (!row_flag(row, 3)) {
		tell(l, "%s should not be on a node that is not master capable",
		     paths_plain(PATH_SSH_PUB_KEYS));
		return;
	}
	text = fs_read(file, PUBLIC_MAX, NULL, &err);
	if (text == NULL) {
		tell(l, "%s", err.text);
		return;
	}
	mine = ssh_keys_read_public(text);
	if (from_master != NULL && !json_equal(mine, json_unconst(from_master)))
		tell(l, "%s is not what the master has",
		     paths_plain(PATH_SSH_PUB_KEYS));
}

json_t *verify_ssh_setup(struct call *c, const json_t *what,
			 const json_t *all_hvparams)
{
	const json_t *from_master = json_array_get(what, 2);
	const char *type = row_str(what, 1);
	auto_json json_t *own = NULL;
	struct look l = {.p = c->paths,
			 .type = *type == '\0' ? "rsa" : type,
			 .nodes = json_array_get(what, 0),
			 .keys = from_master,
			 .found = json_array()};
	const json_t *row = own_row(&l);
	struct error ignored;

	(void)all_hvparams;
	if (!json_is_object(from_master)) {
		auto_free char *text =
			fs_read(path(c->paths, PATH_SSH_PUB_KEYS), PUBLIC_MAX,
				NULL, &ignored);

		from_master = NULL;
		l.keys = own = ssh_keys_read_public(text == NULL ? "" : text);
	}
	if (read_authorized(&l))
		check_authorized(&l);
	if (row != NULL) {
		check_own(&l, row);
		check_public(&l, row, from_master);
	}
	strv_done(&l.authorized);
	strv_done(&l.marked);
	return l.found;
}

/* --- ssh-clutter --- */

/* The user and host that the comment of a line begins with, to be freed; NULL
 * without one. */
static char *owner_of(const char *line, const char *id)
{
	size_t blob = strlen(strchr(id, ' ') + 1);
	const char *comment = strstr(line, strchr(id, ' ') + 1) + blob;
	auto_free char *owner = NULL;

	comment += strspn(comment, BLANKS);
	owner = xstrndup(comment, strcspn(comment, BLANKS));
	return strchr(owner, '@') == NULL ? NULL : steal(&owner);
}

json_t *verify_ssh_clutter(struct call *c, const json_t *what,
			   const json_t *all_hvparams)
{
	auto_strv struct strv lines = {0}, owners = {0}, told = {0};
	struct error err;
	auto_free char *text = ssh_keys_authorized(c->paths, &err);
	json_t *found = json_array();

	(void)what, (void)all_hvparams;
	if (text == NULL) {
		json_array_append_new(found, json_string(err.text));
		return found;
	}
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		auto_free char *id =
			ssh_keys_id(lines.items[i], strlen(lines.items[i]));
		auto_free char *owner =
			id == NULL ? NULL : owner_of(lines.items[i], id);

		if (owner == NULL)
			continue;
		if (strv_has(&owners, owner) && !strv_has(&told, owner)) {
			strv_add(&told, owner);
			json_array_append_new(
				found,
				json_sprintf("authorized_keys has several keys "
					     "of %s",
					     owner));
		}
		strv_add_unique(&owners, owner);
	}
	return found;
}

/* --- nodelist --- */

/* The logins of one request, LOGINS at a time. */
struct logins {
	const struct paths *p;
	const char *cluster;
	const struct strv *ports; /* "node=port" */
	struct strv names;
	size_t next;  /* the one to begin with */
	size_t tasks; /* that have not ended */
	struct cond ended;
	json_t *result;
};

/* The port of a node's SSH daemon, if it is not the usual one; else 0. */
static int find_port(const struct strv *ports, const char *node)
{
	size_t len = strlen(node);
	uint64_t port;

	for (size_t i = 0; i < ports->n; i++)
		if (strncmp(ports->items[i], node, len) == 0 &&
		    ports->items[i][len] == '=' &&
		    str_to_number(ports->items[i] + len + 1, UINT16_MAX, &port,
				  NULL))
			return (int)port;
	return 0;
}

/* Log in as the cluster's commands do, and out again. */
static WAITS int try_node(const struct logins *all, const char *node,
			  struct error *err)
{
	const struct login_place place = {.name = node,
					  .port = find_port(all->ports, node)};
	struct login login;
	struct ssh *ssh = NULL;
	int rc;

	task_leave();
	rc = login_to_node(&login, all->p, all->cluster, &place, err);
	task_enter();
	if (rc == 0)
		ssh = ssh_open(&login.target, err);
	ssh_close(ssh);
	login_done(&login);
	return ssh == NULL ? -1 : 0;
}

static WAITS void try_some(void *arg)
{
	struct logins *all = arg;
	struct error err;

	while (all->next < all->names.n) {
		const char *node = all->names.items[all->next++];

		if (try_node(all, node, &err) < 0)
			json_set_str(all->result, node, err.text);
	}
	all->tasks--;
	cond_signal(&all->ended);
}

static void add_names(struct strv *names, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (str_valid_hostname(row_str(list, i)))
			strv_add_unique(names, row_str(list, i));
}

/* The tasks end by themselves, as each login has its time limits. */
static WAITS void try_all(struct logins *all)
{
	cond_init(&all->ended);
	for (; all->tasks < LOGINS && all->tasks < all->names.n; all->tasks++)
		task_spawn("verify-ssh", try_some, all);
	while (all->tasks > 0)
		cond_wait(&all->ended);
}

json_t *verify_ssh_nodes(struct call *c, const json_t *what,
			 const json_t *all_hvparams)
{
	const struct paths *p = c->paths;
	json_t *result = json_object();
	auto_free char *cluster = NULL;
	auto_strv struct strv ports = {0};
	struct logins all;

	(void)all_hvparams;
	if (!json_array_has_str(json_array_get(what, 2), p->hostname) ||
	    !login_is_used(p))
		return result;
	cluster = ssconf_read(p, "cluster_name");
	if (cluster == NULL)
		return result;
	ssconf_read_lines(p, "ssh_ports", &ports);
	all = (struct logins){
		.p = p, .cluster = cluster, .ports = &ports, .result = result};
	add_names(&all.names, json_array_get(what, 0));
	add_names(&all.names, json_get(json_array_get(what, 1), p->hostname));
	try_all(&all);
	strv_done(&all.names);
	return result;
}
