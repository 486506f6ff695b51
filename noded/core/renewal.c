/* SPDX-License-Identifier: BSD-2-Clause */
/* Each step is a few operations on files that may be repeated after a crash:
 * files are written as a whole, a switch is two renames, and what is missing
 * counts as done.  While the cluster's certificate is replaced, a file with the
 * old and the new one says whom to trust. */
#include "noded/core/renewal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/event/tls.h"

/* The mode of a file with certificates only: not secret, but nobody else needs
 * it. */
#define TRUSTED_MODE 0400

static int move(const char *from, const char *to, struct error *err)
{
	if (rename(from, to) == 0 || errno == ENOENT)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot rename %s to %s: %s", from, to,
			 strerror(errno));
}

/* From now on both are accepted. */
static int trust_both(const struct paths *p, struct error *err)
{
	const char *const files[] = {path(p, PATH_SERVER_PEM),
				     path(p, PATH_SERVER_PEM_NEW)};

	return tls_write_certs(path(p, PATH_TRUSTED_PEM), files, 2,
			       TRUSTED_MODE, err);
}

int renewal_stage(const struct paths *p, const char *server_pem,
		  struct error *err)
{
	const char *fresh = path(p, PATH_SERVER_PEM_NEW);
	const char *ca = path(p, PATH_SERVER_PEM);

	if (server_pem == NULL) {
		if (fs_remove(fresh, err) < 0)
			return -1;
	} else {
		if (fs_write_atomic(fresh, server_pem, strlen(server_pem), 0400,
				    err) < 0 ||
		    tls_check(fresh, true, err) < 0 || trust_both(p, err) < 0)
			return -1;
		ca = fresh;
	}
	return tls_make_signed(path(p, PATH_CLIENT_PEM_NEW), ca, p->hostname,
			       err);
}

int renewal_switch(const struct paths *p, struct error *err)
{
	if (move(path(p, PATH_SERVER_PEM_NEW), path(p, PATH_SERVER_PEM), err) <
	    0)
		return -1;
	return move(path(p, PATH_CLIENT_PEM_NEW), path(p, PATH_CLIENT_PEM),
		    err);
}

int renewal_finish(const struct paths *p, struct error *err)
{
	if (fs_remove(path(p, PATH_SERVER_PEM_NEW), err) < 0 ||
	    fs_remove(path(p, PATH_CLIENT_PEM_NEW), err) < 0)
		return -1;
	return fs_remove(path(p, PATH_TRUSTED_PEM), err);
}
