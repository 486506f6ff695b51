/* SPDX-License-Identifier: BSD-2-Clause */
/* To seal a job, the link to the previous one is put before the closing brace
 * of its text; the hash of the whole new text then becomes the head.  The
 * member is handled as text, not as JSON: a reader looks for it in the last
 * bytes of the file. */
#include "queue/history/chain.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json/json.h"

#define MEMBER ", \"livelock\": \"archive-chain "
#define FIRST "1 - -"

/* A longer member was not written by us. */
#define MEMBER_MAX 300

void chain_hash(const void *data, size_t len, char ret[CHAIN_HEX])
{
	unsigned char hash[32];
	int rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, hash);

	assert(rc == 0);
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(&ret[2 * i], 3, "%02x", hash[i]);
}

/* A job file ends with this, the link to the job behind *head. */
static char *member_text(const struct chain_link *head)
{
	if (head->number == 0)
		return xstrdup(MEMBER FIRST "\"}");
	return xprintf(MEMBER "%ju %ju %s\"}", (uintmax_t)head->number + 1,
		       (uintmax_t)head->id, head->sha256);
}

char *chain_seal(struct chain_link *head, uint64_t id, char *text STEALS)
{
	auto_free char *own = text;
	auto_free char *member = member_text(head);
	size_t len = strlen(text);
	char *sealed;

	assert(len > 1 && text[len - 1] == '}');
	text[len - 1] = '\0';
	sealed = xprintf("%s%s", text, member);
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

/* "NUMBER PREVIOUS SHA256" */
static bool read_place(const char *text, uint64_t *ret_number,
		       struct chain_link *ret)
{
	uintmax_t number, previous;
	char hash[CHAIN_HEX];
	int end = 0;

	memset(ret, 0, sizeof(*ret));
	if (strcmp(text, FIRST) == 0) {
		*ret_number = 1;
		return true;
	}
	if (sscanf(text, "%19ju %19ju %64s%n", &number, &previous, hash,
		   &end) != 3 ||
	    text[end] != '\0' || number < 2 || previous < 1 || !is_hash(hash))
		return false;
	*ret_number = number;
	*ret = (struct chain_link){.number = number - 1, .id = previous};
	memcpy(ret->sha256, hash, CHAIN_HEX);
	return true;
}

/* The value of MEMBER if it is the last member of the text, without the closing
 * quote and brace; else NULL. */
static char *find_member(const char *text, size_t len)
{
	size_t tail = len < MEMBER_MAX ? len : MEMBER_MAX;
	const char *end = text + len, *at = end - tail, *found = NULL;

	while ((at = memmem(at, (size_t)(end - at), MEMBER, strlen(MEMBER))) !=
	       NULL)
		found = at += strlen(MEMBER);
	if (found == NULL || end - found < 2 || memcmp(end - 2, "\"}", 2) != 0)
		return NULL;
	return xstrndup(found, (size_t)(end - 2 - found));
}

bool chain_read(const char *text, size_t len, uint64_t *ret_number,
		struct chain_link *ret_previous)
{
	auto_free char *member = find_member(text, len);

	*ret_number = 0;
	return member != NULL && read_place(member, ret_number, ret_previous);
}

/* --- archive-head --- */

char *chain_head_text(const struct chain_link *head)
{
	if (head->number == 0)
		return xstrdup("{\"number\": 0, \"id\": null, \"sha256\": "
			       "null}\n");
	return xprintf("{\"number\": %ju, \"id\": %ju, \"sha256\": \"%s\"}\n",
		       (uintmax_t)head->number, (uintmax_t)head->id,
		       head->sha256);
}

bool chain_head_read(const char *text, size_t len, struct chain_link *ret)
{
	auto_free char *none = chain_head_text(&(struct chain_link){0});
	struct error ignored;
	auto_json json_t *link = NULL;
	const char *hash;

	memset(ret, 0, sizeof(*ret));
	if (len == strlen(none) && memcmp(text, none, len) == 0)
		return true;
	if (len > MEMBER_MAX)
		return false;
	link = json_parse(text, len, &ignored);
	hash = json_str(link, "sha256", NULL);
	if (json_int(link, "number", 0) < 1 || json_int(link, "id", 0) < 1 ||
	    !is_hash(hash))
		return false;
	ret->number = (uint64_t)json_int(link, "number", 0);
	ret->id = (uint64_t)json_int(link, "id", 0);
	memcpy(ret->sha256, hash, CHAIN_HEX);
	return true;
}
