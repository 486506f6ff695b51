/* SPDX-License-Identifier: BSD-2-Clause */
/* The end that reads an image: a file or a device of this node, or a URL.
 *
 * A user who may only have a disk made must not be able to read this node's own
 * data.  So the process runs as nobody while it reads a file or talks to a
 * server, and the kernel decides what it may read.  A block device is opened
 * before that, but only if neither the host nor an instance uses it. */
#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "noded/impexp/impexp.h"

#define NOBODY 65534
#define REDIRECTS_MAX 10L
#define CONNECT_TIMEOUT_S 60L
/* A server that sends nothing for so long is given up. */
#define SILENCE_S 120L

static int fail(struct error *err, const struct impexp_spec *spec,
		const char *what)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return error_set(err, ERR_SYSTEM, NULL, "Image '%s' not found",
				 spec->image);
	return error_set(err, ERR_SYSTEM, NULL, "Image '%s': can't %s: %s",
			 spec->image, what, strerror(errno));
}

static int drop_privileges(struct error *err)
{
	if (geteuid() != 0 || (setgroups(0, NULL) == 0 &&
			       setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
			       setresuid(NOBODY, NOBODY, NOBODY) == 0))
		return 0;
	return error_set(err, ERR_SYSTEM, NULL, "Cannot give up privileges: %s",
			 strerror(errno));
}

static int become_nobody(struct error *err)
{
	if (drop_privileges(err) < 0)
		return -1;
	/* The kernel drops this setting when the user changes. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

/* --- files and devices --- */

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

static bool is_closed(const struct impexp_spec *spec, const char *path)
{
	size_t i;
	json_t *folder;

	json_array_foreach (spec->closed, i, folder) {
		auto_free char *real =
			realpath(json_string_value(folder), NULL);

		if (real != NULL && is_below(path, real))
			return true;
	}
	return false;
}

/* Whether an instance of this node uses the device as a disk. */
static bool is_a_disk(const struct impexp_spec *spec, dev_t device)
{
	DIR *folder = opendir(spec->instance_disks);
	bool found = false;
	struct dirent *entry;
	struct stat st;

	if (folder == NULL)
		return false;
	while (!found && (entry = readdir(folder)) != NULL)
		found = fstatat(dirfd(folder), entry->d_name, &st, 0) == 0 &&
			S_ISBLK(st.st_mode) && st.st_rdev == device;
	closedir(folder);
	return found;
}

/* O_EXCL: not while the host has it mounted or made volumes of it. */
static int open_device(const struct impexp_spec *spec, const char *path,
		       struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_EXCL);
	struct stat st;

	if (fd < 0)
		return fail(err, spec, "open the device");
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    !is_a_disk(spec, st.st_rdev) && become_nobody(err) == 0)
		return fd;
	close(fd);
	return error_set(err, ERR_SYSTEM, NULL,
			 "Image '%s': the device is a disk of an instance",
			 spec->image);
}

static int open_file(const struct impexp_spec *spec, const char *path,
		     struct error *err)
{
	struct stat st;
	int fd;

	if (become_nobody(err) < 0)
		return -1;
	fd = open(path,
		  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == EACCES)
		return error_set(err, ERR_SYSTEM, NULL,
				 "Image '%s' is not readable for everybody on "
				 "the node, as files have to be that are put "
				 "onto disks; change its mode and that of its "
				 "folders, or give a URL",
				 spec->image);
	if (fd < 0)
		return fail(err, spec, "open it");
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return error_set(err, ERR_SYSTEM, NULL,
			 "Image '%s' is neither a file nor a block device",
			 spec->image);
}

static int open_image(const struct impexp_spec *spec, struct error *err)
{
	auto_free char *path = realpath(spec->image, NULL);
	struct stat st;

	if (path == NULL || stat(path, &st) < 0)
		return fail(err, spec, "find it");
	if (is_closed(spec, path))
		return error_set(err, ERR_SYSTEM, NULL,
				 "Image '%s' is among the cluster's own files, "
				 "which are not put onto disks",
				 spec->image);
	return S_ISBLK(st.st_mode) ? open_device(spec, path, err)
				   : open_file(spec, path, err);
}

static int too_big(const struct impexp_spec *spec, int64_t size,
		   struct error *err)
{
	return error_set(err, ERR_SYSTEM, NULL,
			 "Image '%s' has %jd bytes, more than the %jd of the "
			 "disk",
			 spec->image, (intmax_t)size, (intmax_t)spec->limit);
}

