/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of nodes are compared by their identity, which is type and key data
 * without the comment.  ssh-setup compares the files of this node with what the
 * master knows, ssh-clutter looks for owners of several keys, and nodelist runs
 * ssh to other nodes. */
#include "noded/calls/verify_ssh.h"

#include <string.h>

#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "noded/core/noded.h"
#include "noded/instance/ssh_keys.h"

#define PUBLIC_MAX (4u * 1024 * 1024)
#define CONNECT_TIMEOUT_S 10
#define LOGIN_TIMEOUT_MS 20000
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

static void add_option(struct strv *argv, const char *name, const char *value)
{
	strv_add(argv, "-o");
	strv_addf(argv, "%s=%s", name, value);
}

/* The address of a node's SSH daemon, if it is not the usual one. */
static void add_port(const struct paths *p, const char *node, struct strv *argv)
{
	auto_strv struct strv ports = {0};
	size_t len = strlen(node);

	ssconf_read_lines(p, "ssh_ports", &ports);
	for (size_t i = 0; i < ports.n; i++) {
		const char *port = ports.items[i] + len + 1;

		if (strncmp(ports.items[i], node, len) == 0 &&
		    ports.items[i][len] == '=' && strcmp(port, "22") != 0)
			add_option(argv, "Port", port);
	}
}

/* Try to log in as the cluster's commands do. */
static void login_argv(const struct paths *p, const char *cluster,
		       const char *node, struct strv *argv)
{
	auto_free char *timeout = xprintf("%d", CONNECT_TIMEOUT_S);

	strv_add(argv, "ssh");
	if (fs_exists(path(p, PATH_SSH_CONFIG))) {
		strv_add(argv, "-F");
		strv_add(argv, path(p, PATH_SSH_CONFIG));
	} else {
		strv_add(argv, "-l");
		strv_add(argv, "root");
	}
	for (size_t i = 0; ssh_keys_types[i] != NULL; i++) {
		auto_free char *key = xprintf("%s/id_%s", path(p, PATH_SSH_DIR),
					      ssh_keys_types[i]);

		if (fs_exists(key))
			add_option(argv, "IdentityFile", key);
	}
	add_option(argv, "IdentitiesOnly", "yes");
	add_option(argv, "BatchMode", "yes");
	add_option(argv, "StrictHostKeyChecking", "yes");
	add_option(argv, "UserKnownHostsFile", "/dev/null");
	add_option(argv, "GlobalKnownHostsFile", path(p, PATH_KNOWN_HOSTS));
	add_option(argv, "HostKeyAlias", cluster);
	add_option(argv, "ConnectTimeout", timeout);
	add_port(p, node, argv);
	strv_add(argv, "-T");
	strv_add(argv, "--");
	strv_add(argv, node);
	strv_add(argv, "true");
}

static WAITS void try_node(const struct paths *p, const char *cluster,
			   const char *node, json_t *result)
{
	auto_strv struct strv argv = {0};
	struct error err;

	if (!str_valid_hostname(node))
		return;
	login_argv(p, cluster, node, &argv);
	if (proc_check((const char *const *)argv.items, LOGIN_TIMEOUT_MS,
		       &err) < 0)
		json_set_str(result, node, err.text);
}

static WAITS void try_nodes(const struct paths *p, const char *cluster,
			    const json_t *names, json_t *result)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		try_node(p, cluster, row_str(names, i), result);
}

json_t *verify_ssh_nodes(struct call *c, const json_t *what,
			 const json_t *all_hvparams)
{
	const struct paths *p = c->paths;
	json_t *result = json_object();
	auto_free char *cluster = NULL;

	(void)all_hvparams;
	if (!json_array_has_str(json_array_get(what, 2), p->hostname) ||
	    (noded_is_virtual(c->n) && !fs_exists(path(p, PATH_SSH_CONFIG))))
		return result;
	cluster = ssconf_read(p, "cluster_name");
	if (cluster == NULL)
		return result;
	try_nodes(p, cluster, json_array_get(what, 0), result);
	try_nodes(p, cluster, json_get(json_array_get(what, 1), p->hostname),
		  result);
	return result;
}
