/* SPDX-License-Identifier: BSD-2-Clause */
/* Tags on the cluster, groups, nodes, instances and networks. */
#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/filter/filter.h"
#include "masterd/core/slices.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/parts/tags.h"

/* The limits of Ganeti 3.0.2. */
#define TAG_LENGTH_MAX 128
#define TAGS_PER_OBJECT_MAX 4096

static const struct tag_kind {
	const char *name;
	enum lock_level level;
	enum config_kind kind;
} tag_kinds[] = {
	{"node", LOCK_NODE, CONFIG_NODE},
	{"nodegroup", LOCK_NODEGROUP, CONFIG_GROUP},
	{"instance", LOCK_INSTANCE, CONFIG_INSTANCE},
	{"network", LOCK_NETWORK, CONFIG_NETWORK},
};

/* NULL for the cluster. */
static const struct tag_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tag_kinds); i++)
		if (strcmp(tag_kinds[i].name, name) == 0)
			return &tag_kinds[i];
	return NULL;
}

/* The tagged object as it is now; NULL with err. */
static const json_t *target(struct lu *lu, const char *kind, const char *name,
			    struct error *err)
{
	const struct tag_kind *k = find_kind(kind);

	if (k == NULL)
		return config_cluster(lu->m->config);
	if (name == NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Tags of a %s need its name", kind);
		return NULL;
	}
	return config_expect(lu->m->config, k->kind, name, err);
}

static int want_target(struct lu *lu, const char *kind, const char *name,
		       bool exclusive, struct error *err)
{
	const struct tag_kind *k = find_kind(kind);
	const json_t *object = target(lu, kind, name, err);

	if (object == NULL)
		return -1;
	if (k != NULL)
		lu_want(lu, k->level,
			json_str(object,
				 k->level == LOCK_INSTANCE ? "name" : "uuid",
				 ""),
			exclusive);
	return 0;
}

/* --- patterns --- */

/* A field of filters that stands for the tag itself. */
#define TAG_FIELD "tag"

static bool only_tag(void *arg, const char *field, enum filter_kind *ret_kind)
{
	(void)arg;
	*ret_kind = FILTER_OTHER;
	return strcmp(field, TAG_FIELD) == 0;
}

static const json_t *the_tag(void *arg, const char *field)
{
	(void)field;
	return arg;
}

/* Patterns are Perl's, as those of queries: one engine with limits. */
static struct filter *compile_pattern(const char *pattern, struct error *err)
{
	auto_json json_t *filter =
		json_make("[s, s, s]", "=~", TAG_FIELD, pattern);
	struct error why;
	struct filter *f = filter_compile(filter, only_tag, NULL, &why);

	if (f == NULL)
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Invalid search pattern '%.200s': %s", pattern,
			  why.text);
	return f;
}

/* As filter_match(). */
static int match(struct filter *f, const json_t *tag, struct error *err)
{
	return filter_match(f, the_tag, mem_unconst(tag), err);
}

/* --- checks --- */

/* Letters and digits of all scripts, as Ganeti's Python takes them. */
#define VALID_TAG "^[\\p{L}\\p{N}_.+*/:@-]+\\z"

static size_t count_characters(const char *utf8)
{
	size_t n = 0;

	for (; *utf8 != '\0'; utf8++)
		n += ((unsigned char)*utf8 & 0xc0) != 0x80;
	return n;
}

static int check_tag(struct filter *valid, const json_t *tag, struct error *err)
{
	const char *text = json_string_value(tag);
	size_t n = count_characters(text);
	struct error ignored;

	if (n == 0 || n > TAG_LENGTH_MAX)
		return error_set(err, ERR_TAG, NULL,
				 "A tag has 1 to %d characters, '%s' has %zu",
				 TAG_LENGTH_MAX, text, n);
	if (match(valid, tag, &ignored) > 0)
		return 0;
	return error_set(err, ERR_TAG, NULL,
			 "Tag '%s' contains invalid characters", text);
}

