/* SPDX-License-Identifier: BSD-2-Clause */
#include "queue/chain.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json/json.h"

#define MEMBER ", \"archive_chain\": "

/* Longer ones nobody wrote. */
#define MEMBER_MAX 300

void chain_hash(const void *data, size_t len, char ret[CHAIN_HEX])
{
	unsigned char hash[32];
	int rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, hash);

	assert(rc == 0);
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(&ret[2 * i], 3, "%02x", hash[i]);
}

static char *link_text(uint64_t number, const char *key,
		       const struct chain_link *to)
{
	if (to->number == 0)
		return xprintf("{\"number\": %ju, \"%s\": null, \"sha256\": "
			       "null}",
			       (uintmax_t)number, key);
	return xprintf("{\"number\": %ju, \"%s\": %ju, \"sha256\": \"%s\"}",
		       (uintmax_t)number, key, (uintmax_t)to->id, to->sha256);
}

char *chain_seal(struct chain_link *head, uint64_t id, char *text STEALS)
{
	auto_free char *own = text;
	auto_free char *link = link_text(head->number + 1, "previous", head);
	size_t len = strlen(text);
	char *sealed;

	assert(len > 1 && text[len - 1] == '}');
	text[len - 1] = '\0';
	sealed = xprintf("%s" MEMBER "%s}", text, link);
	head->number++;
	head->id = id;
	chain_hash(sealed, strlen(sealed), head->sha256);
	return sealed;
}

/* --- reading --- */

static bool is_hash(const char *hex)
{
	return hex != NULL && strlen(hex) == CHAIN_HEX - 1 &&
	       strspn(hex, "0123456789abcdef") == CHAIN_HEX - 1;
}

/* {"number": n, key: id, "sha256": hash}; the first has null for both. */

static bool read_link(const char *text, size_t len, const char *key,
		      uint64_t *ret_number, struct chain_link *ret)
{
	struct error ignored;
	auto_json json_t *link = json_parse(text, len, &ignored);
	const char *hash = json_str(link, "sha256", NULL);
	int64_t number = json_int(link, "number", 0);
	int64_t id = json_int(link, key, 0);

	memset(ret, 0, sizeof(*ret));
	if (number < 1)
		return false;
	*ret_number = (uint64_t)number;
	if (json_get(link, key) == NULL && hash == NULL)
		return number == 1;
	if (id < 1 || !is_hash(hash))
		return false;
	ret->number = (uint64_t)number - 1;
	ret->id = (uint64_t)id;
	memcpy(ret->sha256, hash, CHAIN_HEX);
	return true;
}

bool chain_read(const char *text, size_t len, uint64_t *ret_number,
		struct chain_link *ret_previous)
{
	size_t tail = len < MEMBER_MAX ? len : MEMBER_MAX;
	const char *end = text + len, *at = end - tail, *found = NULL;

	*ret_number = 0;
	while ((at = memmem(at, (size_t)(end - at), MEMBER, strlen(MEMBER))) !=
	       NULL) {
		found = at + strlen(MEMBER);
		at = found;
	}
	/* The last brace is the job's. */
	if (found == NULL || !read_link(found, (size_t)(end - found) - 1,
					"previous", ret_number, ret_previous)) {
		*ret_number = 0;
		return false;
	}
	return true;
}

char *chain_head_text(const struct chain_link *head)
{
	auto_free char *link = link_text(head->number, "id", head);

	return xprintf("%s\n", link);
}

bool chain_head_read(const char *text, size_t len, struct chain_link *ret)
{
	auto_free char *none = chain_head_text(&(struct chain_link){0});
	uint64_t number;

	if (len == strlen(none) && memcmp(text, none, len) == 0) {
		memset(ret, 0, sizeof(*ret));
		return true;
	}
	if (len > MEMBER_MAX || !read_link(text, len, "id", &number, ret) ||
	    ret->id == 0) {
		memset(ret, 0, sizeof(*ret));
		return false;
	}
	ret->number = number;
	return true;
}
