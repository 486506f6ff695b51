/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node add, join: a host becomes a node.
 *
 * add runs join on the host over SSH, with the cluster's secrets on its
 * standard input; join writes them and starts the node daemon.  Then the master
 * takes the node in.  A host that was prepared some other way needs no SSH
 * (--no-node-setup), nor does one of a virtual cluster. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/bootstrap.h"
#include "cli/remote/join.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/login/login.h"
#include "lib/model/config/ssconf.h"

#define ADDRESS_MAX 64
#define INPUT_MAX (16 * 1024 * 1024)

/* --- add --- */

/* [name, primary IP, SSH port] of the node if it is in the cluster, as it
 * should be with --readd only; JSON null without it. */
static json_t *look_up(struct cli *cli, struct error *err)
{
	auto_json json_t *rows =
		cli_call(cli, "QueryNodes",
			 json_make("[[s], [s, s, s], b]", cli->args[0], "name",
				   "pip", "ndp/ssh_port", 0),
			 err);
	json_t *row = json_array_get(rows, 0);
	bool known = json_is_string(json_array_get(row, 0));

	if (rows == NULL)
		return NULL;
	if (known == cli_given(cli, &OPT_READD))
		return known ? json_incref(row) : json_null();
	if (known)
		error_set(err, ERR_PREREQ, ECODE_EXISTS,
			  "Node %s already in the cluster (take it in again "
			  "with --readd)",
			  cli->args[0]);
	else
		error_set(err, ERR_PREREQ, ECODE_NOENT,
			  "Node '%s' not known (leave --readd away)",
			  cli->args[0]);
	return NULL;
}

static int resolve(const char *name, char ret_address[ADDRESS_MAX],
		   struct error *err)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(name, NULL, &hints, &found);

	if (rc == 0)
		rc = getnameinfo(found->ai_addr, found->ai_addrlen, ret_address,
				 ADDRESS_MAX, NULL, 0, NI_NUMERICHOST);
	if (found != NULL)
		freeaddrinfo(found);
	if (rc == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_RESOLVER,
			 "The given name (%s) does not resolve: %s", name,
			 gai_strerror(rc));
}

/* Parameters of the new node itself, or of its group; -1 with err. */
static int64_t ssh_port(struct cli *cli, const json_t *known, struct error *err)
{
	const json_t *own = cli_value(cli, &OPT_NDPARAMS);
	const char *group = cli_text(cli, &OPT_GROUP);
	const char *given = json_str(own, "ssh_port", NULL);
	auto_json json_t *rows = NULL;
	int64_t port;

	if (given != NULL && str_to_int64(given, &port) && port > 0 &&
	    port <= UINT16_MAX)
		return port;
	if (json_is_integer(json_array_get(known, 2)))
		return json_integer_value(json_array_get(known, 2));
	rows = cli_call(cli, "QueryGroups",
			json_make("[o, [s], b]",
				  group == NULL ? json_array()
						: json_make("[s]", group),
				  "ndp/ssh_port", 0),
			err);
	if (rows == NULL)
		return -1;
	port = json_integer_value(json_array_get(json_array_get(rows, 0), 0));
	return port > 0 ? port : SSH_PORT;
}

/* The input for join on the host that gets this name; to be freed. */
static char *join_message(const struct paths *p, const char *name,
			  const char *address, struct error *err)
{
	auto_json json_t *secrets = bootstrap_secrets(p, err);

	if (secrets == NULL)
		return NULL;
	json_set_str(secrets, "name", name);
	json_set_str(secrets, "address", address);
	return json_text(secrets);
}

/* In a virtual cluster without SSH: a node that was down while the cluster's
 * certificate was renewed gets the new one at once, as its folder is beside
 * ours. */
