/* SPDX-License-Identifier: BSD-2-Clause */
/* Manages key pairs.  A new pair is made under the name gantry_next and synced.
 * To switch, its private key is renamed into place, then its public key.
 * Functions that work on pairs call settle_all() first, which completes a
 * switch that a crash has interrupted. */
#include "noded/instance/ssh_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"

#define FILE_MAX (4u * 1024 * 1024)
#define AUTHORIZED "authorized_keys"
#define STAGED "gantry_next"	       /* the name of the next pair */
#define KEYGEN_TIMEOUT_MS (100 * 1000) /* less than the call's */

/* --- files --- */

static int failed(struct error *err, const char *what, const char *file)
{
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot %s %s: %s",
			 what, file, strerror(errno));
}

/* root's .ssh is a folder of root's own. */
static int check_folder(const struct paths *p, bool make, struct error *err)
{
	const char *dir = path(p, PATH_SSH_DIR);
	struct stat info;

	if (make && fs_mkdirs(dir, 0700, err) < 0)
		return -1;
	if (lstat(dir, &info) < 0)
		return errno == ENOENT && !make ? 0
						: failed(err, "look at", dir);
	if (S_ISDIR(info.st_mode) && info.st_uid == geteuid())
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "%s is a symbolic link or belongs to another user, it "
			 "is left alone; make it a folder of root's",
			 dir);
}

/* The content of a regular file, "" where there is none; to be freed. */
static char *read_own(const char *file, struct error *err)
{
	auto_close int fd =
		open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	auto_buf struct buf text = {0};
	char chunk[4096];
	struct stat info;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return xstrdup("");
	if (fd < 0 && errno == ELOOP) {
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			  "%s is a symbolic link and left alone; put a file in "
			  "its place",
			  file);
		return NULL;
	}
	if (fd < 0 || fstat(fd, &info) < 0) {
		failed(err, "read", file);
		return NULL;
	}
	if (!S_ISREG(info.st_mode) || info.st_size > FILE_MAX) {
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			  "%s is no file of at most %u bytes", file, FILE_MAX);
		return NULL;
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)n);
	if (n == 0)
		return buf_steal(&text);
	failed(err, "read", file);
	return NULL;
}

/* <dir>/<name><suffix>, to be freed. */
static char *file_of(const struct paths *p, const char *name,
		     const char *suffix)
{
	return xprintf("%s/%s%s", path(p, PATH_SSH_DIR), name, suffix);
}

static int sync_file(const char *file, struct error *err)
{
	auto_close int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? failed(err, "sync", file) : 0;
}

static int move(const char *from, const char *to, struct error *err)
{
	return rename(from, to) < 0 ? failed(err, "rename", from) : 0;
}

/* --- pairs --- */

static char *pair_name(const char *type)
{
	return xprintf("id_%s", type);
}

/* The line in the public file of a pair, to be freed; NULL when there is no
 * such pair, or without its public part. */
static char *public_line(const struct paths *p, const char *name)
{
	auto_free char *private = file_of(p, name, "");
	auto_free char *public = file_of(p, name, ".pub");
	auto_free char *text = NULL, *id = NULL;
	struct error ignored;

	text = fs_exists(private) ? read_own(public, &ignored) : NULL;
	if (text == NULL)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	id = ssh_keys_id(text, strlen(text));
	return id == NULL ? NULL : steal(&text);
}

static bool is_ours(const struct paths *p, const char *name)
{
	auto_free char *line = public_line(p, name);

	return line != NULL && ssh_keys_marked(line, strlen(line));
}

static int remove_pair(const struct paths *p, const char *name,
		       struct error *err)
{
	auto_free char *private = file_of(p, name, "");
	auto_free char *public = file_of(p, name, ".pub");

	return fs_remove(private, err) < 0 ? -1 : fs_remove(public, err);
}

/* A switch puts the next private key into place first, then its public key.
 * After a crash between the two steps the public key is still missing: it is
 * put into place now. */
static int settle(const struct paths *p, const char *name, struct error *err)
{
	auto_free char *private = file_of(p, STAGED, "");
	auto_free char *from = file_of(p, STAGED, ".pub");
	auto_free char *to = file_of(p, name, ".pub");

	if (fs_exists(private) || !fs_exists(from) || fs_exists(to))
		return 0;
	return move(from, to, err);
}

