/* SPDX-License-Identifier: BSD-2-Clause */
/* The call about root's SSH keys on this node (doc/design/ssh.md). */
#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/instance/ssh_keys.h"

#define PUB_KEYS_MODE 0600
#define KNOWN_HOSTS_MODE 0644

/* A step about this node's own keys. */
static WAITS int own_step(struct call *c, const char *step,
			  const json_t *values, struct error *err)
{
	const char *type = json_str(values, "type", "");
	int64_t bits = json_int(values, "bits", 0);

	if (ssh_keys_check_size(type, &bits, err) < 0)
		return -1;
	if (strcmp(step, "look") == 0)
		return 0;
	if (strcmp(step, "make") == 0)
		return ssh_keys_make(c->paths, type, bits, err);
	if (strcmp(step, "stage") == 0)
		return ssh_keys_stage(c->paths, type, bits, err);
	if (strcmp(step, "switch") == 0)
		return ssh_keys_switch(c->paths, err);
	if (strcmp(step, "finish") == 0)
		return ssh_keys_finish(c->paths, type, err);
	if (strcmp(step, "leave") == 0)
		return ssh_keys_leave(c->paths, err);
	return error_set(err, ERR_REQUEST, NULL,
			 "Call %s: \"%s\" is no step with SSH keys",
			 c->procedure, step);
}

/* --- give --- */

/* A list of lines, each of which is a key. */
static int read_lines(const json_t *list, struct strv *ret, struct error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *line = json_string_value(json_array_get(list, i));
		auto_free char *id =
			line == NULL ? NULL : ssh_keys_id(line, strlen(line));

		if (id == NULL || strpbrk(line, "\r\n") != NULL)
			return error_set(err, ERR_REQUEST, NULL,
					 "Call ssh_keys: entry %zu is no "
					 "public key",
					 i);
		strv_add(ret, line);
	}
	return 0;
}

/* ganeti_pub_keys; NULL: this node is not to have it. */
static int write_public(const struct paths *p, const json_t *keys,
			struct error *err)
{
	const char *file = path(p, PATH_SSH_PUB_KEYS);
	auto_strv struct strv checked = {0};
	auto_free char *text = NULL;
	const char *uuid;
	json_t *lines;

	if (keys == NULL)
		return fs_remove(file, err);
	json_object_foreach (json_unconst(keys), uuid, lines) {
		if (!str_valid_hostname(uuid))
			return error_set(err, ERR_REQUEST, NULL,
					 "Call ssh_keys: '%.50s' is no UUID",
					 uuid);
		if (read_lines(lines, &checked, err) < 0)
			return -1;
	}
	text = ssh_keys_public_text(keys);
	return fs_write_atomic(file, text, strlen(text), PUB_KEYS_MODE, err);
}

static int write_known_hosts(const struct paths *p, const json_t *what,
			     struct error *err)
{
	const char *text = json_str(what, "known_hosts", NULL);

	if (text == NULL)
		return 0;
	return fs_write_atomic(path(p, PATH_KNOWN_HOSTS), text, strlen(text),
			       KNOWN_HOSTS_MODE, err);
}

static WAITS int give(struct call *c, const json_t *what, struct error *err)
{
	auto_strv struct strv authorized = {0}, withdrawn = {0};
	struct ssh_keys_change change = {&authorized, &withdrawn,
					 json_bool(what, "complete", false)};
	int rc;

	if (read_lines(json_get(what, "authorized"), &authorized, err) < 0 ||
	    read_lines(json_get(what, "withdrawn"), &withdrawn, err) < 0)
		return -1;
	task_leave(); /* nobody else uses the arguments */
	rc = ssh_keys_let_in(c->paths, &change, err) < 0 ||
			     write_public(c->paths, json_get(what, "public"),
					  err) < 0 ||
			     write_known_hosts(c->paths, what, err) < 0
		     ? -1
		     : 0;
	task_enter();
	return rc;
}

/* Values: {type, bits}; to give: {authorized: [line], withdrawn:
 * [identity], complete, public: {uuid: [line]} or null, known_hosts}. */
WAITS json_t *call_ssh_keys(struct call *c,
			    const struct rpc_args_ssh_keys *args,
			    struct error *err)
{
	if (strcmp(args->step, "give") == 0)
		return give(c, args->values, err) < 0 ? NULL : json_null();
	if (own_step(c, args->step, args->values, err) < 0)
		return NULL;
	return ssh_keys_state(c->paths, json_str(args->values, "type", ""),
			      err);
}
