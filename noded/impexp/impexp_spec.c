/* SPDX-License-Identifier: BSD-2-Clause */
/* What a transfer is to do, from the node daemon's text. */
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/impexp/impexp.h"

#define CONNECT_TIMEOUT_MAX_S 3600

static int read_kind(const json_t *object, struct impexp_spec *ret)
{
	const char *kind = json_str(object, "kind", "");

	if (strcmp(kind, "raw") == 0)
		ret->kind = IMPEXP_RAW;
	else if (strcmp(kind, "file") == 0)
		ret->kind = IMPEXP_FILE;
	else if (strcmp(kind, "script") == 0)
		ret->kind = IMPEXP_SCRIPT;
	else
		return -1;
	if (ret->kind == IMPEXP_SCRIPT)
		return json_array_size(ret->argv) > 0 ? 0 : -1;
	return ret->path != NULL ? 0 : -1;
}

/* Where the bytes come from or go to. */
static bool has_other_side(const struct impexp_spec *s)
{
	if (s->image != NULL)
		return s->import && s->kind == IMPEXP_RAW &&
		       s->schemes != NULL && s->instance_disks != NULL;
	return s->address != NULL && s->key_file != NULL && s->ca_file != NULL;
}

int impexp_spec_read(const json_t *object, struct impexp_spec *ret,
		     struct error *err)
{
	int64_t timeout_s = json_int(object, "connect_timeout", 60);

	*ret = (struct impexp_spec){
		.import = json_bool(object, "import", false),
		.address = json_str(object, "address", NULL),
		.port = (int)json_int(object, "port", 0),
		.key_file = json_str(object, "key_file", NULL),
		.ca_file = json_str(object, "ca_file", NULL),
		.alone = json_bool(object, "alone", false),
		.magic = json_str(object, "magic", NULL),
		.image = json_str(object, "image", NULL),
		.url = json_bool(object, "url", false),
		.schemes = json_str(object, "schemes", NULL),
		.closed = json_get(object, "closed"),
		.instance_disks = json_str(object, "instance_disks", NULL),
		.limit = json_int(object, "limit", 0),
		.connect_timeout_s = (int)timeout_s,
		.bandwidth_mib = json_int(object, "bandwidth_limit", 0),
		.tool = json_get(object, "tool"),
		.path = json_str(object, "path", NULL),
		.snapshot = json_str(object, "snapshot", NULL),
		.lent_at = json_str(object, "lent_at", NULL),
		.sparse = json_bool(object, "sparse", false),
		.argv = json_get(object, "argv"),
		.env = json_get(object, "env"),
		.cwd = json_str(object, "cwd", NULL),
	};
	if (timeout_s > 0 && timeout_s <= CONNECT_TIMEOUT_MAX_S &&
	    read_kind(object, ret) == 0 && has_other_side(ret))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "This is not the description of a transfer");
}