/* Complete a switch that a crash has interrupted, for all types. */
static int settle_all(const struct paths *p, struct error *err)
{
	auto_free char *file = file_of(p, STAGED, ".pub");
	auto_free char *line = NULL, *name = NULL;
	const char *type;

	if (check_folder(p, false, err) < 0)
		return -1;
	line = read_own(file, err);
	if (line == NULL)
		return -1;
	type = ssh_keys_type_of(line);
	if (type == NULL)
		return 0;
	name = pair_name(type);
	return settle(p, name, err);
}

static json_t *host_keys(const struct paths *p)
{
	json_t *ids = json_array();

	for (size_t i = 0; ssh_keys_types[i] != NULL; i++) {
		auto_free char *file =
			xprintf("%s/ssh_host_%s_key.pub",
				path(p, PATH_SSH_HOST_DIR), ssh_keys_types[i]);
		struct error ignored;
		auto_free char *text = fs_read(file, FILE_MAX, NULL, &ignored);
		auto_free char *id =
			text == NULL ? NULL : ssh_keys_id(text, strlen(text));

		if (id != NULL)
			json_array_append_new(ids, json_string(id));
	}
	return ids;
}

json_t *ssh_keys_state(const struct paths *p, const char *type,
		       struct error *err)
{
	auto_free char *staged = NULL;
	json_t *keys;

	if (settle_all(p, err) < 0)
		return NULL;
	keys = json_array();
	for (size_t i = 0; ssh_keys_types[i] != NULL; i++) {
		auto_free char *name = pair_name(ssh_keys_types[i]);
		auto_free char *line = public_line(p, name);

		if (line != NULL && (ssh_keys_marked(line, strlen(line)) ||
				     strcmp(ssh_keys_types[i], type) == 0))
			json_array_append_new(keys, json_string(line));
	}
	staged = public_line(p, STAGED);
	return json_make("{s:o, s:s?, s:o}", "keys", keys, "staged", staged,
			 "host_keys", host_keys(p));
}

/* --- making --- */

static WAITS int generate(const struct paths *p, const char *type, int64_t bits,
			  struct error *err)
{
	auto_free char *private = file_of(p, STAGED, "");
	auto_free char *public = file_of(p, STAGED, ".pub");
	auto_free char *comment = ssh_keys_line("", p->hostname);
	auto_free char *size = xprintf("%jd", (intmax_t)bits);
	const char *const argv[] = {
		"ssh-keygen", "-q",    "-t", type,	  "-b", size,
		"-N",	      "",      "-C", comment + 1, /* behind the blank */
		"-f",	      private, NULL};

	if (remove_pair(p, STAGED, err) < 0)
		return -1;
	if (proc_check(argv, KEYGEN_TIMEOUT_MS, err) < 0)
		return error_wrap(err, "Cannot make an SSH key");
	return sync_file(private, err) < 0 || sync_file(public, err) < 0 ||
			       sync_file(path(p, PATH_SSH_DIR), err) < 0
		       ? -1
		       : 0;
}

int ssh_keys_stage(const struct paths *p, const char *type, int64_t bits,
		   struct error *err)
{
	if (check_folder(p, true, err) < 0 || settle_all(p, err) < 0)
		return -1;
	return generate(p, type, bits, err);
}

/* Rename the pair in use, which the cluster has not made. */
static int put_aside(const struct paths *p, const char *name, struct error *err)
{
	auto_free char *suffix =
		xprintf(".backup-%jd", (intmax_t)(clock_wall_us() / 1000000));
	auto_free char *private = file_of(p, name, "");
	auto_free char *public = file_of(p, name, ".pub");
	auto_free char *old_name = xprintf("%s%s", name, suffix);
	auto_free char *old_private = file_of(p, old_name, "");
	auto_free char *old_public = file_of(p, old_name, ".pub");

	/* The private key stays in use until it is replaced. */
	if (link(private, old_private) < 0 && errno != EEXIST)
		return failed(err, "keep", private);
	return fs_exists(public) ? move(public, old_public, err) : 0;
}

