/* SPDX-License-Identifier: BSD-2-Clause */
/* Works on the text of a file, line by line; a change makes a new text.  Keys
 * are compared by identity, never by the whole line, so comments may differ.
 * Lines without a readable key are kept in authorized_keys and dropped from the
 * other files. */
#include "lib/model/files/ssh_keys.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"

#define BLANKS " \t\r\n"
#define BASE64                                                                 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

const char *const ssh_keys_types[] = {"rsa", "dsa", "ecdsa", "ed25519", NULL};

/* How the first word of a key's line begins. */
static const char *const words[] = {"ssh-rsa ", "ssh-dss ", "ecdsa-sha2-nistp",
				    "ssh-ed25519 "};

static const struct size {
	const char *type;
	int64_t preset, min, max;
	const char *text;
} sizes[] = {
	{"rsa", 2048, 768, 16384, "768 to 16384 bits"},
	{"dsa", 1024, 1024, 1024, "1024 bits"},
	{"ecdsa", 256, 256, 521, "256, 384 or 521 bits"},
	{"ed25519", 256, 256, 256, "256 bits"},
};

const char *ssh_keys_type_of(const char *id)
{
	for (size_t i = 0; ssh_keys_types[i] != NULL; i++)
		if (str_starts(id, words[i]))
			return ssh_keys_types[i];
	return NULL;
}

int ssh_keys_check_size(const char *type, int64_t *bits, struct error *err)
{
	const struct size *s = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (strcmp(sizes[i].type, type) == 0)
			s = &sizes[i];
	if (s == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%.50s' is no type of SSH keys", type);
	if (*bits == 0)
		*bits = s->preset;
	if (*bits >= s->min && *bits <= s->max &&
	    (strcmp(type, "ecdsa") != 0 || *bits == 256 || *bits == 384 ||
	     *bits == 521))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "SSH keys of type %s cannot have %jd bits, they have "
			 "%s",
			 type, (intmax_t)*bits, s->text);
}

/* --- lines --- */

char *ssh_keys_id(const char *line, size_t len)
{
	auto_free char *text = NULL;
	size_t type, blob;

	if (len > SSH_KEYS_LINE_MAX)
		return NULL;
	text = xstrndup(line, len);
	type = strcspn(text, BLANKS);
	if (text[type] == '\0' || ssh_keys_type_of(text) == NULL)
		return NULL;
	line = text + type + strspn(text + type, " \t");
	blob = strspn(line, BASE64);
	if (blob == 0 || (line[blob] != '\0' && !strchr(BLANKS, line[blob])))
		return NULL;
	return xprintf("%.*s %.*s", (int)type, text, (int)blob, line);
}

bool ssh_keys_marked(const char *line, size_t len)
{
	size_t mark = strlen(SSH_KEYS_MARK);

	while (len > 0 && strchr(BLANKS, line[len - 1]) != NULL)
		len--;
	return len > mark && line[len - mark - 1] == ' ' &&
	       memcmp(line + len - mark, SSH_KEYS_MARK, mark) == 0;
}

char *ssh_keys_line(const char *id, const char *node_name)
{
	return xprintf("%s root@%s " SSH_KEYS_MARK, id, node_name);
}

/* The length of the first line, with its end. */
static size_t line_length(const char *text)
{
	size_t len = strcspn(text, "\n");

	return text[len] == '\0' ? len : len + 1;
}

/* --- authorized_keys --- */

/* The identities of the lines, in their order. */
static void ids_of(const struct strv *lines, struct strv *ret)
{
	for (size_t i = 0; i < lines->n; i++) {
		auto_free char *id =
			ssh_keys_id(lines->items[i], strlen(lines->items[i]));

		strv_add(ret, id == NULL ? "" : id);
	}
}

static bool find(const struct strv *v, const char *s, size_t *ret_i)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->items[i], s) == 0) {
			*ret_i = i;
			return true;
		}
	return false;
}