int tags_check(const json_t *tags, struct error *err)
{
	struct filter *valid;
	size_t i = 0, n = json_array_size(tags);

	if (n > TAGS_PER_OBJECT_MAX)
		return error_set(err, ERR_TAG, NULL,
				 "At most %d tags fit on one object, not %zu",
				 TAGS_PER_OBJECT_MAX, n);
	valid = compile_pattern(VALID_TAG, err);
	assert(valid != NULL);
	while (i < n && check_tag(valid, json_array_get(tags, i), err) == 0)
		i++;
	filter_free(valid);
	return i == n ? 0 : -1;
}

/* Put the object with these tags in the place of the old one. */
static WAITS json_t *store_tags(struct lu *lu, const char *kind,
				const json_t *object, json_t *tags STEALS,
				struct error *err)
{
	const struct tag_kind *k = find_kind(kind);
	json_t *changed = config_edit(object);

	object_set_tags(changed, tags);
	if (k == NULL)
		config_put_cluster(lu->m->config, changed);
	else
		config_put(lu->m->config, k->kind, changed);
	return config_commit(lu->m->config, err) < 0 ? NULL : json_null();
}

/* --- get --- */

static int tags_get_expand(struct lu *lu, struct error *err)
{
	const struct op_tags_get *op = lu->op;

	if (!op->use_locking)
		return 0;
	return want_target(lu, op->kind, op->name, false, err);
}

static json_t *tags_get_exec(struct lu *lu, struct error *err)
{
	const struct op_tags_get *op = lu->op;
	const json_t *object = target(lu, op->kind, op->name, err);
	const json_t *tags = object_tags(object);

	if (object == NULL)
		return NULL;
	return tags == NULL ? json_array() : json_copy(json_unconst(tags));
}

const struct lu_class lu_tags_get = {
	.op = &op_class_tags_get,
	.size = sizeof(struct lu),
	.expand = tags_get_expand,
	.exec = tags_get_exec,
};

/* --- set --- */

static int tags_set_expand(struct lu *lu, struct error *err)
{
	const struct op_tags_set *op = lu->op;

	return want_target(lu, op->kind, op->name, true, err);
}

static int tags_set_check(struct lu *lu, struct error *err)
{
	const struct op_tags_set *op = lu->op;

	return tags_check(op->tags, err);
}

static WAITS json_t *tags_set_exec(struct lu *lu, struct error *err)
{
	const struct op_tags_set *op = lu->op;
	const json_t *object = target(lu, op->kind, op->name, err);
	auto_strv struct strv tags = {0};

	if (object == NULL)
		return NULL;
	json_to_strv(object_tags(object), &tags);
	for (size_t i = 0; i < json_array_size(op->tags); i++)
		strv_add_unique(&tags,
				json_string_value(json_array_get(op->tags, i)));
	if (tags.n > TAGS_PER_OBJECT_MAX) {
		error_set(err, ERR_TAG, NULL,
			  "At most %d tags fit on one object, this would be "
			  "%zu",
			  TAGS_PER_OBJECT_MAX, tags.n);
		return NULL;
	}
	strv_sort(&tags);
	return store_tags(lu, op->kind, object, json_from_strv(&tags), err);
}

const struct lu_class lu_tags_set = {
	.op = &op_class_tags_set,
	.spares_disks = true,
	.size = sizeof(struct lu),
	.expand = tags_set_expand,
	.check = tags_set_check,
	.exec = tags_set_exec,
};

/* --- del --- */

static int tags_del_expand(struct lu *lu, struct error *err)
{
	const struct op_tags_del *op = lu->op;

	return want_target(lu, op->kind, op->name, true, err);
}

static int tags_del_check(struct lu *lu, struct error *err)
{
	const struct op_tags_del *op = lu->op;
	const json_t *object = target(lu, op->kind, op->name, err);
	auto_strv struct strv missing = {0};
	auto_free char *names = NULL;

	if (object == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(op->tags); i++) {
		const char *tag =
			json_string_value(json_array_get(op->tags, i));

		if (!json_array_has_str(object_tags(object), tag))
			strv_add(&missing, tag);
	}
	if (missing.n == 0) /* whatever they are: so all can be removed */
		return 0;
	if (tags_check(op->tags, err) < 0)
		return -1;
	names = strv_join(&missing, "','");
	return error_set(err, ERR_PREREQ, ECODE_NOENT, "Tag(s) '%s' not found",
			 names);
}