int ssh_keys_switch(const struct paths *p, struct error *err)
{
	auto_free char *line = NULL, *name = NULL, *from = NULL, *to = NULL;
	auto_free char *public = NULL;

	if (settle_all(p, err) < 0)
		return -1;
	line = public_line(p, STAGED);
	if (line == NULL)
		return 0;
	name = pair_name(ssh_keys_type_of(line));
	from = file_of(p, STAGED, "");
	to = file_of(p, name, "");
	public = file_of(p, name, ".pub");
	if (fs_exists(to) && !is_ours(p, name) && put_aside(p, name, err) < 0)
		return -1;
	/* Without a public key ssh uses the private one, old or new; with a
	 * wrong public key it could not log in. */
	if (fs_remove(public, err) < 0 || move(from, to, err) < 0 ||
	    settle(p, name, err) < 0)
		return -1;
	return sync_file(path(p, PATH_SSH_DIR), err);
}

int ssh_keys_make(const struct paths *p, const char *type, int64_t bits,
		  struct error *err)
{
	auto_free char *name = pair_name(type);
	auto_free char *private = file_of(p, name, "");
	auto_free char *line = NULL, *staged = NULL;

	if (settle_all(p, err) < 0)
		return -1;
	line = public_line(p, name);
	if (line != NULL)
		return 0;
	staged = public_line(p, STAGED);
	if (staged != NULL && str_eq(ssh_keys_type_of(staged), type))
		return ssh_keys_switch(p, err);
	if (fs_exists(private))
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "There is a key %s, but not its public part "
				 "%s.pub (ssh-keygen -y makes it)",
				 private, private);
	if (ssh_keys_stage(p, type, bits, err) < 0)
		return -1;
	return ssh_keys_switch(p, err);
}

int ssh_keys_finish(const struct paths *p, const char *type, struct error *err)
{
	if (settle_all(p, err) < 0 || remove_pair(p, STAGED, err) < 0)
		return -1;
	for (size_t i = 0; ssh_keys_types[i] != NULL; i++) {
		auto_free char *name = pair_name(ssh_keys_types[i]);

		if (!str_eq(ssh_keys_types[i], type) && is_ours(p, name) &&
		    remove_pair(p, name, err) < 0)
			return -1;
	}
	return 0;
}

bool ssh_keys_private_is_safe(const struct paths *p, const char *type)
{
	auto_free char *name = pair_name(type);
	auto_free char *private = file_of(p, name, "");
	struct stat info;

	return lstat(private, &info) == 0 && S_ISREG(info.st_mode) &&
	       info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

/* --- accepted keys --- */

char *ssh_keys_authorized(const struct paths *p, struct error *err)
{
	auto_free char *file = file_of(p, AUTHORIZED, "");

	return check_folder(p, false, err) < 0 ? NULL : read_own(file, err);
}

int ssh_keys_let_in(const struct paths *p, const struct ssh_keys_change *change,
		    struct error *err)
{
	auto_free char *file = file_of(p, AUTHORIZED, "");
	auto_free char *before = ssh_keys_authorized(p, err);
	auto_free char *after = NULL;

	if (before == NULL)
		return -1;
	after = ssh_keys_authorize(before, change);
	if (strcmp(before, after) == 0)
		return 0;
	if (check_folder(p, true, err) < 0)
		return -1;
	return fs_write_atomic(file, after, strlen(after), 0600, err);
}

/* The identities of all keys that this node knows as the cluster's. */
static void known_ids(const struct paths *p, struct strv *ret)
{
	auto_free char *text = NULL;
	auto_json json_t *known = NULL;
	struct error ignored;
	const char *uuid;
	json_t *lines;

	text = read_own(path(p, PATH_SSH_PUB_KEYS), &ignored);
	known = ssh_keys_read_public(text == NULL ? "" : text);
	json_object_foreach (known, uuid, lines)
		for (size_t i = 0; i < json_array_size(lines); i++) {
			const char *line =
				json_string_value(json_array_get(lines, i));
			auto_free char *id = ssh_keys_id(line, strlen(line));

			strv_add(ret, id);
		}
}

int ssh_keys_leave(const struct paths *p, struct error *err)
{
	auto_strv struct strv none = {0}, known = {0};
	struct ssh_keys_change change = {&none, &known, true};

	known_ids(p, &known);
	if (ssh_keys_let_in(p, &change, err) < 0)
		return -1;
	return ssh_keys_finish(p, NULL, err);
}
