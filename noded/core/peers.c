/* SPDX-License-Identifier: BSD-2-Clause */
/* A check calls stat() on its files, and reads a file again only when its
 * inode, size or time has changed.  A certificate that could not be read counts
 * as changed, so the next check tries again. */
#include "noded/core/peers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/model/config/ssconf.h"

#define CERTS_KEY "master_candidates_certs"

void peers_init(struct peers *p, const struct paths *paths)
{
	*p = (struct peers){.paths = paths};
}

void peers_done(struct peers *p)
{
	strv_done(&p->digests);
	strv_done(&p->log_digests);
}

/* Whether the file has changed since *seen, which is updated.  Files are always
 * replaced as a whole, so a new inode also shows a change. */
static bool has_changed(const char *path, struct stat *seen)
{
	struct stat now;
	bool changed;

	if (stat(path, &now) < 0)
		memset(&now, 0, sizeof(now));
	changed = now.st_ino != seen->st_ino || now.st_size != seen->st_size ||
		  now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
		  now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
	*seen = now;
	return changed;
}

/* The lines are "<node uuid>=<digest>". */
static void take_digests(const struct strv *lines, struct strv *ret)
{
	strv_done(ret);
	for (size_t i = 0; i < lines->n; i++) {
		const char *mark = strchr(lines->items[i], '=');

		if (mark != NULL && mark[1] != '\0')
			strv_add(ret, mark + 1);
	}
}

static bool is_missing(const char *file)
{
	return access(file, F_OK) < 0 && errno == ENOENT;
}

static int read_candidates(struct peers *p, const char *file, struct error *err)
{
	auto_free char *text =
		is_missing(file) ? xstrdup("")
				 : fs_read(file, SSCONF_READ_MAX, NULL, err);
	auto_strv struct strv lines = {0};

	p->no_list = false;
	if (text == NULL)
		return -1;
	p->no_list = text[strspn(text, "\n")] == '\0';
	str_split(&lines, text, '\n');
	take_digests(&lines, &p->digests);
	return 0;
}

/* While the list cannot be read, the last one counts. */
static void look_at_candidates(struct peers *p)
{
	auto_free char *file = paths_ssconf(p->paths, CERTS_KEY);
	struct error err;

	if (!has_changed(file, &p->certs_stat) && p->known)
		return;
	p->known = read_candidates(p, file, &err) == 0;
	if (!p->known && !p->told)
		log_warning("who may call is not known: %s", err.text);
	p->told = !p->known;
}

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec
		       ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
		       : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* Whom the log of the cluster lets in, where the master has not told it yet. No
 * master daemon may run here, so what is older than the master's file has no
 * say.
 */
static bool is_in_log(struct peers *p, const char *digest)
{
	const char *file = path(p->paths, PATH_CONSENSUS_CERTS);

	if (has_changed(file, &p->log_stat)) {
		struct error ignored;
		auto_free char *text =
			fs_read(file, SSCONF_READ_MAX, NULL, &ignored);
		auto_strv struct strv lines = {0};

		if (text != NULL)
			str_split(&lines, text, '\n');
		take_digests(&lines, &p->log_digests);
	}
	return !is_older(&p->log_stat, &p->certs_stat) &&
	       strv_has(&p->log_digests, digest);
}

static bool is_cluster_certificate(struct peers *p, const char *digest)
{
	const char *file = path(p->paths, PATH_SERVER_PEM);
	struct error err;

	if (has_changed(file, &p->server_stat) &&
	    tls_digest(file, p->server_digest, &err) < 0) {
		log_warning("%s", err.text);
		p->server_digest[0] = '\0';
		memset(&p->server_stat, 0, sizeof(p->server_stat));
	}
	return p->server_digest[0] != '\0' &&
	       strcmp(p->server_digest, digest) == 0;
}

bool peers_allowed(struct peers *p, const char *digest)
{
	if (digest == NULL)
		return false;
	look_at_candidates(p);
	if (p->no_list)
		return is_cluster_certificate(p, digest);
	return strv_has(&p->digests, digest) || is_in_log(p, digest);
}
