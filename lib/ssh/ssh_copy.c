/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy of a file by SFTP.  The bytes go into a new file beside the one that
 * is meant, which then gets its name.  SFTP's own renaming replaces no file
 * with the servers and libraries of today, so that is done by mv.  When a
 * connection is lost, the new file stays, as .NAME.xxxxxxxx.part. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/random.h"
#include "lib/ssh/ssh_private.h"

#define CHUNK (256 * 1024)
#define NEW_MODE 0600

/* One copy. */
struct copy {
	struct ssh *s;
	const struct ssh_file *file;
	char *to, *part; /* there: the place, and the new file */
	LIBSSH2_SFTP_HANDLE *handle;
	LIBSSH2_SFTP_ATTRIBUTES old; /* of what is replaced; flags 0: none */
	struct stat info;	     /* of the file here */
	int fd;
	uint64_t done;
};

/* --- errors --- */

static const char *sftp_words(const struct ssh *s)
{
	if (libssh2_session_last_errno(s->session) !=
	    LIBSSH2_ERROR_SFTP_PROTOCOL)
		return NULL;
	switch (libssh2_sftp_last_error(s->sftp)) {
	case LIBSSH2_FX_NO_SUCH_FILE:
	case LIBSSH2_FX_NO_SUCH_PATH:
		return "there is no such folder";
	case LIBSSH2_FX_PERMISSION_DENIED:
		return "permission denied";
	case LIBSSH2_FX_NO_SPACE_ON_FILESYSTEM:
		return "there is no space left";
	case LIBSSH2_FX_QUOTA_EXCEEDED:
		return "the quota is used up";
	default:
		return "the host cannot do it";
	}
}

/* -1 with the error, which names the file. */
static int copy_failed(struct copy *c, const char *words, struct error *err)
{
	if (words == NULL)
		words = sftp_words(c->s);
	if (words == NULL || c->s->dead) {
		ssh_failed(c->s, err);
		return error_wrap(err, "Cannot copy to %s", c->to);
	}
	return ssh_fail(c->s, err, "%s: %s", c->to, words);
}

/* Servers have no word for a full disk. */
static WAITS bool is_full(struct copy *c)
{
	LIBSSH2_SFTP_STATVFS info = {0};
	uint64_t left = (uint64_t)c->info.st_size - c->done;
	int rc;

	if (c->s->dead)
		return false;
	do
		rc = libssh2_sftp_statvfs(c->s->sftp, c->part, strlen(c->part),
					  &info);
	while (ssh_again(c->s, rc));
	return rc == 0 &&
	       (info.f_bavail == 0 || info.f_bavail * info.f_frsize < left);
}

/* --- steps --- */

static WAITS int open_sftp(struct copy *c, struct error *err)
{
	struct ssh *s = c->s;

	ssh_step(s, "start of SFTP");
	while (s->sftp == NULL) {
		s->sftp = libssh2_sftp_init(s->session);
		if (s->sftp == NULL && !ssh_again_null(s))
			return ssh_failed(s, err);
	}
	return 0;
}

static WAITS int look(struct copy *c, const char *path, int how,
		      LIBSSH2_SFTP_ATTRIBUTES *ret)
{
	int rc;

	do
		rc = libssh2_sftp_stat_ex(c->s->sftp, path,
					  (unsigned)strlen(path), how, ret);
	while (ssh_again(c->s, rc));
	return rc;
}

/* Where the file really goes, if `to` is a symbolic link. */
static WAITS int follow_link(struct copy *c, struct error *err)
{
	char target[PATH_MAX];
	int n;

	do
		n = libssh2_sftp_symlink_ex(
			c->s->sftp, c->to, (unsigned)strlen(c->to), target,
			sizeof(target) - 1, LIBSSH2_SFTP_REALPATH);
	while (ssh_again(c->s, n));
	if (n <= 0)
		return copy_failed(c, NULL, err);
	free(c->to);
	c->to = xstrndup(target, (size_t)n);
	return 0;
}

