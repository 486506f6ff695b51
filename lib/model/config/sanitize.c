/* SPDX-License-Identifier: BSD-2-Clause */
/* Each value whose path is in the table is replaced as its row says.  In all
 * other texts the names and addresses that the table has found are replaced.
 * So the tree is walked twice, since a name may be used before the object that
 * has it. */
#include "lib/model/config/sanitize.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define HIDDEN "hidden"
#define DOMAIN "example.com"
#define MIRROR_KEY 5 /* its place in the logical id */
/* Addresses outside of the cluster's networks become addresses of
 * 198.18.0.0/15, which is reserved for measurements and belongs to nobody. */
#define OTHER_IPV4 0xc6120000u

struct network {
	uint32_t base, mask, new_base;
};

struct work {
	bool anonymous;
	json_t *known; /* {kind: {old: new}} */
	struct network *networks;
	size_t n_networks;
};

/* --- the new value of a value; NULL: it stays as it is --- */

static char *nothing(struct work *w, const char *kind, const char *old)
{
	(void)w, (void)kind, (void)old;
	return xstrdup("");
}

static char *hide(struct work *w, const char *kind, const char *old)
{
	(void)w, (void)kind;
	return old == NULL || *old != '\0' ? xstrdup(HIDDEN) : NULL;
}

static const char *known(const struct work *w, const char *kind,
			 const char *old)
{
	return json_str(json_object_get(w->known, kind), old, NULL);
}

/* The number of the next new name of a kind. */
static size_t next(struct work *w, const char *kind)
{
	if (json_object_get(w->known, kind) == NULL)
		json_object_set_new(w->known, kind, json_object());
	return json_object_size(json_object_get(w->known, kind)) + 1;
}

static char *remember(struct work *w, const char *kind, const char *old,
		      char *new)
{
	json_set_str(json_object_get(w->known, kind), old, new);
	return new;
}

static char *rename_host(struct work *w, const char *kind, const char *old)
{
	const char *new = known(w, kind, old);

	if (new != NULL)
		return xstrdup(new);
	return remember(w, kind, old,
			xprintf("%s%zu." DOMAIN, kind, next(w, kind)));
}

static char *rename_word(struct work *w, const char *kind, const char *old)
{
	const char *new = known(w, kind, old);

	if (*old == '\0')
		return NULL;
	if (new != NULL)
		return xstrdup(new);
	return remember(w, kind, old, xprintf("%s%zu", kind, next(w, kind)));
}

/* The allocators' own tags say something about the cluster and name nobody. */
static char *rename_tag(struct work *w, const char *kind, const char *old)
{
	return str_starts(old, "htools:") ? NULL : rename_word(w, kind, old);
}

static char *rename_mac(struct work *w, const char *kind, const char *old)
{
	const char *new = known(w, kind, old);
	size_t n;

	if (new != NULL)
		return xstrdup(new);
	n = next(w, kind);
	return remember(w, kind, old,
			xprintf("%.8s:%02zx:%02zx:%02zx", old, n >> 16 & 0xff,
				n >> 8 & 0xff, n & 0xff));
}

/* --- addresses --- */

static bool means_something(const char *ip)
{
	return *ip == '\0' || str_starts(ip, "127.") ||
	       strcmp(ip, "0.0.0.0") == 0 || strcmp(ip, "::") == 0 ||
	       strcmp(ip, "::1") == 0 || strcmp(ip, "pool") == 0;
}

static char *ipv4_text(uint32_t ip)
{
	return xprintf("%u.%u.%u.%u", ip >> 24, ip >> 16 & 0xff, ip >> 8 & 0xff,
		       ip & 0xff);
}

static char *rename_ipv4(struct work *w, uint32_t ip, size_t number)
{
	for (size_t i = 0; i < w->n_networks; i++) {
		const struct network *n = &w->networks[i];

		if ((ip & n->mask) == n->base)
			return ipv4_text(n->new_base | (ip & ~n->mask));
	}
	return ipv4_text(OTHER_IPV4 + (uint32_t)number);
}

static char *rename_ip(struct work *w, const char *kind, const char *old)
{
	const char *new = known(w, kind, old);
	struct in_addr v4;

	if (new != NULL || means_something(old))
		return new != NULL ? xstrdup(new) : NULL;
	if (inet_pton(AF_INET, old, &v4) == 1)
		return remember(
			w, kind, old,
			rename_ipv4(w, ntohl(v4.s_addr), next(w, kind)));
	return remember(w, kind, old, xprintf("fd00::%zx", next(w, kind)));
}

