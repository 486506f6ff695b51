/* SPDX-License-Identifier: BSD-2-Clause */
/* The file is looked at when a user comes: one call of stat() is cheaper than
 * to be told, and needs no folder to be there. */
#include "rapi/access/users.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "rapi/frame/route.h"

#define FILE_MAX (1024 * 1024)
#define MD5_BYTES 16
#define BLANKS " \t\r\v\f"

static void user_free(void *value)
{
	struct user *user = value;

	if (user == NULL)
		return;
	gnutls_memset(user->password, 0, strlen(user->password));
	free(user->password);
	free(user);
}

void users_init(struct users *u, const char *file)
{
	*u = (struct users){.file = file};
}

void users_done(struct users *u)
{
	table_done(&u->by_name, user_free);
	u->by_name = (struct table){0};
}

const struct user *users_find(const struct users *u, const char *name)
{
	return table_get(&u->by_name, name);
}

/* --- reading --- */

static unsigned rights_of(const char *text)
{
	auto_strv struct strv words = {0};
	unsigned rights = 0;

	str_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++) {
		const char *word =
			words.items[i] + strspn(words.items[i], BLANKS);
		size_t len = strcspn(word, BLANKS);

		if (len == 4 && strncmp(word, "read", len) == 0)
			rights |= ROUTE_READ;
		if (len == 5 && strncmp(word, "write", len) == 0)
			rights |= ROUTE_WRITE;
	}
	return rights;
}

/* The word at *s, which moves on to the next one; to be freed. */
static char *take_word(const char **s)
{
	size_t n = strcspn(*s, BLANKS);
	char *word = xstrndup(*s, n);

	*s += n;
	*s += strspn(*s, BLANKS);
	return word;
}

static void read_line(struct users *u, const char *line, size_t number)
{
	auto_free char *name = NULL, *password = NULL;
	struct user *user;

	line += strspn(line, BLANKS);
	if (*line == '\0' || *line == '#')
		return;
	name = take_word(&line);
	password = take_word(&line);
	if (*password == '\0') {
		log_warning("%s: line %zu has no password, ignoring it",
			    u->file, number);
		return;
	}
	user = xalloc(sizeof(*user));
	user->password = steal(&password);
	user->rights = rights_of(line);
	user_free(table_put(&u->by_name, name, user));
}

void users_parse(struct users *u, const char *text)
{
	auto_strv struct strv lines = {0};

	users_done(u);
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		read_line(u, lines.items[i], i + 1);
		gnutls_memset(lines.items[i], 0, strlen(lines.items[i]));
	}
}

void users_load(struct users *u, bool always)
{
	struct error err;
	char *text;

	if (!seen_changed(&u->seen, u->file) && !always)
		return;
	if (!seen_exists(&u->seen)) {
		log_warning("there are no users: no file %s", u->file);
		users_done(u);
		return;
	}
	text = fs_read_file(u->file, FILE_MAX, NULL, &err);
	if (text == NULL) {
		log_error("keeping the users that were: %s", err.text);
		return;
	}
	users_parse(u, text);
	gnutls_memset(text, 0, strlen(text));
	free(text);
	log_info("read %zu users from %s", u->by_name.n, u->file);
}

/* --- passwords --- */

/* In a time that says nothing about where they differ. */
static bool is_equal(const char *a, const char *b)
{
	size_t n = strlen(a);

	return n == strlen(b) && gnutls_memcmp(a, b, n) == 0;
}

static bool verify_ha1(const char *name, const char *password, const char *hash)
{
	auto_free char *text = xprintf("%s:%s:%s", name, USERS_REALM, password);
	auto_free char *lower = str_lower(hash);
	unsigned char digest[MD5_BYTES];
	char hex[2 * MD5_BYTES + 1];
	bool good = gnutls_hash_fast(GNUTLS_DIG_MD5, text, strlen(text),
				     digest) == 0;

	str_hex(hex, digest, MD5_BYTES);
	gnutls_memset(text, 0, strlen(text));
	return good && is_equal(hex, lower);
}

/* A hash that is hard to guess takes memory on purpose, 16 MiB and more. */
static pthread_once_t hashes_once = PTHREAD_ONCE_INIT;
static sem_t hashes;

static void allow_hashes(void)
{
	sem_init(&hashes, 0, USERS_HASHES_MAX);
}

/* Unlike crypt_r() it says NULL when the hash is none. */
static const char *hash_of(const char *password, const char *hash,
			   struct crypt_data *data)
{
	const char *result;

	pthread_once(&hashes_once, allow_hashes);
	while (sem_wait(&hashes) < 0)
		; /* a signal */
	result = crypt_rn(password, hash, data, (int)sizeof(*data));
	sem_post(&hashes);
	return result;
}

static bool verify_crypt(const char *name, const char *password,
			 const char *hash)
{
	struct crypt_data *data = xalloc(sizeof(*data));
	const char *result = hash_of(password, hash, data);
	bool good = result != NULL && is_equal(result, hash);

	(void)name;
	gnutls_memset(data, 0, sizeof(*data));
	free(data);
	return good;
}

static bool verify_plain(const char *name, const char *password,
			 const char *stored)
{
	(void)name;
	return is_equal(password, stored);
}

bool users_verify(const char *name, const char *password, const char *stored)
{
	static const struct {
		const char *scheme;
		bool (*verify)(const char *name, const char *password,
			       const char *rest);
	} schemes[] = {
		{"{CLEARTEXT}", verify_plain},
		{"{HA1}", verify_ha1},
		{"{CRYPT}", verify_crypt},
	};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i].scheme);

		if (strncasecmp(stored, schemes[i].scheme, n) == 0)
			return schemes[i].verify(name, password, stored + n);
	}
	return stored[0] != '{' && verify_plain(name, password, stored);
}