/* The process that writes the disk has ended. */
static int lost(int number, struct error *err)
{
	return error_set(err, ERR_SYSTEM, NULL, "Cannot pass on the image: %s",
			 strerror(number));
}

static int copy(const struct impexp_spec *spec, int fd, struct impexp_shared *s,
		struct error *err)
{
	auto_close int image = open_image(spec, err);
	auto_free char *data = xalloc(IMPEXP_CHUNK);
	off_t size;
	ssize_t n;

	if (image < 0)
		return -1;
	size = lseek(image, 0, SEEK_END);
	if (size < 0 || lseek(image, 0, SEEK_SET) < 0)
		return fail(err, spec, "tell its size");
	if (size > spec->limit)
		return too_big(spec, size, err);
	s->total = size;
	while ((n = read(image, data, IMPEXP_CHUNK)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(err, spec, "read it");
		if (impexp_write_all(fd, data, (size_t)n) < 0)
			return lost(errno, err);
	}
	return 0;
}

/* --- URLs --- */

struct download {
	CURL *curl;
	struct impexp_shared *shared;
	int fd, error; /* errno of a write */
};

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct download *d = arg;
	curl_off_t total = -1;

	curl_easy_getinfo(d->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total);
	if (total > 0)
		d->shared->total = total;
	if (impexp_write_all(d->fd, data, size * n) == 0)
		return size * n;
	d->error = errno;
	return 0;
}

static void set_options(CURL *c, const struct impexp_spec *spec, char *text)
{
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, text);
	curl_easy_setopt(c, CURLOPT_URL, spec->image);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, spec->schemes);
	curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, spec->schemes);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
	curl_easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)spec->limit);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "gantry");
}

static CURL *open_curl(struct error *err)
{
	CURL *c = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? curl_easy_init()
							     : NULL;

	if (c == NULL)
		error_set(err, ERR_SYSTEM, NULL,
			  "Cannot download the image: out of memory");
	return c;
}

/* The text, without what a URL says of a user and a password. */
static int fetch_failed(const struct impexp_spec *spec, CURLcode code,
			const char *text, struct error *err)
{
	if (code == CURLE_FILESIZE_EXCEEDED)
		return error_set(err, ERR_SYSTEM, NULL,
				 "The image is bigger than the %jd bytes of "
				 "the disk",
				 (intmax_t)spec->limit);
	return error_set(err, ERR_SYSTEM, NULL, "Cannot download the image: %s",
			 *text != '\0' ? text : curl_easy_strerror(code));
}

static int fetch(const struct impexp_spec *spec, int fd,
		 struct impexp_shared *s, struct error *err)
{
	char text[CURL_ERROR_SIZE] = "";
	struct download d = {.shared = s, .fd = fd};
	CURLcode code;

	if (become_nobody(err) < 0 || (d.curl = open_curl(err)) == NULL)
		return -1;
	set_options(d.curl, spec, text);
	curl_easy_setopt(d.curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(d.curl, CURLOPT_WRITEDATA, &d);
	code = curl_easy_perform(d.curl);
	curl_easy_cleanup(d.curl);
	if (d.error != 0)
		return lost(d.error, err);
	return code == CURLE_OK ? 0 : fetch_failed(spec, code, text, err);
}

/* Of FTP servers libcurl makes up headers and takes them for data. */
static size_t pass_over(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

int64_t impexp_image_size(const struct impexp_spec *spec, struct error *err)
{
	char text[CURL_ERROR_SIZE] = "";
	curl_off_t bytes = -1;
	CURLcode code;
	CURL *c;

	if (drop_privileges(err) < 0 || (c = open_curl(err)) == NULL)
		return -1;
	set_options(c, spec, text);
	curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, pass_over);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, CONNECT_TIMEOUT_S);
	code = curl_easy_perform(c);
	if (code == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
				  &bytes);
	curl_easy_cleanup(c);
	if (code != CURLE_OK)
		return fetch_failed(spec, code, text, err);
	return bytes >= 0 ? bytes
			  : error_set(err, ERR_SYSTEM, NULL,
				      "The server does not say how big the "
				      "image is");
}

int impexp_image_run(const struct impexp_spec *spec, int fd,
		     struct impexp_shared *s, struct error *err)
{
	s->connected = true;
	return spec->url ? fetch(spec, fd, s, err) : copy(spec, fd, s, err);
}