/* "192.0.2.0/24" */
static char *rename_network(struct work *w, const char *kind, const char *old)
{
	auto_free char *ip = xstrndup(old, strcspn(old, "/"));
	auto_free char *new = rename_ip(w, kind, ip);

	return new == NULL ? NULL
			   : xprintf("%s%s", new, old + strcspn(old, "/"));
}

static bool read_network(const char *text, struct network *ret)
{
	auto_free char *ip = NULL;
	struct in_addr v4;
	int64_t bits;

	if (text == NULL || strchr(text, '/') == NULL ||
	    !str_to_int64(strchr(text, '/') + 1, &bits) || bits < 1 ||
	    bits > 32)
		return false;
	ip = xstrndup(text, strcspn(text, "/"));
	if (inet_pton(AF_INET, ip, &v4) != 1)
		return false;
	ret->mask = (uint32_t)(~UINT64_C(0) << (32 - bits));
	ret->base = ntohl(v4.s_addr) & ret->mask;
	return true;
}

/* Each subnet gets a part of 10.0.0.0/8 that is as large. */
static void find_networks(struct work *w, const json_t *config)
{
	const json_t *all = json_get(config, "networks");
	const char *uuid;
	json_t *network;

	w->networks = xcalloc(json_object_size(all) + 1, sizeof(*w->networks));
	json_object_foreach (json_unconst(all), uuid, network) {
		struct network *n = &w->networks[w->n_networks];

		if (!read_network(json_str(network, "network", NULL), n))
			continue;
		w->n_networks++;
		n->new_base = (0x0a000000u |
			       (uint32_t)(w->n_networks << 16 & 0xff0000)) &
			      n->mask;
	}
}

/* --- in texts --- */

/* A text with a dot in it that equals a name, or an address, is replaced
 * anywhere; other names only where `names` says that a name may stand. */
static const char *replacement(const struct work *w, const char *word,
			       bool names)
{
	static const char *const kinds[] = {"ip", "cluster", "node",
					    "instance"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (known(w, kinds[i], word) != NULL &&
		    (names || strpbrk(word, ".:") != NULL))
			return known(w, kinds[i], word);
	return NULL;
}

static size_t word_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) ||
	       (text[n] != '\0' && strchr("_.-", text[n]) != NULL))
		n++;
	return n;
}

static char *swept(const struct work *w, const char *text, bool names)
{
	const char *whole = replacement(w, text, names);
	auto_buf struct buf out = {0};

	if (whole != NULL)
		return xstrdup(whole);
	while (*text != '\0') {
		size_t n = word_length(text);
		auto_free char *word = xstrndup(text, n);
		const char *new = n > 0 ? replacement(w, word, names) : NULL;

		buf_adds(&out, new != NULL ? new : word);
		text += n;
		if (n == 0)
			buf_addc(&out, *text++);
	}
	return xstrdup(out.data == NULL ? "" : out.data);
}

static char *rename_path(struct work *w, const char *kind, const char *old)
{
	(void)kind;
	return swept(w, old, true);
}

/* What stands between "://" and "@" is a user with a password. */
static char *without_user(const char *text)
{
	auto_buf struct buf out = {0};
	const char *mark;

	while ((mark = strstr(text, "://")) != NULL) {
		size_t host = strcspn(mark + 3, "/ \t\n");
		const char *at = memrchr(mark + 3, '@', host);

		buf_add(&out, text, (size_t)(mark + 3 - text));
		text = at != NULL ? at + 1 : mark + 3;
	}
	buf_adds(&out, text);
	return xstrdup(out.data == NULL ? "" : out.data);
}

/* --- the table --- */