char *ssh_keys_authorize(const char *text, const struct ssh_keys_change *change)
{
	auto_strv struct strv ids = {0}, there = {0};
	struct buf out = {0};
	size_t i, len;

	ids_of(change->authorized, &ids);
	for (; *text != '\0'; text += len) {
		auto_free char *id = NULL;

		len = line_length(text);
		id = ssh_keys_id(text, len);
		if (id == NULL) {
			buf_add(&out, text, len);
		} else if (find(&ids, id, &i)) {
			if (!strv_has(&there, id))
				buf_addf(&out, "%s\n",
					 change->authorized->items[i]);
			strv_add_unique(&there, id);
		} else if (!strv_has(change->withdrawn, id) &&
			   !(change->complete && ssh_keys_marked(text, len))) {
			buf_add(&out, text, len);
		}
	}
	for (i = 0; i < ids.n; i++) {
		if (strv_has(&there, ids.items[i]))
			continue;
		if (out.len > 0 && out.data[out.len - 1] != '\n')
			buf_addc(&out, '\n');
		buf_addf(&out, "%s\n", change->authorized->items[i]);
		strv_add(&there, ids.items[i]);
	}
	return buf_steal(&out);
}

/* --- ganeti_pub_keys --- */

json_t *ssh_keys_read_public(const char *text)
{
	json_t *keys = json_object();
	size_t len;

	for (; *text != '\0'; text += len) {
		size_t uuid = strcspn(text, BLANKS);
		auto_free char *name = xstrndup(text, uuid);
		auto_free char *line = NULL, *id = NULL;
		json_t *lines;

		len = line_length(text);
		if (uuid == 0 || text[uuid] != ' ')
			continue;
		line = xstrndup(text + uuid + 1,
				strcspn(text + uuid + 1, "\r\n"));
		id = ssh_keys_id(line, strlen(line));
		if (id == NULL)
			continue;
		lines = json_object_get(keys, name);
		if (lines == NULL) {
			lines = json_array();
			json_object_set_new(keys, name, lines);
		}
		json_array_append_new(lines, json_string(line));
	}
	return keys;
}

char *ssh_keys_public_text(const json_t *keys)
{
	struct buf out = {0};
	const char *uuid;
	json_t *lines, *line;
	size_t i;

	json_object_foreach (json_unconst(keys), uuid, lines)
		json_array_foreach (lines, i, line)
			buf_addf(&out, "%s %s\n", uuid,
				 json_string_value(line));
	return buf_steal(&out);
}

/* --- known_hosts --- */

/* Split a line at its blanks: the key's identity, and the name behind it (""
 * without one), both to be freed; false if it is none. */
static bool split_host(const char *line, size_t len, char **ret_id,
		       char **ret_name)
{
	auto_free char *text = xstrndup(line, len);
	const char *key = text + strcspn(text, BLANKS);
	auto_free char *id = NULL;
	const char *rest;

	key += strspn(key, BLANKS);
	id = ssh_keys_id(key, strlen(key));
	if (id == NULL || *text == '#' || *text == '@')
		return false;
	rest = key + strcspn(key, BLANKS);
	rest += strspn(rest, BLANKS);
	rest += strcspn(rest, BLANKS);
	rest += strspn(rest, BLANKS);
	*ret_name = xstrndup(rest, strcspn(rest, BLANKS));
	*ret_id = steal(&id);
	return true;
}

/* The lines of old without a node's name go to out, with the cluster's name of
 * today; those with one are kept by name. */
static json_t *sort_old(const char *old, const char *cluster_name,
			struct buf *out)
{
	json_t *by_name = json_object();
	size_t len;

	for (; *old != '\0'; old += len) {
		auto_free char *key = NULL, *node = NULL;
		json_t *ids;

		len = line_length(old);
		if (!split_host(old, len, &key, &node))
			continue;
		if (*node == '\0') {
			buf_addf(out, "%s %s\n", cluster_name, key);
			continue;
		}
		ids = json_object_get(by_name, node);
		if (ids == NULL) {
			ids = json_array();
			json_object_set_new(by_name, node, ids);
		}
		json_array_append_new(ids, json_string(key));
	}
	return by_name;
}

char *ssh_keys_known_hosts(const char *old, const char *cluster_name,
			   const json_t *hosts, const struct strv *names)
{
	struct buf out = {0};
	auto_json json_t *before = sort_old(old, cluster_name, &out);

	for (size_t k = 0; k < names->n; k++) {
		const char *name = names->items[k];
		const json_t *told = json_get(hosts, name);
		const json_t *ids = told ? told : json_get(before, name);

		for (size_t i = 0; i < json_array_size(ids); i++)
			buf_addf(&out, "%s %s %s\n", cluster_name,
				 json_string_value(json_array_get(ids, i)),
				 name);
	}
	return buf_steal(&out);
}
