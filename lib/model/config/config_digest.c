/* SPDX-License-Identifier: BSD-2-Clause */
/* The note is one line: serial number, modification time of config.data,
 * SHA-256 of its text; while it is being written, also that of the text to be.
 * The digest is compared first, then the serial number,
 * and the time last.  The serial number is found by a scan, because a damaged
 * text may be no JSON. */
#include "lib/model/config/config_digest.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/model/config/config_check.h"

#define FILE_MAX 300
#define FILE_MODE 0640
#define CONFIG_MAX (256u * 1024 * 1024)
#define HEX_SIZE 65

struct note {
	int64_t serial; /* -1: there is no note */
	int64_t written_ns;
	char digest[HEX_SIZE];
	char next[HEX_SIZE]; /* "": none is announced */
};

static void hash(const char *text, size_t len, char ret[HEX_SIZE])
{
	unsigned char bytes[32];
	int rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, text, len, bytes);

	assert(rc == 0);
	str_hex(ret, bytes, sizeof(bytes));
}

static int64_t written_ns(struct disk *disk, const struct paths *paths)
{
	if (disk->written_ns == NULL)
		return 0;
	return disk->written_ns(disk, path(paths, PATH_CONFIG_DATA));
}

/* --- the serial number in a text --- */

#define SERIAL_KEY "\"serial_no\""

/* The position behind the string that begins at `at`. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

/* The number behind a member's name; -1 when something else stands there.
 * Texts end with a NUL that is not counted. */
static int64_t member_number(const char *at)
{
	uint64_t value;

	at += strspn(at, " \t\r\n");
	if (*at++ != ':')
		return -1;
	at += strspn(at, " \t\r\n");
	if (!str_to_number(at, CONFIG_NUMBER_MAX, &value, &at))
		return -1;
	return (int64_t)value;
}

int64_t config_digest_text_serial(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	size_t depth = 0;
	int64_t serial = -1;

	while (at < end && serial < 0) {
		const char *begin = at;

		if (*at == '{' || *at == '[')
			depth++;
		if ((*at == '}' || *at == ']') && depth > 0)
			depth--;
		if (*at != '"') {
			at++;
			continue;
		}
		at = skip_string(at, end);
		if (depth == 1 && (size_t)(at - begin) == strlen(SERIAL_KEY) &&
		    memcmp(begin, SERIAL_KEY, strlen(SERIAL_KEY)) == 0)
			serial = member_number(at);
	}
	return serial;
}

/* --- the note --- */

static int write_note(struct disk *disk, const struct paths *paths,
		      const struct note *n, struct error *err)
{
	auto_free char *line = xprintf("%" PRId64 " %" PRId64 " %s%s%s\n",
				       n->serial, n->written_ns, n->digest,
				       *n->next == '\0' ? "" : " ", n->next);

	return disk->write_atomic(disk, path(paths, PATH_CONFIG_DIGEST), line,
				  strlen(line), FILE_MODE, err);
}

int config_digest_note(struct disk *disk, const struct paths *paths,
		       const char *text, size_t len, struct error *err)
{
	int64_t serial = config_digest_text_serial(text, len);
	struct note n = {.serial = serial < 0 ? 0 : serial,
			 .written_ns = written_ns(disk, paths)};

	hash(text, len, n.digest);
	return write_note(disk, paths, &n, err);
}

/* A note that cannot be read counts as missing. */
static struct note read_note(struct disk *disk, const struct paths *paths)
{
	const char *file = path(paths, PATH_CONFIG_DIGEST), *rest;
	struct note n = {.serial = -1};
	auto_free char *text = NULL;
	struct error ignored;
	uint64_t serial, written;
	size_t len;

	if (!disk->exists(disk, file))
		return n;
	text = disk->read(disk, file, FILE_MAX, &len, &ignored);
	if (text == NULL ||
	    !str_to_number(text, CONFIG_NUMBER_MAX, &serial, &rest) ||
	    *rest != ' ' ||
	    !str_to_number(rest + 1, INT64_MAX, &written, &rest) ||
	    *rest != ' ' ||
	    (strlen(rest + 1) != HEX_SIZE && strlen(rest + 1) != 2 * HEX_SIZE))
		return n;
	n.serial = (int64_t)serial;
	n.written_ns = (int64_t)written;
	memcpy(n.digest, rest + 1, HEX_SIZE - 1);
	if (strlen(rest + 1) == 2 * HEX_SIZE)
		memcpy(n.next, rest + 1 + HEX_SIZE, HEX_SIZE - 1);
	return n;
}

/* When the file came to have the text that was announced and that was not noted
 * any more, it is noted here.  A file that cannot be read counts as another. */
static void settle(struct note *n, struct disk *disk, const struct paths *paths)
{
	const char *file = path(paths, PATH_CONFIG_DATA);
	auto_free char *text = NULL;
	char digest[HEX_SIZE];
	struct error ignored;
	int64_t serial;
	size_t len;

	if (*n->next == '\0' || !disk->exists(disk, file))
		return;
	text = disk->read(disk, file, CONFIG_MAX, &len, &ignored);
	if (text == NULL)
		return;
	hash(text, len, digest);
	if (strcmp(digest, n->next) != 0)
		return;
	serial = config_digest_text_serial(text, len);
	n->serial = serial < 0 ? 0 : serial;
	n->written_ns = written_ns(disk, paths);
	memcpy(n->digest, digest, sizeof(digest));
}

int config_digest_announce(struct disk *disk, const struct paths *paths,
			   const char *text, size_t len, struct error *err)
{
	struct note n = read_note(disk, paths);

	if (n.serial < 0)
		return 0; /* nothing here is known to be ours */
	settle(&n, disk, paths);
	hash(text, len, n.next);
	return write_note(disk, paths, &n, err);
}

enum config_origin config_digest_judge(struct disk *disk,
				       const struct paths *paths,
				       const char *text, size_t len,
				       int64_t *ret_serial)
{
	struct note n = read_note(disk, paths);
	char digest[HEX_SIZE];

	*ret_serial = n.serial;
	if (n.serial < 0)
		return CONFIG_UNKNOWN;
	hash(text, len, digest);
	if (strcmp(digest, n.digest) == 0 || strcmp(digest, n.next) == 0)
		return CONFIG_WHOLE;
	/* A crash may have come before we noted what we wrote ourselves: then
	 * the serial number is higher.  The time is asked last, as the clock of
	 * files is too coarse to be trusted alone. */
	if (config_digest_text_serial(text, len) > n.serial)
		return CONFIG_NEWER;
	if (n.written_ns != 0 && written_ns(disk, paths) == n.written_ns)
		return CONFIG_DAMAGED;
	return CONFIG_EDITED;
}