static WAITS int find_place(struct copy *c, struct error *err)
{
	char id[37];
	LIBSSH2_SFTP_ATTRIBUTES info = {0};
	const char *name;

	c->to = xstrdup(c->file->to);
	ssh_step(c->s, "copy");
	if (look(c, c->to, LIBSSH2_SFTP_LSTAT, &info) == 0 &&
	    LIBSSH2_SFTP_S_ISLNK(info.permissions) && follow_link(c, err) < 0)
		return -1;
	if (look(c, c->to, LIBSSH2_SFTP_STAT, &info) == 0)
		c->old = info;
	if (c->s->dead)
		return copy_failed(c, NULL, err);
	if (c->old.flags != 0 && !LIBSSH2_SFTP_S_ISREG(c->old.permissions))
		return copy_failed(c, "there is something that is no file",
				   err);
	name = strrchr(c->to, '/');
	if (name == NULL)
		return copy_failed(c, "not an absolute path", err);
	uuid_new(id);
	c->part = xprintf("%.*s/.%s.%.8s.part", (int)(name - c->to), c->to,
			  name + 1, id);
	return 0;
}

static WAITS int make_file(struct copy *c, struct error *err)
{
	do
		c->handle = libssh2_sftp_open_ex(
			c->s->sftp, c->part, (unsigned)strlen(c->part),
			LIBSSH2_FXF_WRITE | LIBSSH2_FXF_CREAT |
				LIBSSH2_FXF_EXCL,
			NEW_MODE, LIBSSH2_SFTP_OPENFILE);
	while (c->handle == NULL && ssh_again_null(c->s));
	return c->handle == NULL ? copy_failed(c, NULL, err) : 0;
}

/* -1: errno. */
static WAITS ssize_t read_here(int fd, char *data)
{
	ssize_t n;

	task_leave();
	n = read(fd, data, CHUNK);
	task_enter();
	return n;
}

static WAITS int write_there(struct copy *c, const char *data, size_t len,
			     struct error *err)
{
	const struct ssh_file *f = c->file;

	while (len > 0) {
		ssize_t n;

		do
			n = libssh2_sftp_write(c->handle, data, len);
		while (ssh_again(c->s, n));
		if (n < 0) {
			const char *words = sftp_words(c->s);

			if (words != NULL && is_full(c))
				words = "there is no space left";
			return copy_failed(c, words, err);
		}
		data += n;
		len -= (size_t)n;
		c->done += (size_t)n;
		if (f->on_progress != NULL)
			f->on_progress(f->arg, c->done,
				       (uint64_t)c->info.st_size);
	}
	return 0;
}

static WAITS int copy_bytes(struct copy *c, struct error *err)
{
	auto_free char *data = xalloc(CHUNK);

	ssh_long_step(c->s, "copy");
	for (;;) {
		ssize_t n = read_here(c->fd, data);

		if (n < 0)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "Cannot read %s: %s", c->file->from,
					 strerror(errno));
		if (n == 0)
			return 0;
		if (write_there(c, data, (size_t)n, err) < 0)
			return -1;
	}
}

static WAITS int set(struct copy *c, LIBSSH2_SFTP_ATTRIBUTES *to,
		     struct error *err)
{
	int rc;

	do
		rc = libssh2_sftp_fstat_ex(c->handle, to, 1);
	while (ssh_again(c->s, rc));
	return rc == 0 ? 0 : copy_failed(c, NULL, err);
}

/* The owner first, since a change of it takes the bits away that run a program
 * as another user. */
