/* SPDX-License-Identifier: BSD-2-Clause */
/* The ssconf files of this node.  Everything here blocks. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

/* How long to wait for another process that writes the files. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_US 50000

static int take_lock(const struct paths *p, struct error *err)
{
	int fd = -1;

	if (fs_mkdirs(path(p, PATH_LOCK_DIR), 0755, err) < 0)
		return -1;
	for (int i = 0; i < LOCK_TRIES; i++) {
		fd = fs_lock(path(p, PATH_SSCONF_LOCK), err);
		if (fd >= 0 || !str_eq(err->ecode, ECODE_STATE))
			break;
		usleep(LOCK_PAUSE_US);
	}
	return fd;
}

/* As the file has it: with a newline at the end unless it is empty. */
static char *file_text(const char *key, const json_t *value, struct error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (!ssconf_is_key(key)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Unknown ssconf key '%.100s'", key);
		return NULL;
	}
	if (!json_is_string(value) && !json_is_array(value)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "The ssconf value '%s' must be text or a list of "
			  "lines",
			  key);
		return NULL;
	}
	text = ssconf_text(value);
	len = strlen(text);
	if (len == 0 || text[len - 1] == '\n')
		return steal(&text);
	return xprintf("%s\n", text);
}

static int write_one(struct disk *d, const struct paths *p, const char *key,
		     const char *text, struct error *err)
{
	auto_free char *file = paths_ssconf(p, key);
	size_t len = 0;
	struct error ignored;
	auto_free char *old =
		d->exists(d, file)
			? d->read(d, file, SSCONF_READ_MAX, &len, &ignored)
			: NULL;

	if (old != NULL && len == strlen(text) && memcmp(old, text, len) == 0)
		return 0;
	return d->write_atomic(d, file, text, strlen(text), 0444, err);
}

int ssconf_write(struct disk *d, const struct paths *p, const json_t *values,
		 struct error *err)
{
	auto_json json_t *texts = json_object();
	auto_close int lock = -1;
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(values), key, value) {
		auto_free char *text = file_text(key, value, err);

		if (text == NULL)
			return -1;
		json_set_str(texts, key, text);
	}
	if (d->mkdirs(d, path(p, PATH_DATA_DIR), 0755, err) < 0)
		return -1;
	/* A disk in memory belongs to one process. */
	if (d == disk_real() && (lock = take_lock(p, err)) < 0)
		return -1;
	json_object_foreach (texts, key, value)
		if (write_one(d, p, key, json_string_value(value), err) < 0)
			return -1;
	return 0;
}

char *ssconf_read_on(struct disk *d, const struct paths *p, const char *key)
{
	auto_free char *file = paths_ssconf(p, key);
	struct error ignored;
	size_t len = 0;
	char *text;

	if (!d->exists(d, file))
		return NULL;
	text = d->read(d, file, SSCONF_READ_MAX, &len, &ignored);
	if (text != NULL && len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

char *ssconf_read(const struct paths *p, const char *key)
{
	return ssconf_read_on(disk_real(), p, key);
}

void ssconf_read_lines(const struct paths *p, const char *key, struct strv *ret)
{
	auto_free char *text = ssconf_read(p, key);

	if (text != NULL && *text != '\0')
		str_split(ret, text, '\n');
}

bool ssconf_is_candidate(const struct paths *p)
{
	auto_strv struct strv names = {0};

	ssconf_read_lines(p, "master_candidates", &names);
	return strv_has(&names, p->hostname);
}

char *ssconf_node_ip(const struct paths *p, const char *node_name)
{
	auto_strv struct strv lines = {0};
	size_t len = strlen(node_name);

	ssconf_read_lines(p, "node_primary_ips", &lines);
	for (size_t i = 0; i < lines.n; i++)
		if (strncmp(lines.items[i], node_name, len) == 0 &&
		    lines.items[i][len] == ' ')
			return xstrdup(lines.items[i] + len + 1);
	return NULL;
}

char *ssconf_listen_address(const struct paths *p)
{
	auto_free char *family = NULL;

	if (*p->root != '\0')
		return ssconf_node_ip(p, p->hostname);
	family = ssconf_read(p, "primary_ip_family");
	return xstrdup(str_eq(family, "10") ? "::" : "0.0.0.0");
}
