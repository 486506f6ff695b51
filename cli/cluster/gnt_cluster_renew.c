/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster renew-crypto.
 *
 * Files that the user gives, and secrets that are made here, are put into a
 * folder of this node, the master; the job reads them there and brings them to
 * all nodes, so no secret is part of the job.  New certificates are made by the
 * job. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/bootstrap.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/files/secret_files.h"

#define FILE_MAX (1024 * 1024)

/* --- what fits together --- */

static int refuse(const char *text, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", text);
}

static int check_options(const struct cli *cli, struct error *err)
{
	bool spice = cli_given(cli, &OPT_SPICE_CERT);
	bool spice_ca = cli_given(cli, &OPT_SPICE_CA_CERT);

	if (cli_given(cli, &OPT_NEW_RAPI_CERT) &&
	    cli_given(cli, &OPT_RAPI_CERT))
		return refuse("Only one of --new-rapi-certificate and "
			      "--rapi-certificate can be given",
			      err);
	if (cli_given(cli, &OPT_NEW_DOMAIN_SECRET) &&
	    cli_given(cli, &OPT_DOMAIN_SECRET))
		return refuse("Only one of --new-cluster-domain-secret and "
			      "--cluster-domain-secret can be given",
			      err);
	if (cli_given(cli, &OPT_NEW_SPICE_CERT) && (spice || spice_ca))
		return refuse("With --new-spice-certificate neither "
			      "--spice-certificate nor --spice-ca-certificate "
			      "can be given",
			      err);
	if (spice != spice_ca)
		return refuse("--spice-certificate and --spice-ca-certificate "
			      "need each other",
			      err);
	return 0;
}

/* --- the files --- */

/* A file that all nodes share, before it is distributed. */
struct staging {
	const struct cli *cli;
	const struct paths *paths;
	json_t *names; /* of those that are there */
};

static char *staged_path(const struct staging *s, const char *name)
{
	json_array_append_new(s->names, json_string(name));
	return xprintf("%s/%s", path(s->paths, PATH_RENEWAL_DIR), name);
}

static int stage_text(const struct staging *s, const char *name,
		      const char *text, size_t len, struct error *err)
{
	auto_free char *file = staged_path(s, name);

	return fs_write_atomic(file, text, len, secret_file_shared(name)->mode,
			       err);
}

/* Read a file that the user has given. */
static int stage_file(const struct staging *s, const char *name,
		      const struct opt *option, struct error *err)
{
	size_t len;
	char *text = fs_read(cli_text(s->cli, option), FILE_MAX, &len, err);
	int rc;

	if (text == NULL)
		return -1;
	rc = stage_text(s, name, text, len, err);
	explicit_bzero(text, len);
	free(text);
	return rc;
}

static int stage_certificate(const struct staging *s, const char *name,
			     const struct opt *option, bool with_key,
			     struct error *err)
{
	if (tls_check(cli_text(s->cli, option), with_key, err) < 0)
		return error_wrap(err, "Unable to load X509 certificate");
	return stage_file(s, name, option, err);
}

static int stage_rapi(const struct staging *s, struct error *err)
{
	auto_free char *file = NULL;

	if (cli_given(s->cli, &OPT_RAPI_CERT))
		return stage_certificate(s, "rapi.pem", &OPT_RAPI_CERT, true,
					 err);
	if (!cli_given(s->cli, &OPT_NEW_RAPI_CERT))
		return 0;
	file = staged_path(s, "rapi.pem");
	return tls_make_ca(file, CERT_COMMON_NAME, err);
}

static int new_spice(const struct staging *s, struct error *err)
{
	auto_free char *file = staged_path(s, "spice.pem");
	auto_free char *ca_file = staged_path(s, "spice-ca.pem");

	return bootstrap_make_spice(file, ca_file, err);
}

static int stage_spice(const struct staging *s, struct error *err)
{
	if (cli_given(s->cli, &OPT_NEW_SPICE_CERT))
		return new_spice(s, err);
	if (!cli_given(s->cli, &OPT_SPICE_CERT))
		return 0;
	if (stage_certificate(s, "spice.pem", &OPT_SPICE_CERT, true, err) < 0)
		return -1;
	return stage_certificate(s, "spice-ca.pem", &OPT_SPICE_CA_CERT, false,
				 err);
}

static int stage_random(const struct staging *s, const char *name,
			const struct opt *option, struct error *err)
{
	auto_free char *file = NULL;

	if (!cli_given(s->cli, option))
		return 0;
	file = staged_path(s, name);
	return bootstrap_write_secret(file, secret_file_shared(name)->mode,
				      err);
}