static int prepare_beside(const struct paths *p, const char *name,
			  const char *address, struct error *err)
{
	auto_free char *root =
		xprintf("%.*s/%s", (int)(strrchr(p->root, '/') - p->root),
			p->root, name);
	auto_json json_t *secrets = NULL;
	struct paths *to;
	int rc = 0;

	if (!fs_is_dir(root))
		return 0;
	secrets = bootstrap_secrets(p, err);
	if (secrets == NULL)
		return -1;
	to = paths_create(root, name);
	if (!bootstrap_has_certificate(to, secrets))
		rc = bootstrap_stop(to, DAEMON_NODED, false, err) < 0 ||
				     bootstrap_take_secrets(to, secrets, err) <
					     0 ||
				     bootstrap_start(to, DAEMON_NODED, address,
						     err) < 0
			     ? -1
			     : 0;
	paths_destroy(to);
	return rc;
}

/* Give the host its secrets; known: it was a node already. */
static int prepare(struct cli *cli, const json_t *known, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	const char *pip = json_string_value(json_array_get(known, 1));
	const char *name = json_string_value(json_array_get(known, 0));
	auto_strv struct strv command = {0};
	char address[ADDRESS_MAX];
	struct join join = {
		.command = &command,
		.host = name != NULL ? name : cli->args[0],
		.check_key = !cli_given(cli, &OPT_NO_SSH_KEY_CHECK),
	};
	auto_free char *message = NULL;
	int64_t port;

	if (p == NULL)
		return -1;
	if (cli_given(cli, &OPT_NO_NODE_SETUP))
		return 0;
	if (!login_is_used(p))
		return name == NULL ? 0 : prepare_beside(p, name, pip, err);
	if (!str_valid_hostname(join.host))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is not a valid node name", join.host);
	if (pip != NULL)
		snprintf(address, sizeof(address), "%s", pip);
	else if (resolve(join.host, address, err) < 0)
		return -1;
	port = ssh_port(cli, known, err);
	message = port < 0 ? NULL : join_message(p, join.host, address, err);
	if (message == NULL)
		return -1;
	join.port = (int)port;
	join.input = message;
	join.input_len = strlen(message);
	strv_add(&command, "gnt-node");
	strv_add(&command, "join");
	if (cli_given(cli, &OPT_FORCE_JOIN))
		strv_add(&command, "--force-join");
	if (join_run(p, &join, err) == 0)
		return 0;
	return error_wrap(err,
			  "The node is not prepared (with --no-node-setup it "
			  "need not be, if it has the cluster's keys and a "
			  "running gantry-noded)");
}

static int add_named(struct cli *cli, struct error *err)
{
	auto_json json_t *known = look_up(cli, err);
	auto_json json_t *op = NULL;

	if (known == NULL)
		return -1;
	op = cli_op(cli, &op_class_node_add);
	json_set_str(op, "node_name", cli->args[0]);
	cli_op_set(cli, op, "secondary_ip", &OPT_SECONDARY_IP);
	cli_op_set(cli, op, "group", &OPT_GROUP);
	cli_op_set(cli, op, "master_capable", &OPT_CAPAB_MASTER);
	cli_op_set(cli, op, "vm_capable", &OPT_CAPAB_VM);
	cli_op_set(cli, op, "ndparams", &OPT_NDPARAMS);
	cli_op_flag(cli, op, "readd", &OPT_READD);
	cli_op_unless(cli, op, "node_setup", &OPT_NO_NODE_SETUP);
	if (tool_set_states(cli, op, err) < 0)
		return -1;
	if (!cli_given(cli, &OPT_PLAN) && prepare(cli, known, err) < 0)
		return -1;
	return cli_submit(cli, steal(&op), NULL, err);
}

/* The name that a host has in full, as its own daemons use it, when a short one
 * was given that this machine knows; to be freed. */