static WAITS json_t *tags_del_exec(struct lu *lu, struct error *err)
{
	const struct op_tags_del *op = lu->op;
	const json_t *object = target(lu, op->kind, op->name, err);
	const json_t *old = object_tags(object);
	json_t *left;

	if (object == NULL)
		return NULL;
	left = json_array();
	for (size_t i = 0; i < json_array_size(old); i++) {
		json_t *tag = json_array_get(old, i);

		if (!json_array_has_str(op->tags, json_string_value(tag)))
			json_array_append(left, tag);
	}
	return store_tags(lu, op->kind, object, left, err);
}

const struct lu_class lu_tags_del = {
	.op = &op_class_tags_del,
	.spares_disks = true,
	.size = sizeof(struct lu),
	.expand = tags_del_expand,
	.check = tags_del_check,
	.exec = tags_del_exec,
};

/* --- search --- */

struct search {
	struct slice_work work;
	json_t *tags; /* [[path, tag], ...], copies of its own */
};

static WAITS void add_tags(struct search *s, const char *path,
			   const json_t *object)
{
	const json_t *tags = object_tags(object), *tag;
	size_t i;

	json_array_foreach (tags, i, tag)
		json_array_append_new(
			s->tags,
			json_make("[s, s]", path, json_string_value(tag)));
	slice_steps(&s->work, 1 + json_array_size(tags));
}

static WAITS void add_kind(struct lu *lu, struct search *s, const char *folder,
			   enum config_kind kind)
{
	auto_strv struct strv uuids = {0};

	config_sorted(lu->m->config, kind, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *object =
			config_get(lu->m->config, kind, uuids.items[i]);
		auto_free char *path =
			xprintf("/%s/%s", folder, object_name(object));

		if (object != NULL) /* it may have gone meanwhile */
			add_tags(s, path, object);
	}
}

static WAITS json_t *all_tags(struct lu *lu)
{
	struct search s = {.tags = json_array()};

	slice_begin(&s.work, lu->m->slices);
	add_tags(&s, "/cluster", config_cluster(lu->m->config));
	add_kind(lu, &s, "instances", CONFIG_INSTANCE);
	add_kind(lu, &s, "nodes", CONFIG_NODE);
	add_kind(lu, &s, "nodegroup", CONFIG_GROUP);
	add_kind(lu, &s, "network", CONFIG_NETWORK);
	slice_rest(&s.work);
	return s.tags;
}

/* The rows whose tags match; NULL with err. */
static json_t *matching(const json_t *rows, const char *pattern,
			struct error *err)
{
	struct filter *f = compile_pattern(pattern, err);
	auto_json json_t *found = json_array();
	size_t i = 0, n = json_array_size(rows);

	if (f == NULL)
		return NULL;
	filter_limit(f, FILTER_STEPS_MAX);
	for (; i < n; i++) {
		json_t *row = json_array_get(rows, i);
		int rc = match(f, json_array_get(row, 1), err);

		if (rc < 0)
			break;
		if (rc > 0)
			json_array_append(found, row);
	}
	filter_free(f);
	return i == n ? steal(&found) : NULL;
}

static WAITS json_t *tags_search_exec(struct lu *lu, struct error *err)
{
	const struct op_tags_search *op = lu->op;
	json_t *rows = all_tags(lu);
	json_t *found;

	task_leave(); /* nobody else uses the rows */
	found = matching(rows, op->pattern, err);
	json_decref(rows);
	task_enter();
	return found;
}

const struct lu_class lu_tags_search = {
	.op = &op_class_tags_search,
	.size = sizeof(struct lu),
	.exec = tags_search_exec,
};
