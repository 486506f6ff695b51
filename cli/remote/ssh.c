/* SPDX-License-Identifier: BSD-2-Clause */
/* Each operation asks is_virtual() and then makes an argument list for ssh or
 * scp, or does the same on this machine.  run.c runs the commands.  A session
 * is not run here: its caller gets the argument list. */
#include "cli/remote/ssh.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/remote/run.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"

#define CONNECT_TIMEOUT_S 10
#define LOGIN "root"
#define COPY_MAX (64 * 1024 * 1024)

static bool is_virtual(const struct ssh *s)
{
	return *s->paths->root != '\0';
}

static void add_options(const struct ssh *s, const struct ssh_node *node,
			struct strv *argv)
{
	static const char *const fixed[] = {"-oEscapeChar=none",
					    "-oHashKnownHosts=no",
					    "-oUserKnownHostsFile=/dev/null",
					    "-oCheckHostIp=no",
					    "-oBatchMode=yes",
					    "-oStrictHostKeyChecking=yes"};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		strv_add(argv, fixed[i]);
	strv_addf(argv, "-oGlobalKnownHostsFile=%s",
		  path(s->paths, PATH_KNOWN_HOSTS));
	strv_addf(argv, "-oConnectTimeout=%d", CONNECT_TIMEOUT_S);
	strv_addf(argv, "-oHostKeyAlias=%s", s->cluster);
	strv_addf(argv, "-oPort=%d", node->port);
	if (s->ipv6)
		strv_add(argv, "-6");
}

/* Our root folder with the node's name in place of ours; to be freed. */
static char *root_of(const struct ssh *s, const struct ssh_node *node)
{
	const char *own = s->paths->root;

	return xprintf("%.*s/%s", (int)(strrchr(own, '/') - own), own,
		       node->name);
}

/* Over ssh a shell on the node gets a line.  So a local shell gets it here, in
 * the node's environment. */
static void local_command(const struct ssh *s, const struct ssh_node *node,
			  const char *command, struct strv *argv,
			  struct strv *env)
{
	auto_free char *root = root_of(s, node);

	strv_add(argv, "/bin/sh");
	strv_add(argv, "-c");
	strv_add(argv, command);
	strv_addf(env, "GANETI_ROOTDIR=%s", root);
	strv_addf(env, "GANETI_HOSTNAME=%s", node->name);
}

int ssh_run(const struct ssh *s, const struct ssh_node *node,
	    const char *command, char **ret_output, struct error *err)
{
	auto_strv struct strv argv = {0}, env = {0};

	if (is_virtual(s)) {
		local_command(s, node, command, &argv, &env);
	} else {
		strv_add(&argv, "ssh");
		add_options(s, node, &argv);
		strv_add(&argv, "-q");
		strv_addf(&argv, LOGIN "@%s", node->address);
		strv_add(&argv, command);
	}
	return run_output((const char *const *)argv.items,
			  (const char *const *)env.items, ret_output, err);
}

/* --- sessions --- */

#define SAFE_CHARACTERS                                                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"       \
	"@%_+=:,./-"

static void add_quoted(struct buf *text, const char *word)
{
	if (*word != '\0' && word[strspn(word, SAFE_CHARACTERS)] == '\0') {
		buf_adds(text, word);
		return;
	}
	buf_addc(text, '\'');
	for (; *word != '\0'; word++)
		if (*word == '\'')
			buf_adds(text, "'\\''");
		else
			buf_addc(text, *word);
	buf_addc(text, '\'');
}

char *ssh_quoted(const struct strv *words)
{
	struct buf text = {0};

	for (size_t i = 0; i < words->n; i++) {
		if (i > 0)
			buf_addc(&text, ' ');
		add_quoted(&text, words->items[i]);
	}
	return text.data == NULL ? xstrdup("") : buf_steal(&text);
}

void ssh_session(const struct ssh *s, const struct ssh_node *node,
		 const char *user, const struct strv *command,
		 struct strv *ret_argv)
{
	auto_free char *line = ssh_quoted(command);

	if (is_virtual(s)) {
		for (size_t i = 0; i < command->n; i++)
			strv_add(ret_argv, command->items[i]);
		return;
	}
	strv_add(ret_argv, "ssh");
	add_options(s, node, ret_argv);
	strv_add(ret_argv, "-t");
	strv_add(ret_argv, "-t"); /* also where we have no terminal */
	strv_addf(ret_argv, "%s@%s", user, node->address);
	strv_add(ret_argv, line);
}

/* --- copies --- */

static int copy_local(const struct ssh *s, const struct ssh_node *node,
		      const char *file, struct error *err)
{
	auto_free char *root = root_of(s, node);
	auto_free char *inside = paths_virtual(s->paths, file);
	auto_free char *target = xprintf("%s%s", root, inside);
	auto_free char *folder =
		xstrndup(target, (size_t)(strrchr(target, '/') - target));
	auto_free char *data = NULL;
	struct stat info;
	size_t len;

	data = fs_read(file, COPY_MAX, &len, err);
	if (data == NULL)
		return -1;
	if (stat(file, &info) < 0 || !fs_exists(folder))
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "There is no folder %s", folder);
	return fs_write_atomic(target, data, len, info.st_mode & 07777, err);
}

static int copy_remote(const struct ssh *s, const struct ssh_node *node,
		       const char *file, struct error *err)
{
	auto_strv struct strv argv = {0};
	auto_free char *output = NULL;
	int status;

	strv_add(&argv, "scp");
	strv_add(&argv, "-p");
	add_options(s, node, &argv);
	strv_add(&argv, "-q");
	strv_add(&argv, file);
	if (strchr(node->address, ':') != NULL)
		strv_addf(&argv, "[%s]:%s", node->address, file);
	else
		strv_addf(&argv, "%s:%s", node->address, file);
	status =
		run_output((const char *const *)argv.items, NULL, &output, err);
	if (status <= 0)
		return status;
	return error_set(err, ERR_EXEC, NULL, "scp ended with status %d: %s",
			 status, output);
}

int ssh_copy(const struct ssh *s, const struct ssh_node *node, const char *file,
	     struct error *err)
{
	return is_virtual(s) ? copy_local(s, node, file, err)
			     : copy_remote(s, node, file, err);
}
