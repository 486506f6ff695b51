/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration in memory: loading, reading, changing.  Derived data is in
 * config_index.c, writing to the disk in config_write.c, checks in
 * config_validate.c. */
#include "masterd/config/config.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/pulse.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_check.h"
#include "lib/model/config/config_digest.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config_private.h"

const struct config_kind_info config_kinds[CONFIG_KIND_COUNT] = {
	[CONFIG_NODE] = {"nodes", "Node", true, true},
	[CONFIG_GROUP] = {"nodegroups", "Node group", true, false},
	[CONFIG_INSTANCE] = {"instances", "Instance", true, true},
	[CONFIG_DISK] = {"disks", "Disk", false, false},
	[CONFIG_NETWORK] = {"networks", "Network", true, false},
	[CONFIG_FILTER] = {"filters", "Filter rule", false, false},
};

int config_kind_by_container(const char *container)
{
	for (int kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		if (strcmp(config_kinds[kind].container, container) == 0)
			return kind;
	return -1;
}

static struct config *
config_create(struct disk *disk, const struct paths *paths, json_t *top STEALS)
{
	struct config *c = xalloc(sizeof(*c));

	c->disk = disk;
	c->paths = paths;
	c->top = top;
	c->ssconf_dirty = true;
	cond_init(&c->written);
	config_index_init(&c->index);
	for (int kind = 0; kind < CONFIG_KIND_COUNT; kind++) {
		const char *uuid;
		json_t *object;

		c->objects[kind] =
			json_object_get(top, config_kinds[kind].container);
		json_object_foreach (c->objects[kind], uuid, object)
			config_index_enter(c, (enum config_kind)kind, object);
	}
	return c;
}

/* A master has been running with what this node wrote itself: its faults are
 * reported (config_verify()), and do not keep the cluster down. */
static int check_whole(const json_t *top, enum config_origin origin,
		       struct error *err)
{
	if (origin == CONFIG_WHOLE)
		return 0;
	/* In another version members may have other types. */
	if (origin != CONFIG_DAMAGED &&
	    json_is_integer(document_version_value(top)) &&
	    config_check_version(top, err) < 0)
		return -1;
	if (config_check(top, err) < 0)
		return -1;
	if (origin != CONFIG_DAMAGED)
		return 0;
	return error_set(err, ERR_CONFIG, NULL,
			 "it is not what was written there under its serial "
			 "number, and nobody has written it since (a fault of "
			 "the disk?)");
}

/* The parsed and checked document, to be freed. */
static json_t *read_text(const char *text, size_t len,
			 enum config_origin origin, struct error *err)
{
	auto_json json_t *top = json_parse(text, len, err);

	if (top == NULL || check_whole(top, origin, err) < 0 ||
	    config_validate(top, err) < 0)
		return NULL;
	return steal(&top);
}

int config_check_text(const char *text, size_t len, struct error *err)
{
	auto_json json_t *top = read_text(text, len, CONFIG_UNKNOWN, err);

	return top == NULL ? -1 : 0;
}

struct config *config_load(struct disk *disk, const struct paths *paths,
			   struct error *err)
{
	const char *file = path(paths, PATH_CONFIG_DATA);
	size_t len = 0;
	auto_free char *text =
		disk->read(disk, file, CONFIG_BYTES_MAX, &len, err);
	enum config_origin origin;
	json_t *top;
	int64_t noted;
	struct config *c;

	if (text == NULL) {
		error_wrap_as(err, ERR_CONFIG, "Cannot read the configuration");
		return NULL;
	}
	origin = config_digest_judge(disk, paths, text, len, &noted);
	top = read_text(text, len, origin, err);
	if (top == NULL) {
		error_wrap_as(err,
			      err->kind == ERR_CONFIG_VERSION
				      ? ERR_CONFIG_VERSION
				      : ERR_CONFIG,
			      "Cannot use the configuration %s", file);
		return NULL;
	}
	c = config_create(disk, paths, top);
	c->edited = origin == CONFIG_EDITED;
	return c;
}

struct config *config_of_state(struct disk *disk, const struct paths *paths,
			       struct state *state, struct error *err)
{
	enum config_origin origin = state_origin(state);
	struct config *c;
	size_t len;
	auto_free char *text = config_image_text(state_config(state), &len);
	json_t *top = read_text(text, len, origin, err);

	if (top == NULL) {
		error_wrap_as(err,
			      err->kind == ERR_CONFIG_VERSION
				      ? ERR_CONFIG_VERSION
				      : ERR_CONFIG,
			      "Cannot use the configuration %s",
			      path(paths, PATH_CONFIG_DATA));
		return NULL;
	}
	c = config_create(disk, paths, top);
	c->edited = origin == CONFIG_EDITED;
	c->state = state;
	return c;
}

struct config *config_copy(const struct config *c, config_committed_fn *fn,
			   void *arg)
{
	struct config *copy = config_create(NULL, c->paths, config_document(c));

	copy->ssconf_dirty = false;
	copy->committed = fn;
	copy->committed_arg = arg;
	config_booked_copy(copy, c);
	return copy;
}

bool config_take_ssconf(struct config *c)
{
	bool dirty = c->ssconf_dirty;

	c->ssconf_dirty = false;
	return dirty;
}

void config_free(struct config *c)
{
	if (c == NULL)
		return;
	config_booked_done(c);
	config_undo_done(c);
	config_index_done(&c->index);
	for (int kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		table_done(&c->texts[kind], free);
	free(c->cluster_text);
	json_decref(c->ssconf);
	json_decref(c->top);
	free(c);
}

void config_set_distribute(struct config *c, config_distribute_fn *fn,
			   void *arg)
{
	c->distribute = fn;
	c->distribute_arg = arg;
}

void config_set_fatal(struct config *c,
		      void (*fatal)(void *arg, const struct error *err),
		      void *arg)
{
	c->fatal = fatal;
	c->fatal_arg = arg;
}

void config_set_lost(struct config *c, void (*lost)(void *arg), void *arg)
{
	c->lost = lost;
	c->lost_arg = arg;
}

bool config_is_full(const struct config *c)
{
	return c->full;
}

const json_t *config_cluster(const struct config *c)
{
	return document_cluster(c->top);
}

int64_t config_serial(const struct config *c)
{
	return document_serial_no(c->top);
}

json_t *config_document(const struct config *c)
{
	json_t *document = json_copy(c->top);

	/* The containers are changed in place, so the document must not share
	 * them. */
	for (int kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		json_object_set_new(document, config_kinds[kind].container,
				    json_copy(c->objects[kind]));
	return document;
}

const json_t *config_get(const struct config *c, enum config_kind kind,
			 const char *uuid)
{
	return uuid == NULL ? NULL : json_object_get(c->objects[kind], uuid);
}

struct prefix_search {
	const char *name;
	size_t len;
	const json_t *found;
	size_t n;
};

static void match_prefix(const char *key, void *value, void *arg)
{
	struct prefix_search *search = arg;

	if (strncasecmp(key, search->name, search->len) != 0 ||
	    key[search->len] != '.')
		return;
	search->found = value;
	search->n++;
}

/* Names of hosts are kept in lower case. */
static const json_t *find_lower(const struct config *c, enum config_kind kind,
				const char *name)
{
	auto_free char *lower = str_lower(name);

	return table_get(&c->index.names[kind], lower);
}

const json_t *config_find(const struct config *c, enum config_kind kind,
			  const char *name)
{
	struct prefix_search search = {.name = name, .len = strlen(name)};
	const json_t *object = table_get(&c->index.names[kind], name);

	if (object == NULL)
		object = config_get(c, kind, name);
	if (object != NULL || !config_kinds[kind].short_names ||
	    search.len == 0)
		return object;
	object = find_lower(c, kind, name);
	if (object != NULL)
		return object;
	table_each(&c->index.names[kind], match_prefix, &search);
	return search.n == 1 ? search.found : NULL;
}

int config_check_new_name(const char *name, struct error *err)
{
	if (!uuid_valid(name))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The name '%s' looks like a UUID", name);
}

const json_t *config_find_reserved(const struct config *c, const char *name,
				   uint64_t job)
{
	const json_t *inst = config_find(c, CONFIG_INSTANCE, name);

	if (inst != NULL && str_eq(inst_name_or(inst, NULL), name) &&
	    inst_forthcoming(inst) &&
	    inst_reserved_by_job(inst) == (int64_t)job)
		return inst;
	return NULL;
}

const json_t *config_expect(const struct config *c, enum config_kind kind,
			    const char *name, struct error *err)
{
	const json_t *object = name == NULL ? NULL : config_find(c, kind, name);

	if (object == NULL)
		error_set(err, ERR_PREREQ, ECODE_NOENT, "%s '%.200s' not known",
			  config_kinds[kind].title, name == NULL ? "" : name);
	return object;
}

const json_t *config_all(const struct config *c, enum config_kind kind)
{
	return c->objects[kind];
}

const char *config_name(const struct config *c, enum config_kind kind,
			const char *uuid)
{
	return object_name_or(config_get(c, kind, uuid), uuid);
}

const json_t *config_master(const struct config *c)
{
	return config_get(c, CONFIG_NODE,
			  cluster_master_node_or(config_cluster(c), NULL));
}

bool config_is_master(const struct config *c, const char *node_uuid)
{
	return str_eq(cluster_master_node_or(config_cluster(c), NULL),
		      node_uuid);
}

json_t *config_edit(const json_t *object)
{
	return json_copy(json_unconst(object));
}

/* The steps of a creation count as one change of the object, since clients only
 * see the finished instance; its first start is the second. */
static bool is_step_of_creation(const json_t *object, const json_t *before)
{
	return inst_has_reserved_by_job(before) &&
	       (inst_has_reserved_by_job(object) ||
		strcmp(inst_admin_state(object), "up") != 0);
}

/* Members that every object has: the serial number becomes that of the version
 * before plus one, the modification time is now. */
static void stamp(json_t *object, const json_t *before, double now)
{
	int64_t serial = object_serial_no(before);

	object_set_serial_no(object, is_step_of_creation(object, before)
					     ? serial
					     : serial + 1);
	if (before == NULL && !object_has_ctime(object))
		object_set_ctime(object, now);
	object_set_mtime(object, now);
}

void config_raise_serial(struct config *c)
{
	stamp(c->top, c->top, clock_seconds());
	c->edited = false;
}

static void changed(struct config *c, double now)
{
	bool *flag = task_mark();

	stamp(c->top, c->top, now);
	pulse_beat();
	c->changes++;
	if (flag != NULL)
		*flag = true;
}

void config_note_changes(bool *flag)
{
	task_set_mark(flag);
}

/* An object that somebody else refers to must not change, so change a copy. */
static json_t *own_object(json_t *object STEALS)
{
	json_t *copy;

	if (object->refcount == 1)
		return object;
	copy = json_copy(object);
	json_decref(object);
	return copy;
}

/* Of instances only the names are in ssconf files. */
static bool in_ssconf(enum config_kind kind, const json_t *before,
		      const json_t *object)
{
	switch (kind) {
	case CONFIG_INSTANCE:
		return before == NULL ||
		       !str_eq(object_name(before), object_name(object));
	case CONFIG_DISK:
	case CONFIG_FILTER:
		return false;
	default:
		return true;
	}
}

const json_t *config_put(struct config *c, enum config_kind kind,
			 json_t *object STEALS)
{
	json_t *fresh = own_object(object);
	const char *uuid = object_uuid_or(fresh, NULL);
	auto_json json_t *before = json_ref(config_get(c, kind, uuid));
	double now = clock_seconds();

	assert(uuid != NULL);
	config_undo_object(c, kind, uuid, before);
	if (in_ssconf(kind, before, fresh))
		c->ssconf_dirty = true;
	if (kind != CONFIG_FILTER) /* Ganeti's have no such members */
		stamp(fresh, before, now);
	if (kind == CONFIG_DISK)
		config_stamp_volumes(fresh, now);
	if (before != NULL)
		config_index_leave(c, kind, before);
	config_text_forget(c, kind, uuid);
	json_object_set_new(c->objects[kind], uuid, fresh);
	config_index_enter(c, kind, fresh);
	if (kind == CONFIG_INSTANCE)
		config_networks_follow(c, before, fresh);
	changed(c, now);
	return fresh;
}

void config_remove(struct config *c, enum config_kind kind, const char *uuid)
{
	auto_json json_t *before =
		json_incref(json_object_get(c->objects[kind], uuid));

	if (before == NULL)
		return;
	uuid = object_uuid_or(before, uuid); /* the given one may go with the
					      * index */
	config_undo_object(c, kind, uuid, before);
	if (kind != CONFIG_DISK && kind != CONFIG_FILTER)
		c->ssconf_dirty = true;
	config_index_leave(c, kind, before);
	config_text_forget(c, kind, uuid);
	json_object_del(c->objects[kind], uuid);
	if (kind == CONFIG_INSTANCE)
		config_networks_follow(c, before, NULL);
	if (kind == CONFIG_DISK)
		config_index_disk_changed(c, uuid);
	changed(c, clock_seconds());
}

void config_put_cluster(struct config *c, json_t *cluster STEALS)
{
	json_t *fresh = own_object(cluster);
	double now = clock_seconds();

	config_undo_cluster(c);
	stamp(fresh, config_cluster(c), now);
	document_set_cluster(c->top, fresh);
	free(steal(&c->cluster_text));
	c->ssconf_dirty = true;
	changed(c, now);
}
