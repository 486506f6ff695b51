/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that copy disks from node to node; each node runs one side of the
 * transfer.
 *
 * An end, where the data comes from or goes to, is [kind, arguments]: "file"
 * [path], a file of an export; "raw" [disk]; "script" [disk, its index], the
 * import or export script of the instance's OS. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/instance/instance.h"
#include "noded/instance/transfer.h"
#include "noded/instance/transfer_key.h"
#include "noded/scripts/exports.h"
#include "noded/scripts/lent.h"
#include "noded/scripts/osdef.h"
#include "noded/scripts/script.h"
#include "noded/storage/bdev.h"

#define FALLBACK_ADDRESS "127.0.0.1" /* for tests, whose daemon has none */
#define IPV6_PRESENT "/proc/net/if_inet6"
#define CONNECT_TIMEOUT_S 60

/* --- the ends --- */

static WAITS int file_end(struct call *c, const json_t *args, bool import,
			  json_t *spec, struct error *err)
{
	const char *file = json_string_value(json_array_get(args, 0));
	auto_free char *local = NULL;

	task_leave(); /* the folder of exports may be on another host */
	local = exports_file(c->paths, file == NULL ? "" : file, import, err);
	task_enter();
	if (local == NULL)
		return -1;
	json_set_str(spec, "kind", "file");
	json_set_str(spec, "path", local);
	return 0;
}

/* The path of the disk on this node, to be freed. */
static WAITS char *disk_path(struct call *c, const json_t *disk,
			     struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	char *local = NULL;
	int rc;

	if (class == NULL)
		return NULL;
	rc = class->find(c->paths, disk, &local, err);
	if (rc == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "%s of the instance is not on this node",
			  json_str(disk, "iv_name", "The disk"));
	return rc == 1 ? local : NULL;
}

static WAITS int raw_end(struct call *c, const json_t *args, json_t *spec,
			 struct error *err)
{
	const json_t *disk = json_array_get(args, 0);
	auto_free char *local = disk_path(c, disk, err);
	auto_free char *at = NULL;

	if (local == NULL)
		return -1;
	json_set_str(spec, "kind", "raw");
	json_set_str(spec, "path", local);
	if (!lent_needed(disk))
		return 0;
	at = lent_path(c->paths, disk);
	json_set_str(spec, "lent_at", at);
	json_set_str(spec, "snapshot", lent_snapshot(disk));
	return fs_mkdirs(path(c->paths, PATH_LENT_DISKS_DIR), 0700, err);
}

/* The words in front of a script that works on this image. */
static int lend(struct call *c, const json_t *disk, const char *image,
		struct strv *argv, struct error *err)
{
	auto_free char *impexp = noded_find_program("gantry-impexp", err);

	if (impexp == NULL || lent_begin(c->paths, impexp, argv, err) < 0)
		return -1;
	lent_add(c->paths, disk, image, argv);
	lent_end(argv);
	return 0;
}

static WAITS int script_end(struct call *c, const json_t *instance,
			    const json_t *args, bool import, json_t *spec,
			    struct error *err)
{
	const char *what = import ? "IMPORT" : "EXPORT";
	int64_t index = json_integer_value(json_array_get(args, 1));
	const json_t *disk = json_array_get(args, 0);
	auto_free char *local = disk_path(c, disk, err), *shown = NULL;
	auto_osdef struct osdef def = {0};
	auto_strv struct strv env = {0}, argv = {0};
	struct error ignored;