static const struct rule {
	const char *path; /* a * is one member */
	const char *kind; /* of those that share new names */
	char *(*make)(struct work *w, const char *kind, const char *old);
	bool always; /* not only when anonymous */
} rules[] = {
	{"/disks/*/logical_id/5", "", nothing, true}, /* a mirror's key */
	{"/cluster/osparams_private_cluster/*/*", "", hide, true},
	{"/instances/*/osparams_private/*", "", hide, true},
	{"/instances/*/osparams_secret/*", "", hide, true},
	{"/cluster/rsahostkeypub", "", hide, false},
	{"/cluster/dsahostkeypub", "", hide, false},
	{"/cluster/osparams/*/*", "", hide, false},
	{"/instances/*/osparams/*", "", hide, false},
	{"/filters/*/reason_trail/*/[01]", "", hide, false},
	{"/cluster/cluster_name", "cluster", rename_host, false},
	{"/nodes/*/name", "node", rename_host, false},
	{"/instances/*/name", "instance", rename_host, false},
	{"/nodegroups/*/name", "group", rename_word, false},
	{"/networks/*/name", "network", rename_word, false},
	{"/cluster/instance_communication_network", "network", rename_word,
	 false},
	{"/disks/*/name", "disk", rename_word, false},
	{"/instances/*/nics/*/name", "nic", rename_word, false},
	{"/*/tags/*", "tag", rename_tag, false},
	{"/*/*/tags/*", "tag", rename_tag, false},
	{"/cluster/master_ip", "ip", rename_ip, false},
	{"/nodes/*/primary_ip", "ip", rename_ip, false},
	{"/nodes/*/secondary_ip", "ip", rename_ip, false},
	{"/instances/*/nics/*/ip", "ip", rename_ip, false},
	{"/instances/*/nics/*/mac", "mac", rename_mac, false},
	{"/networks/*/gateway*", "ip", rename_ip, false},
	{"/networks/*/network*", "ip", rename_network, false},
	{"/disks/*/logical_id/1", "", rename_path, false},
};

static const struct rule *find_rule(const struct work *w, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if ((w->anonymous || rules[i].always) &&
		    fnmatch(rules[i].path, path, FNM_PATHNAME) == 0)
			return &rules[i];
	return NULL;
}

/* A member that nobody would call "password" for any other reason; a member
 * that names a file is not one. */
static bool is_secret(const char *path)
{
	static const char *const words[] = {"password", "passwd", "passphrase",
					    "secret",	"token",  "credential"};
	const char *key = strrchr(path, '/');

	if (key == NULL || str_ends(key, "_file") || str_ends(key, "_path"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(key, words[i]) != NULL)
			return true;
	return false;
}

static json_t *new_text(struct work *w, const char *path, const char *old)
{
	const struct rule *rule = find_rule(w, path);
	auto_free char *made =
		rule == NULL ? NULL : rule->make(w, rule->kind, old);
	auto_free char *clean = NULL;

	if (made == NULL && is_secret(path) && *old != '\0')
		made = xstrdup(HIDDEN);
	clean = made != NULL ? steal(&made) : without_user(old);
	if (rule == NULL && w->anonymous) {
		char *text = swept(w, clean, false);

		free(clean);
		clean = text;
	}
	return json_string(clean);
}

/* The path of a member.  A slash in its name begins no part of the path: names
 * of parameters may have some. */
static char *path_below(const char *path, const char *key)
{
	char *below = xprintf("%s/%s", path, key);

	for (char *p = below + strlen(path) + 1; *p != '\0'; p++)
		if (*p == '/')
			*p = '|';
	return below;
}

static json_t *walk(struct work *w, const char *path, const json_t *value)
{
	const struct rule *rule;
	json_t *copy, *item;
	const char *key;
	size_t i;

	if (json_is_string(value))
		return new_text(w, path, json_string_value(value));
	rule = find_rule(w, path);
	if (rule != NULL && rule->make == hide && !json_is_null(value))
		return json_string(HIDDEN); /* whatever it is */
	if (!json_is_object(value) && !json_is_array(value))
		return json_ref(value);
	copy = json_is_object(value) ? json_object() : json_array();
	json_object_foreach (json_unconst(value), key, item) {
		auto_free char *below = path_below(path, key);

		json_object_set_new(copy, key, walk(w, below, item));
	}
	json_array_foreach (value, i, item) {
		auto_free char *below = xprintf("%s/%zu", path, i);

		json_array_append_new(copy, walk(w, below, item));
	}
	return copy;
}

json_t *sanitize_config(const json_t *config, bool anonymous)
{
	struct work w = {.anonymous = anonymous, .known = json_object()};
	json_t *result;

	find_networks(&w, config);
	result = walk(&w, "", config);
	if (anonymous) {
		json_decref(result);
		result = walk(&w, "", config);
	}
	json_decref(w.known);
	free(w.networks);
	return result;
}

char *sanitize_disk_id(const json_t *disk)
{
	const json_t *id = json_get(disk, "logical_id");
	auto_json json_t *shown = json_copy(json_unconst(id));

	if (json_array_size(shown) > MIRROR_KEY)
		json_array_remove(shown, MIRROR_KEY);
	return shown == NULL ? xstrdup("without logical_id") : json_text(shown);
}
