/* SPDX-License-Identifier: BSD-2-Clause */
/* "Authorization: Basic " and base64 of "user:password".  Another scheme is no
 * password. */
#include "rapi/access/auth.h"

#include <gnutls/gnutls.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "rapi/access/users.h"
#include "rapi/frame/hash.h"
#include "rapi/frame/reply.h"

#define BLANKS " \t"

static void wipe(char *text)
{
	if (text != NULL)
		gnutls_memset(text, 0, strlen(text));
	free(text);
}

void auth_done(struct auth *a)
{
	free(a->user);
	wipe(a->password);
	wipe(a->stored);
	free(a->hash);
	json_decref(a->token);
}

static int unauthorized(struct error *err)
{
	return reply_bare(err, REPLY_UNAUTHORIZED);
}

/* Take "user:password" apart. */
static int take_pair(struct auth *ret, const char *pair, size_t len)
{
	const char *colon = memchr(pair, ':', len);

	if (colon == NULL || memchr(pair, '\0', len) != NULL)
		return -1;
	ret->user = xstrndup(pair, (size_t)(colon - pair));
	ret->password = xstrndup(colon + 1, len - 1 - (size_t)(colon - pair));
	return 0;
}

static int decode(struct auth *ret, const char *text)
{
	const gnutls_datum_t encoded = {.data = mem_unconst(text),
					.size = (unsigned)strlen(text)};
	gnutls_datum_t pair;
	int rc;

	if (gnutls_base64_decode2(&encoded, &pair) < 0)
		return -1;
	rc = take_pair(ret, (const char *)pair.data, pair.size);
	gnutls_memset(pair.data, 0, pair.size);
	gnutls_free(pair.data);
	return rc;
}

void auth_read_secret(struct auth *ret, const char *secret)
{
	*ret = (struct auth){.hash = xalloc(HASH_HEX)};
	hash_hex(secret, strlen(secret), ret->hash);
}

/* "Bearer " and the secret of a token. */
static bool read_bearer(struct auth *ret, const char *header)
{
	static const char word[] = "Bearer";
	size_t n = strlen(word);

	header += strspn(header, BLANKS);
	if (strncasecmp(header, word, n) != 0 ||
	    strspn(header + n, BLANKS) == 0)
		return false;
	header += n;
	auth_read_secret(ret, header + strspn(header, BLANKS));
	return true;
}

static void look_up(struct auth *a, const struct users *users)
{
	const struct user *user = users_find(users, a->user);

	if (user == NULL)
		return;
	a->stored = xstrdup(user->password);
	a->rights = user->rights;
}

void auth_read_pair(struct auth *ret, const struct users *users,
		    const char *user, const char *password)
{
	*ret = (struct auth){.user = xstrdup(user),
			     .password = xstrdup(password)};
	look_up(ret, users);
}

int auth_take_token(struct auth *a, const struct users *users,
		    const json_t *token, struct error *err)
{
	const char *user = json_str(token, "user", NULL);

	if (user == NULL)
		return unauthorized(err);
	a->user = xstrdup(user);
	a->token = json_ref(token);
	look_up(a, users);
	return a->stored == NULL ? unauthorized(err) : 0;
}

static int read_basic(struct auth *ret, const char *header, struct error *err)
{
	size_t n;

	header += strspn(header, BLANKS);
	n = strcspn(header, BLANKS);
	if (n != strlen("Basic") || strncasecmp(header, "Basic", n) != 0)
		return unauthorized(err);
	header += n;
	header += strspn(header, BLANKS);
	if (*header == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Basic authentication requires credentials");
	return decode(ret, header) < 0 ? unauthorized(err) : 0;
}

int auth_read(struct auth *ret, const struct users *users, const char *header,
	      bool needed, struct error *err)
{
	*ret = (struct auth){0};
	if (header == NULL)
		return needed ? unauthorized(err) : 0;
	if (read_bearer(ret, header))
		return 0;
	if (read_basic(ret, header, err) < 0)
		return -1;
	look_up(ret, users);
	return 0;
}

bool auth_is_quick(const struct auth *a)
{
	return a->stored == NULL || !str_starts(a->stored, "{CRYPT}");
}

bool auth_holds(const struct auth *a, const struct users *users, bool nobody)
{
	const struct user *user;

	if (a->user == NULL)
		return nobody;
	user = users_find(users, a->user);
	return user != NULL && str_eq(user->password, a->stored) &&
	       (a->rights & ~user->rights) == 0;
}

/* A scope would have to hold for each instance. */
bool auth_may_console(const struct auth *a)
{
	if (a->rights == 0)
		return false;
	return a->token == NULL ||
	       (json_get(a->token, "scope") == NULL &&
		json_array_has_str(json_get(a->token, "rights"), "console"));
}

int auth_check(const struct auth *a, unsigned rights, struct error *err)
{
	if (a->user == NULL)
		return 0;
	if (a->stored == NULL ||
	    (a->token == NULL &&
	     !users_verify(a->user, a->password, a->stored)))
		return unauthorized(err);
	if (rights != 0 && (a->rights & rights) == 0)
		return reply_bare(err, REPLY_FORBIDDEN);
	return 0;
}