	if (local == NULL ||
	    osdef_find(c->paths, json_str(instance, "os", ""), &def, err) < 0 ||
	    osdef_check_script(&def, import ? OSDEF_IMPORT : OSDEF_EXPORT,
			       err) < 0)
		return -1;
	if (osdef_copies_raw(&def))
		return raw_end(c, args, spec, err);
	osdef_instance_env(c->paths, &def, instance, 0, &env);
	/* Of one that is exported while it is off some are not set up. */
	if (instance_disk_env(c->paths, instance, &env, &ignored) < 0)
		log_debug("%s", ignored.text);
	shown = lent_needed(disk) ? lent_path(c->paths, disk) : xstrdup(local);
	strv_addf(&env, "%s_DEVICE=%s", what, shown);
	strv_addf(&env, "%s_DISK_PATH=%s", what, shown);
	strv_addf(&env, "%s_INDEX=%jd", what, (intmax_t)index);
	if (lent_needed(disk) && lend(c, disk, local, &argv, err) < 0)
		return -1;
	strv_addf(&argv, "%s/%s", def.folder, import ? "import" : "export");
	json_set_str(spec, "kind", "script");
	json_object_set_new(spec, "argv", json_from_strv(&argv));
	json_object_set_new(spec, "env", json_from_strv(&env));
	json_set_str(spec, "cwd", def.folder);
	return 0;
}

static WAITS int add_end(struct call *c, const json_t *instance,
			 const json_t *end, bool import, json_t *spec,
			 struct error *err)
{
	const char *kind = json_string_value(json_array_get(end, 0));
	const json_t *args = json_array_get(end, 1);

	if (str_eq(kind, "file"))
		return file_end(c, args, import, spec, err);
	if (str_eq(kind, "raw"))
		return raw_end(c, args, spec, err);
	if (str_eq(kind, "script"))
		return script_end(c, instance, args, import, spec, err);
	return error_set(err, ERR_REQUEST, NULL,
			 "Unknown end of a transfer: \"%s\"",
			 kind == NULL ? "" : kind);
}

/* --- options --- */

static const struct tool {
	const char *name, *program, *level;
} tools[] = {
	{"gzip", "gzip", NULL},
	{"gzip-fast", "gzip", "-1"},
	{"gzip-slow", "gzip", "-9"},
};

/* The command to compress or decompress; programs other than gzip have to take
 * gzip's options. */
static int add_tool(const json_t *opts, bool import, json_t *spec,
		    struct error *err)
{
	const char *name = json_str(opts, "compress", "none");
	const char *program = name, *level = NULL;
	json_t *argv;

	if (strcmp(name, "none") == 0)
		return 0;
	if (!str_valid_filename(name))
		return error_set(err, ERR_REQUEST, NULL,
				 "\"%s\" is not a name of a program that "
				 "compresses",
				 name);
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0) {
			program = tools[i].program;
			level = tools[i].level;
		}
	argv = json_make("[s, s]", program, import ? "-dc" : "-c");
	if (level != NULL && !import)
		json_array_append_new(argv, json_string(level));
	json_object_set_new(spec, "tool", argv);
	return 0;
}

/* A side that does not know streams without zeros expects another magic: the
 * two do not meet, and no disk gets a stream that it takes for data. */
static void add_magic(const json_t *opts, json_t *spec)
{
	bool sparse = json_bool(opts, "sparse", false);
	auto_free char *magic = xprintf("%s%s", json_str(opts, "magic", ""),
					sparse ? "-sparse" : "");

	if (json_get(opts, "magic") != NULL)
		json_set_str(spec, "magic", magic);
	json_set_bool(spec, "sparse", sparse);
}

/* The side of a transfer with another cluster: it shows a key of its own, and
 * the peer has to show the one that was agreed on.  Without that the peer would
 * be whoever has this cluster's certificate. */
static int add_key(struct call *c, const json_t *opts, json_t *spec,
		   struct error *err)
{
	auto_free char *file = transfer_key_file(
		c->paths, json_str(opts, "key_name", ""), err);

	if (file == NULL)
		return -1;
	if (json_str(opts, "ca_pem", NULL) == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "A transfer with a key of its own needs the "
				 "certificate of the other side (ca_pem)");
	json_set_str(spec, "key_file", file);
	json_set_bool(spec, "alone", true);
	return 0;
}

