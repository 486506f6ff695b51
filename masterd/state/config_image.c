/* SPDX-License-Identifier: BSD-2-Clause */
/* One table holds all texts.  A record is a list of names and texts; the empty
 * name stands for everything. */
#include "masterd/state/config_image.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/pack.h"
#include "lib/base/table.h"
#include "lib/json/json.h"

/* What follows a name in a record. */
enum { RECORD_GONE, RECORD_TEXT };

/* Members of config.data that hold objects, in the order of their names. */
static const char *const containers[] = {"disks",    "filters",	   "instances",
					 "networks", "nodegroups", "nodes"};

struct config_image {
	struct table texts;
};

struct config_image *config_image_create(void)
{
	return xalloc(sizeof(struct config_image));
}

void config_image_free(struct config_image *i)
{
	if (i == NULL)
		return;
	table_done(&i->texts, free);
	free(i);
}

bool config_image_is_empty(const struct config_image *i)
{
	return i->texts.n == 0;
}

const char *config_image_get(const struct config_image *i, const char *name)
{
	return table_get(&i->texts, name);
}

static void put(struct table *texts, const char *name, char *text STEALS)
{
	free(table_put(texts, name, text));
}

/* --- from a file --- */

static bool is_container(const char *member)
{
	for (size_t k = 0; k < ARRAY_SIZE(containers); k++)
		if (strcmp(containers[k], member) == 0)
			return true;
	return false;
}

static void load_container(struct table *texts, const char *member,
			   const json_t *objects)
{
	const char *uuid;
	json_t *object;

	json_object_foreach (json_unconst(objects), uuid, object) {
		auto_free char *name = xprintf("%s/%s", member, uuid);

		put(texts, name, json_text(object));
	}
}

int config_image_load(struct config_image *i, const char *text, size_t len,
		      struct error *err)
{
	auto_json json_t *top = json_parse(text, len, err);
	struct table texts = {0};
	const char *member;
	json_t *value;

	if (top == NULL)
		return -1;
	if (!json_is_object(top))
		return error_set(err, ERR_CONFIG, NULL,
				 "The configuration is no JSON object");
	json_object_foreach (top, member, value) {
		if (is_container(member) && json_is_object(value))
			load_container(&texts, member, value);
		else
			put(&texts, member, json_text(value));
	}
	table_done(&i->texts, free);
	i->texts = texts;
	return 0;
}

/* --- to a file --- */

struct sorted {
	const char **names;
	size_t n;
};