static WAITS int set_attributes(struct copy *c, struct error *err)
{
	LIBSSH2_SFTP_ATTRIBUTES owner = {.flags = LIBSSH2_SFTP_ATTR_UIDGID,
					 .uid = c->file->uid,
					 .gid = c->file->gid};
	LIBSSH2_SFTP_ATTRIBUTES rest = {
		.flags = LIBSSH2_SFTP_ATTR_PERMISSIONS |
			 LIBSSH2_SFTP_ATTR_ACMODTIME,
		.permissions = c->info.st_mode & 07777,
		.atime = (unsigned long)c->info.st_atime,
		.mtime = (unsigned long)c->info.st_mtime,
	};
	bool keep = c->file->uid == SSH_KEEP_OWNER;

	ssh_step(c->s, "owner and mode of the copy");
	if (keep) {
		owner.uid = c->old.uid;
		owner.gid = c->old.gid;
	}
	if ((!keep || (c->old.flags & LIBSSH2_SFTP_ATTR_UIDGID) != 0) &&
	    set(c, &owner, err) < 0)
		return -1;
	return set(c, &rest, err);
}

/* All bytes are on the disk afterwards, where the server can say so. */
static WAITS int close_file(struct copy *c, struct error *err)
{
	int rc;

	ssh_long_step(c->s, "copy");
	do
		rc = libssh2_sftp_fsync(c->handle);
	while (ssh_again(c->s, rc));
	if (c->s->dead)
		return copy_failed(c, NULL, err);
	do
		rc = libssh2_sftp_close_handle(c->handle);
	while (ssh_again(c->s, rc));
	c->handle = NULL;
	if (rc == 0)
		return 0;
	return copy_failed(c, is_full(c) ? "there is no space left" : NULL,
			   err);
}

static void keep_text(void *arg, bool is_stderr, const char *data, size_t len)
{
	struct buf *text = arg;

	(void)is_stderr;
	if (text->len < ERROR_TEXT_MAX)
		buf_add(text, data, len);
}

static WAITS int put_in_place(struct copy *c, struct error *err)
{
	auto_strv struct strv words = {0};
	auto_free char *line = NULL;
	auto_buf struct buf said = {0};
	struct ssh_command command = {.on_output = keep_text, .arg = &said};
	struct ssh_result result;

	strv_add(&words, "mv");
	strv_add(&words, "-fT"); /* never into a folder */
	strv_add(&words, "--");
	strv_add(&words, c->part);
	strv_add(&words, c->to);
	line = ssh_quote(&words);
	command.line = line;
	if (ssh_run(c->s, &command, &result, err) < 0)
		return -1;
	if (result.status == 0)
		return 0;
	return copy_failed(c, said.len > 0 ? said.data : "mv failed", err);
}

/* --- all of them --- */

static WAITS int make_copy(struct copy *c, struct error *err)
{
	return copy_bytes(c, err) < 0 || set_attributes(c, err) < 0 ||
			       close_file(c, err) < 0 ||
			       put_in_place(c, err) < 0
		       ? -1
		       : 0;
}

/* What was begun is taken back, as far as the host still answers. */
static WAITS void take_back(struct copy *c)
{
	int rc;

	ssh_step(c->s, "copy");
	while (c->handle != NULL) {
		rc = libssh2_sftp_close_handle(c->handle);
		if (!ssh_again(c->s, rc))
			c->handle = NULL;
	}
	do
		rc = libssh2_sftp_unlink_ex(c->s->sftp, c->part,
					    (unsigned)strlen(c->part));
	while (ssh_again(c->s, rc));
}

static WAITS int copy_open_file(struct copy *c, struct error *err)
{
	int rc;

	if (fstat(c->fd, &c->info) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot read %s: %s", c->file->from,
				 strerror(errno));
	if (open_sftp(c, err) < 0 || find_place(c, err) < 0 ||
	    make_file(c, err) < 0)
		return -1;
	rc = make_copy(c, err);
	if (rc < 0)
		take_back(c);
	return rc;
}

int ssh_copy(struct ssh *s, const struct ssh_file *file, struct error *err)
{
	struct copy c = {.s = s, .file = file};
	int rc;

	c.fd = fs_open_file(file->from, O_RDONLY, 0, err);
	if (c.fd < 0)
		return -1;
	rc = copy_open_file(&c, err);
	close(c.fd);
	free(c.to);
	free(c.part);
	return rc;
}