static int add_options(struct call *c, const json_t *opts, bool import,
		       json_t *spec, struct error *err)
{
	if (json_get(opts, "key_name") != NULL &&
	    add_key(c, opts, spec, err) < 0)
		return -1;
	add_magic(opts, spec);
	if (json_int(opts, "bandwidth_limit", 0) > 0)
		json_set_int(spec, "bandwidth_limit",
			     json_int(opts, "bandwidth_limit", 0));
	json_set_int(spec, "connect_timeout",
		     json_int(opts, "connect_timeout", CONNECT_TIMEOUT_S));
	return add_tool(opts, import, spec, err);
}

/* --- the calls --- */

static WAITS json_t *start(struct call *c, const json_t *opts,
			   const json_t *instance, const char *component,
			   const json_t *end, json_t *spec STEALS,
			   struct error *err)
{
	auto_json json_t *mine = spec;
	bool import = json_get(mine, "port") == NULL;
	auto_free char *name = NULL;

	if (add_options(c, opts, import, mine, err) < 0 ||
	    add_end(c, instance, end, import, mine, err) < 0 ||
	    calls_in_force(c, err) < 0)
		return NULL;
	name = transfer_start(c->n, import ? "import" : "export", component,
			      steal(&mine), json_str(opts, "ca_pem", NULL),
			      err);
	return name != NULL ? json_string(name) : NULL;
}

/* Copies within the cluster come by the secondary address, which may be of the
 * other family, those from others by the primary one.  A virtual node has none
 * but its own. */
static const char *import_address(const struct noded *n)
{
	if (n->address == NULL)
		return FALLBACK_ADDRESS;
	if (noded_is_virtual(n))
		return n->address;
	return fs_exists(IPV6_PRESENT) ? "::" : "0.0.0.0";
}

WAITS json_t *call_import_start(struct call *c,
				const struct rpc_args_import_start *args,
				struct error *err)
{
	return start(c, args->options, args->instance, args->component,
		     args->target,
		     json_make("{s:s}", "address", import_address(c->n)), err);
}

WAITS json_t *call_export_start(struct call *c,
				const struct rpc_args_export_start *args,
				struct error *err)
{
	return start(c, args->options, args->instance, args->component,
		     args->source,
		     json_make("{s:s, s:I}", "address", args->host, "port",
			       (json_int_t)args->port),
		     err);
}

json_t *call_impexp_status(struct call *c,
			   const struct rpc_args_impexp_status *args,
			   struct error *err)
{
	json_t *result = json_array();
	const json_t *name;
	size_t i;

	(void)err;
	json_array_foreach (args->names, i, name) {
		const char *text = json_string_value(name);

		json_array_append_new(
			result,
			transfer_status(c->paths, text == NULL ? "" : text));
	}
	return result;
}

json_t *call_impexp_abort(struct call *c,
			  const struct rpc_args_impexp_abort *args,
			  struct error *err)
{
	return transfer_abort(c->paths, args->name, err) < 0 ? NULL
							     : json_null();
}

WAITS json_t *call_impexp_cleanup(struct call *c,
				  const struct rpc_args_impexp_cleanup *args,
				  struct error *err)
{
	return transfer_cleanup(c->paths, args->name, err) < 0 ? NULL
							       : json_null();
}

json_t *call_x509_cert_create(struct call *c,
			      const struct rpc_args_x509_cert_create *args,
			      struct error *err)
{
	auto_free char *certificate = NULL;
	auto_free char *name = transfer_key_make(c->paths, args->validity_s,
						 &certificate, err);

	return name == NULL ? NULL : json_make("[s, s]", name, certificate);
}

json_t *call_x509_cert_remove(struct call *c,
			      const struct rpc_args_x509_cert_remove *args,
			      struct error *err)
{
	return transfer_key_remove(c->paths, args->name, err) < 0 ? NULL
								  : json_null();
}
