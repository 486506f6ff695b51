/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of keywords, with what each does to the struct. */
#include "lib/ssh/ssh_config.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"

#define BLANKS " \t\r"

/* Where we are. */
struct reader {
	struct ssh_config *c;
	const char *host, *home;
};

struct keyword {
	const char *name;
	/* False: the values make no sense. */
	bool (*take)(struct reader *r, const struct keyword *k,
		     const struct strv *values);
	size_t offset; /* of what it sets */
};

static void *field(const struct reader *r, const struct keyword *k)
{
	return (char *)r->c + k->offset;
}

/* A path in which ~ stands for the home; to be freed. */
static char *expand(const struct reader *r, const char *path)
{
	return str_starts(path, "~/") ? xprintf("%s%s", r->home, path + 1)
				      : xstrdup(path);
}

static bool read_flag(const char *value, bool *ret)
{
	*ret = strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0;
	return *ret || strcasecmp(value, "no") == 0 ||
	       strcasecmp(value, "false") == 0;
}

static bool take_text(struct reader *r, const struct keyword *k,
		      const struct strv *values)
{
	char **to = field(r, k);

	if (*to == NULL)
		*to = expand(r, values->items[0]);
	return true;
}

static bool take_number(struct reader *r, const struct keyword *k,
			const struct strv *values)
{
	int *to = field(r, k);
	uint64_t n;

	if (!str_to_number(values->items[0], UINT16_MAX, &n, NULL) || n == 0)
		return false;
	if (*to == 0)
		*to = (int)n;
	return true;
}

/* What is set stands behind the value. */
static bool take_batch(struct reader *r, const struct keyword *k,
		       const struct strv *values)
{
	bool value;

	(void)k;
	if (!read_flag(values->items[0], &value))
		return false;
	if (!r->c->batch_set)
		r->c->batch = value;
	r->c->batch_set = true;
	return true;
}

static bool take_keys_only(struct reader *r, const struct keyword *k,
			   const struct strv *values)
{
	bool value;

	(void)k;
	if (!read_flag(values->items[0], &value))
		return false;
	if (!r->c->keys_only_set)
		r->c->keys_only = value;
	r->c->keys_only_set = true;
	return true;
}

static bool take_key(struct reader *r, const struct keyword *k,
		     const struct strv *values)
{
	auto_free char *path = expand(r, values->items[0]);

	strv_add_unique(field(r, k), path);
	return true;
}

/* There are two lists of files, of the user and of the machine. */
static bool take_hosts(struct reader *r, const struct keyword *k,
		       const struct strv *values)
{
	bool *set = field(r, k);

	for (size_t i = 0; i < values->n && !*set; i++) {
		auto_free char *path = expand(r, values->items[i]);

		if (strcasecmp(path, "none") != 0)
			strv_add_unique(&r->c->known_hosts, path);
	}
	*set = true;
	return true;
}

static bool take_strict(struct reader *r, const struct keyword *k,
			const struct strv *values)
{
	static const struct {
		const char *word;
		enum ssh_strict strict;
	} words[] = {{"ask", SSH_STRICT_ASK},  {"yes", SSH_STRICT_YES},
		     {"true", SSH_STRICT_YES}, {"accept-new", SSH_STRICT_NEW},
		     {"no", SSH_STRICT_NO},    {"off", SSH_STRICT_NO},
		     {"false", SSH_STRICT_NO}};

	(void)k;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(values->items[0], words[i].word) != 0)
			continue;
		if (r->c->strict == SSH_STRICT_UNSET)
			r->c->strict = words[i].strict;
		return true;
	}
	return false;
}

static bool take_proxy(struct reader *r, const struct keyword *k,
		       const struct strv *values)
{
	(void)r;
	(void)k;
	return strcasecmp(values->items[0], "none") == 0;
}

#define AT(member) offsetof(struct ssh_config, member)

static const struct keyword keywords[] = {
	{"HostName", take_text, AT(hostname)},
	{"User", take_text, AT(user)},
	{"Port", take_number, AT(port)},
	{"ConnectTimeout", take_number, AT(connect_s)},
	{"HostKeyAlias", take_text, AT(key_alias)},
	{"IdentityAgent", take_text, AT(agent)},
	{"IdentityFile", take_key, AT(keys)},
	{"IdentitiesOnly", take_keys_only, 0},
	{"BatchMode", take_batch, 0},
	{"StrictHostKeyChecking", take_strict, 0},
	{"UserKnownHostsFile", take_hosts, AT(user_hosts_set)},
	{"GlobalKnownHostsFile", take_hosts, AT(global_hosts_set)},
	{"ProxyJump", take_proxy, 0},
	{"ProxyCommand", take_proxy, 0},
};

/* --- lines --- */

/* Split a line into words: blanks and one "=" behind the keyword separate them,
 * quotes keep blanks. */
static void split(const char *line, struct strv *ret)
{
	while (*(line += strspn(line, BLANKS)) != '\0') {
		bool quoted = *line == '"';
		size_t n = quoted	 ? strcspn(line + 1, "\"")
			   : ret->n == 0 ? strcspn(line, BLANKS "=")
					 : strcspn(line, BLANKS);

		if (*line == '#')
			return;
		strv_addf(ret, "%.*s", (int)n, line + quoted);
		line += n + quoted;
		line += quoted && *line == '"';
		if (ret->n == 1) {
			line += strspn(line, BLANKS);
			line += *line == '=';
		}
	}
}

static bool means_host(const struct strv *words, const char *host)
{
	bool found = false;

	for (size_t i = 1; i < words->n; i++) {
		const char *pattern = words->items[i];
		bool not = *pattern == '!';

		if (fnmatch(pattern + not, host, FNM_CASEFOLD) != 0)
			continue;
		if (not )
			return false;
		found = true;
	}
	return found;
}

static bool take(struct reader *r, const struct strv *words)
{
	struct strv values = {.items = words->items + 1, .n = words->n - 1};

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strcasecmp(words->items[0], keywords[i].name) == 0)
			return values.n > 0 &&
			       keywords[i].take(r, &keywords[i], &values);
	return true;
}

int ssh_config_read(struct ssh_config *c, const char *text, const char *file,
		    const char *host, const char *home, struct error *err)
{
	struct reader r = {.c = c, .host = host, .home = home};
	auto_strv struct strv lines = {0};
	bool ours = true;

	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		auto_strv struct strv words = {0};

		split(lines.items[i], &words);
		if (words.n == 0)
			continue;
		if (strcasecmp(words.items[0], "Host") == 0)
			ours = means_host(&words, host);
		else if (strcasecmp(words.items[0], "Match") == 0)
			ours = false;
		else if (ours && !take(&r, &words))
			return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
					 "%s, line %zu: this cannot be done by "
					 "us: %s",
					 file, i + 1, lines.items[i]);
	}
	return 0;
}

void ssh_config_done(struct ssh_config *c)
{
	free(c->hostname);
	free(c->user);
	free(c->agent);
	free(c->key_alias);
	strv_done(&c->keys);
	strv_done(&c->known_hosts);
	*c = (struct ssh_config){0};
}