static void add_name(const char *name, void *value, void *arg)
{
	struct sorted *s = arg;

	(void)value;
	s->names[s->n++] = name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_key(struct buf *b, const char *key)
{
	auto_json json_t *name = json_string(key);
	auto_free char *text = json_text(name);

	buf_adds(b, text);
	buf_addc(b, ':');
}

/* The objects of a container begin at name *at; leaves *at behind them. */
static void add_objects(const struct config_image *i, struct buf *b,
			const struct sorted *s, size_t *at,
			const char *container)
{
	size_t len = strlen(container);
	const char *separator = "";

	buf_addc(b, '{');
	while (*at < s->n && str_starts(s->names[*at], container) &&
	       s->names[*at][len] == '/') {
		buf_adds(b, separator);
		add_key(b, s->names[*at] + len + 1);
		buf_adds(b, table_get(&i->texts, s->names[(*at)++]));
		separator = ",";
	}
	buf_addc(b, '}');
}

static size_t find_first(const struct sorted *s, const char *container)
{
	auto_free char *prefix = xprintf("%s/", container);
	size_t at = 0;

	while (at < s->n && strcmp(s->names[at], prefix) < 0)
		at++;
	return at;
}

char *config_image_text(const struct config_image *i, size_t *ret_len)
{
	auto_free const char **names = xcalloc(i->texts.n + 1, sizeof(*names));
	struct sorted s = {.names = names};
	const char *separator = "{";
	struct buf b = {0};

	table_each(&i->texts, add_name, &s);
	qsort(s.names, s.n, sizeof(*s.names), by_name);
	for (size_t k = 0; k < ARRAY_SIZE(containers); k++) {
		size_t at = find_first(&s, containers[k]);

		buf_adds(&b, separator);
		add_key(&b, containers[k]);
		add_objects(i, &b, &s, &at, containers[k]);
		separator = ",";
	}
	for (size_t k = 0; k < s.n; k++) {
		if (strchr(s.names[k], '/') != NULL)
			continue;
		buf_adds(&b, separator);
		add_key(&b, s.names[k]);
		buf_adds(&b, table_get(&i->texts, s.names[k]));
	}
	buf_addc(&b, '}');
	*ret_len = b.len;
	return buf_steal(&b);
}

struct each {
	const char *container;
	size_t len;
	void (*fn)(void *arg, const char *uuid, const char *text);
	void *arg;
};

static void each_one(const char *name, void *value, void *arg)
{
	const struct each *e = arg;

	if (str_starts(name, e->container) && name[e->len] == '/')
		e->fn(e->arg, name + e->len + 1, value);
}

void config_image_each(const struct config_image *i, const char *container,
		       void (*fn)(void *arg, const char *uuid,
				  const char *text),
		       void *arg)
{
	struct each e = {container, strlen(container), fn, arg};

	table_each(&i->texts, each_one, &e);
}

/* --- records --- */

void config_image_record_all(struct buf *record)
{
	config_image_record(record, "", NULL);
}

void config_image_record(struct buf *record, const char *name, const char *text)
{
	pack_bytes(record, name, strlen(name));
	pack_number(record, text == NULL ? RECORD_GONE : RECORD_TEXT);
	if (text != NULL)
		pack_bytes(record, text, strlen(text));
}

static void record_one(const char *name, void *value, void *arg)
{
	config_image_record(arg, name, value);
}

void config_image_record_image(const struct config_image *i, struct buf *record)
{
	config_image_record_all(record);
	table_each(&i->texts, record_one, record);
}

static bool says_who(const char *name)
{
	return *name == '\0' || strcmp(name, "cluster") == 0 ||
	       str_starts(name, "nodes/");
}

/* The next change of a record, its name to be freed; false where it is none. */
static bool read_one(struct pack_reader *r, char **ret_name,
		     const char **ret_text, size_t *ret_len)
{
	size_t name_len, len = 0;
	const char *bytes = unpack_bytes(r, &name_len);
	auto_free char *name = xstrndup(bytes == NULL ? "" : bytes, name_len);
	uint64_t kind = unpack_number(r);
	const char *text = kind == RECORD_TEXT ? unpack_bytes(r, &len) : NULL;

	if (r->bad || kind > RECORD_TEXT || strlen(name) != name_len)
		return false;
	*ret_text = kind == RECORD_TEXT && text == NULL ? "" : text;
	*ret_len = len;
	*ret_name = steal(&name);
	return true;
}

int config_image_read_record(const void *record, size_t len,
			     void (*fn)(void *arg, const char *name,
					const char *text, size_t len),
			     void *arg)
{
	struct pack_reader r = {.at = record,
				.end = (const char *)record + len};

	while (r.at < r.end) {
		auto_free char *name = NULL;
		const char *text;
		size_t text_len;

		if (!read_one(&r, &name, &text, &text_len))
			return -1;
		fn(arg, name, text, text_len);
	}
	return 0;
}

struct taking {
	struct config_image *image;
	bool nodes;
};

static void take_one(void *arg, const char *name, const char *text, size_t len)
{
	struct taking *t = arg;
	struct table *texts = &t->image->texts;

	if (says_who(name))
		t->nodes = true;
	if (text != NULL)
		put(texts, name, xstrndup(text, len));
	else if (*name == '\0')
		table_done(texts, free);
	else
		free(table_remove(texts, name));
}

int config_image_take(struct config_image *i, const void *record, size_t len,
		      bool *ret_nodes, struct error *err)
{
	struct taking t = {.image = i};
	int rc = config_image_read_record(record, len, take_one, &t);

	*ret_nodes = t.nodes;
	if (rc == 0)
		return 0;
	return error_set(err, ERR_CONFIG, NULL,
			 "it is no change of the configuration");
}