/* What is in the folder is of a command that was ended before its job. */
static int stage_all(const struct staging *s, struct error *err)
{
	const char *folder = path(s->paths, PATH_RENEWAL_DIR);

	if (fs_remove_tree(folder, err) < 0 ||
	    fs_mkdirs(folder, 0700, err) < 0 || stage_rapi(s, err) < 0 ||
	    stage_spice(s, err) < 0 ||
	    stage_random(s, "hmac.key", &OPT_NEW_HMAC_KEY, err) < 0 ||
	    stage_random(s, "cluster-domain-secret", &OPT_NEW_DOMAIN_SECRET,
			 err) < 0)
		return -1;
	if (!cli_given(s->cli, &OPT_DOMAIN_SECRET))
		return 0;
	return stage_file(s, "cluster-domain-secret", &OPT_DOMAIN_SECRET, err);
}

/* --- the job --- */

static json_t *renew_op(const struct cli *cli, const json_t *files)
{
	json_t *op = cli_op(cli, &op_class_cluster_renew_crypto);

	cli_op_flag(cli, op, "cluster_certificate", &OPT_NEW_CLUSTER_CERT);
	cli_op_flag(cli, op, "node_certificates", &OPT_NEW_NODE_CERTS);
	cli_op_flag(cli, op, "renew_ssh_keys", &OPT_NEW_SSH_KEYS);
	cli_op_flag(cli, op, "verbose", &OPT_VERBOSE);
	cli_op_set(cli, op, "ssh_key_type", &OPT_SSH_KEY_TYPE);
	cli_op_set(cli, op, "ssh_key_bits", &OPT_SSH_KEY_BITS);
	json_object_set(op, "files", json_unconst(files));
	return op;
}

/* The files of the folder are those of one command.  The lock ends with this
 * process, at the latest. */
static int lock_folder(const struct paths *p, struct error *err)
{
	auto_free char *file =
		xprintf("%s/ganeti-renewal.lock", path(p, PATH_LOCK_DIR));
	int fd = fs_mkdirs(path(p, PATH_LOCK_DIR), 0755, err) < 0
			 ? -1
			 : fs_lock(file, err);

	return fd < 0 ? error_wrap(err, "Another renew-crypto may be running")
		      : fd;
}

static int run(struct cli *cli, const struct paths *p, struct error *err)
{
	auto_close int lock = lock_folder(p, err);
	auto_json json_t *names = json_array(), *result = NULL;
	struct staging s = {.cli = cli, .paths = p, .names = names};
	const char *folder = path(p, PATH_RENEWAL_DIR);
	struct error ignored;
	bool staged;

	if (lock < 0)
		return -1;
	staged = stage_all(&s, err) == 0;
	if (json_array_size(names) == 0) /* the job reads nothing there */
		fs_remove_tree(folder, &ignored);
	if (staged)
		result = cli_run_op(cli, renew_op(cli, names), err);
	fs_remove_tree(folder, &ignored);
	if (result == NULL)
		return -1;
	printf("All requested certificates and keys have been replaced. "
	       "Running \"gnt-cluster verify\" now is recommended.\n");
	if (json_array_has_str(names, "rapi.pem"))
		printf("A remote API daemon that runs has to be started anew "
		       "to show its new certificate.\n");
	return CLI_OK;
}

static int renew_crypto(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_json json_t *info = NULL;

	if (p == NULL || check_options(cli, err) < 0)
		return -1;
	/* -1 with err unless this is the master's node: secrets must not be
	 * written anywhere else. */
	info = cli_call(cli, "QueryClusterInfo", json_array(), err);
	if (info == NULL)
		return -1;
	if (!cli_ask(cli, NULL,
		     "New certificates and keys go to all nodes, which go on "
		     "working meanwhile. Continue?"))
		return CLI_FAILURE;
	return run(cli, p, err);
}

const struct cli_command cluster_renew_crypto = {
	.name = "renew-crypto",
	.args = "[<opts>...]",
	.help = "Give new certificates, keys and secrets to all nodes",
	.options = {&OPT_NEW_CLUSTER_CERT, &OPT_NEW_NODE_CERTS,
		    &OPT_NEW_RAPI_CERT, &OPT_RAPI_CERT, &OPT_NEW_SPICE_CERT,
		    &OPT_SPICE_CERT, &OPT_SPICE_CA_CERT, &OPT_NEW_HMAC_KEY,
		    &OPT_NEW_DOMAIN_SECRET, &OPT_DOMAIN_SECRET,
		    &OPT_NEW_SSH_KEYS, &OPT_NO_SSH_KEY_CHECK, &OPT_SSH_KEY_TYPE,
		    &OPT_SSH_KEY_BITS, &OPT_FORCE, &OPT_VERBOSE},
	.run = renew_crypto,
};
