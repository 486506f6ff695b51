/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers without state.  Values get Python's notation, which scripts written
 * for Ganeti expect.  Output that is valid UTF-8 is kept as it is; otherwise
 * each byte that belongs to no valid sequence becomes '?'.  Of a log only the
 * end is read. */
#include "noded/scripts/script.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

/* Of a log so many bytes at its end are read, and so many lines returned. */
#define TAIL_BYTES 8192
#define TAIL_LINES 20

static bool valid_env_name(const char *name)
{
	if (*name == '\0')
		return false;
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) &&
		    strchr("_-.", *name) == NULL)
			return false;
	return true;
}

void script_env(struct strv *env, const char *name, const char *value)
{
	if (valid_env_name(name))
		strv_addf(env, "%s=%s", name, value);
}

/* The shortest text that reads back as the same number. */
static void env_real(struct strv *env, const char *name, double value)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	if (strpbrk(text, "e") != NULL)
		snprintf(text, sizeof(text), "%.1f", value);
	else if (strpbrk(text, ".n") == NULL) /* "n": nan, inf */
		strcat(text, ".0");
	script_env(env, name, text);
}

void script_env_json(struct strv *env, const char *name, const json_t *value)
{
	auto_free char *text = NULL;

	if (json_is_string(value)) {
		script_env(env, name, json_string_value(value));
	} else if (json_is_boolean(value)) {
		script_env(env, name, json_is_true(value) ? "True" : "False");
	} else if (value == NULL || json_is_null(value)) {
		script_env(env, name, "None");
	} else if (json_is_real(value)) {
		env_real(env, name, json_real_value(value));
	} else {
		text = json_dumps(value, JSON_ENCODE_ANY);
		script_env(env, name, text);
	}
}

void script_env_network(struct strv *env, const char *prefix,
			const json_t *network)
{
	static const char *const keys[][2] = {
		{"NETWORK_NAME", "name"},
		{"NETWORK_UUID", "uuid"},
		{"NETWORK_SUBNET", "network"},
		{"NETWORK_GATEWAY", "gateway"},
		{"NETWORK_SUBNET6", "network6"},
		{"NETWORK_GATEWAY6", "gateway6"},
		{"NETWORK_MAC_PREFIX", "mac_prefix"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		auto_free char *name = xprintf("%s%s", prefix, keys[i][0]);
		const char *value = json_str(network, keys[i][1], "");

		if (*value != '\0')
			script_env(env, name, value);
	}
}

/* Length of the valid UTF-8 sequence at s, 0 if there is none. */
static size_t sequence(const char *s, size_t left)
{
	for (size_t n = 1; n <= 4 && n <= left; n++)
		if (str_valid_utf8(s, n))
			return n;
	return 0;
}

char *script_text(const char *data, size_t len, bool strip)
{
	struct buf b = {0};

	while (strip && len > 0 && isspace((unsigned char)data[len - 1]))
		len--;
	while (strip && len > 0 && isspace((unsigned char)*data)) {
		data++;
		len--;
	}
	if (str_valid_utf8(data, len)) {
		buf_add(&b, data, len);
		return buf_steal(&b);
	}
	while (len > 0) {
		size_t n = sequence(data, len);

		if (n == 0)
			buf_addc(&b, '?');
		else
			buf_add(&b, data, n);
		n = n == 0 ? 1 : n;
		data += n;
		len -= n;
	}
	return buf_steal(&b);
}

char *script_ending(const struct proc_result *r)
{
	if (r->timed_out)
		return xstrdup("did not end in time and was killed");
	if (r->signal != 0)
		return xprintf("terminated by signal %d", r->signal);
	return xprintf("exited with exit code %d", r->status);
}

char *script_log_tail(const char *file)
{
	auto_close int fd = open(file, O_RDONLY | O_CLOEXEC);
	char data[TAIL_BYTES];
	struct stat st;
	ssize_t n;
	size_t start, lines = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return xstrdup("");
	n = pread(fd, data, sizeof(data),
		  st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
	if (n <= 0)
		return xstrdup("");
	start = (size_t)n;
	while (start > 0) {
		if (data[start - 1] == '\n' && start < (size_t)n &&
		    ++lines == TAIL_LINES)
			break;
		start--;
	}
	return script_text(data + start, (size_t)n - start, true);
}