static char *full_name(const char *name)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_CANONNAME};
	struct addrinfo *found = NULL;
	const char *full;
	size_t n = strlen(name);
	char *ret;

	if (getaddrinfo(name, NULL, &hints, &found) != 0)
		return xstrdup(name);
	full = found->ai_canonname;
	ret = xstrdup(full != NULL && strncasecmp(full, name, n) == 0 &&
				      full[n] == '.' && str_valid_hostname(full)
			      ? full
			      : name);
	freeaddrinfo(found);
	return ret;
}

static int add(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	char *given = cli->args[0];
	auto_free char *name = NULL;
	int rc;

	if (p == NULL)
		return -1;
	name = login_is_used(p) ? full_name(given) : xstrdup(given);
	cli->args[0] = name;
	rc = add_named(cli, err);
	cli->args[0] = given;
	return rc;
}

/* --- join --- */

static json_t *read_message(struct error *err)
{
	auto_buf struct buf text = {0};
	char chunk[4096];
	ssize_t n;

	while (text.len < INPUT_MAX &&
	       (n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)n);
	return json_parse(text.data == NULL ? "" : text.data, text.len, err);
}

static int check_host(const struct cli *cli, const struct paths *p,
		      const json_t *message, struct error *err)
{
	auto_free char *master = ssconf_read(p, "master_node");
	const char *name = json_str(message, "name", p->hostname);

	if (!str_eq(name, p->hostname))
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "This host calls itself '%s', the cluster "
				 "'%.255s'; both have to be the same "
				 "(hostnamectl set-hostname %.255s)",
				 p->hostname, name, name);
	if (bootstrap_pid(p, DAEMON_MASTERD) != 0 &&
	    (master == NULL || str_eq(master, p->hostname)))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "This host is a master: its master daemon "
				 "runs");
	if (bootstrap_is_foreign(p, message) &&
	    !cli_given(cli, &OPT_FORCE_JOIN))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "This host has the certificate of another "
				 "cluster (--force-join takes it over)");
	return 0;
}

/* What the host had of a log is that of another life.  So is the newest master
 * that it knows, unless it was one of this cluster's. */
static int forget_master(const struct paths *p, const json_t *message,
			 struct error *err)
{
	if (fs_remove_tree(path(p, PATH_CONSENSUS_DIR), err) < 0)
		return -1;
	return bootstrap_has_certificate(p, message)
		       ? 0
		       : fs_remove(path(p, PATH_MASTER_TERM), err);
}

static int join(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_json json_t *message = p == NULL ? NULL : read_message(err);

	if (message == NULL || check_host(cli, p, message, err) < 0)
		return -1;
	if (bootstrap_stop(p, DAEMON_NODED, false, err) < 0 ||
	    bootstrap_stop(p, DAEMON_MASTERD, false, err) < 0 ||
	    forget_master(p, message, err) < 0 ||
	    bootstrap_folders(p, err) < 0 ||
	    bootstrap_take_secrets(p, message, err) < 0)
		return -1;
	if (bootstrap_start(p, DAEMON_NODED, json_str(message, "address", NULL),
			    err) < 0)
		return -1;
	return CLI_OK;
}

const struct cli_command node_add = {
	.name = "add",
	.args = "[-s ip] [--readd] <node-name>",
	.help = "Take a host into the cluster: it gets the cluster's keys over "
		"SSH, and its node daemon is started",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_SECONDARY_IP, &OPT_READD, &OPT_NO_SSH_KEY_CHECK,
		    &OPT_FORCE_JOIN, &OPT_NO_NODE_SETUP, &OPT_VERBOSE,
		    &OPT_GROUP, &OPT_PRIORITY, &OPT_CAPAB_MASTER, &OPT_CAPAB_VM,
		    &OPT_NDPARAMS, &OPT_HV_STATE, &OPT_DISK_STATE, OPTS_PLAN},
	.run = add,
};

const struct cli_command node_join = {
	.name = "join",
	.args = "",
	.help = "What add runs on the host: take a cluster's keys from "
		"standard input, and start the node daemon",
	.options = {&OPT_FORCE_JOIN},
	.run = join,
};
