/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups, nodes and instances are kept in the order of the configuration, which
 * is also the order of the message for an allocator: of equally good places the
 * order decides.  An instance or the groups may be in use by placements that
 * run beside the loop, so they are counted; the counts change only by who has
 * control.
 *
 * What a node has by its record is a sum over its instances, so it is kept
 * until one of these changes, or anything else that it depends on: the node, a
 * group, the cluster.  A node with bookings of jobs is always computed anew. */
#include "masterd/allocator/iallocator_kept.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/allocator/iallocator_cluster.h"
#include "masterd/allocator/iallocator_private.h"

struct kept_groups {
	unsigned refs;
	struct arena arena;
	json_t *objects; /* {uuid: object} as they were */
	struct group *groups;
	size_t n;
	bool promise_failures; /* the policy of any has max-node-failures */
};

struct kept_instance {
	unsigned refs;
	json_t *object;
	struct iallocator_placed placed;
	/* Indices of its nodes, while `order` is that of the nodes. */
	uint64_t order;
	int primary, secondary;
};

struct kept_node {
	json_t *object;
	struct build_node values; /* without tags */
};

/* What nodes have by their records, for one hypervisor and template. */
struct kept_view {
	char *hypervisor, *template;
	bool *known; /* for each node */
	struct node_memory *memory;
	struct node_disk *disk;
	bool shared_known;
	int64_t shared; /* booked, of storage that all nodes share */
};

/* As many pairs of hypervisor and template are kept; a cluster has few. */
#define VIEWS_MAX 8

struct iallocator_kept {
	json_t *cluster;
	struct kept_groups *groups;
	struct kept_node *nodes;
	size_t n_nodes;
	struct table by_uuid; /* node UUID -> &indices[i] */
	int *indices;
	uint64_t order; /* changes with the list of nodes */
	struct kept_instance **instances;
	size_t n_instances;
	json_t **disks; /* all disk objects, held */
	size_t n_disks;
	/* Instances whose disks may have changed; only while it refreshes. */
	struct table stale; /* by UUID */
	bool all_stale;
	struct kept_view views[VIEWS_MAX];
	size_t n_views, next_view;
	struct strv booked; /* nodes with bookings, when it was last used */
};

/* --- views --- */

static void view_done(struct kept_view *v)
{
	free(v->hypervisor);
	free(v->template);
	free(v->known);
	free(v->memory);
	free(v->disk);
	*v = (struct kept_view){.known = NULL};
}

static void drop_views(struct iallocator_kept *k)
{
	for (size_t i = 0; i < k->n_views; i++)
		view_done(&k->views[i]);
	k->n_views = k->next_view = 0;
}

static struct kept_view *view_of(struct iallocator_kept *k,
				 const char *hypervisor, const char *template)
{
	struct kept_view *v;

	for (size_t i = 0; i < k->n_views; i++)
		if (str_eq(k->views[i].hypervisor, hypervisor) &&
		    str_eq(k->views[i].template, template))
			return &k->views[i];
	if (k->n_views < VIEWS_MAX) {
		v = &k->views[k->n_views++];
	} else {
		v = &k->views[k->next_view++ % VIEWS_MAX];
		view_done(v);
	}
	v->hypervisor = xstrdup(hypervisor);
	v->template = template == NULL ? NULL : xstrdup(template);
	v->known = xcalloc(k->n_nodes, sizeof(*v->known));
	v->memory = xcalloc(k->n_nodes, sizeof(*v->memory));
	v->disk = xcalloc(k->n_nodes, sizeof(*v->disk));
	return v;
}

static void forget_node(struct iallocator_kept *k, const char *uuid)
{
	const int *index = table_get(&k->by_uuid, uuid);

	for (size_t i = 0; index != NULL && i < k->n_views; i++)
		k->views[i].known[*index] = false;
}

static void forget_shared(struct iallocator_kept *k)
{
	for (size_t i = 0; i < k->n_views; i++)
		k->views[i].shared_known = false;
}

/* The instance has come, gone or changed: what it books is on these nodes. */
static void forget_instance(struct iallocator_kept *k,
			    const struct iallocator_placed *p)
{
	forget_node(k, p->primary);
	for (size_t i = 0; i < p->secondaries.n; i++)
		forget_node(k, p->secondaries.items[i]);
	forget_shared(k);
}

/* --- groups --- */

static void groups_release(struct kept_groups *g)
{
	if (g == NULL || --g->refs > 0)
		return;
	json_decref(g->objects);
	arena_done(&g->arena);
	free(g);
}

static struct kept_groups *groups_read(const struct config *c,
				       struct error *err)
{
	json_t *all = json_unconst(config_all(c, CONFIG_GROUP)), *group;
	struct kept_groups *ret = xalloc(sizeof(*ret));
	const char *uuid;

	ret->refs = 1;
	ret->objects = json_copy(all);
	ret->groups = arena_calloc(&ret->arena, json_object_size(all),
				   sizeof(*ret->groups));
	json_object_foreach (all, uuid, group) {
		struct group *g = &ret->groups[ret->n++];

		if (iallocator_cluster_group(c, uuid, &ret->arena, g, err) <
		    0) {
			groups_release(ret);
			return NULL;
		}
		ret->promise_failures |= g->policy.max_node_failures > 0;
	}
	return ret;
}

/* Whether the object has the same members in the same order. */
static bool is_same(const json_t *kept, const json_t *now)
{
	void *a = json_object_iter(json_unconst(kept));
	void *b = json_object_iter(json_unconst(now));

	while (a != NULL && b != NULL &&
	       json_object_iter_value(a) == json_object_iter_value(b)) {
		a = json_object_iter_next(json_unconst(kept), a);
		b = json_object_iter_next(json_unconst(now), b);
	}
	return a == NULL && b == NULL;
}

static int group_index(const struct kept_groups *g, const char *uuid)
{
	for (size_t i = 0; i < g->n; i++)
		if (str_eq(g->groups[i].uuid, uuid))
			return (int)i;
	return NO_INDEX;
}

/* --- nodes --- */

static void drop_nodes(struct iallocator_kept *k)
{
	drop_views(k);
	for (size_t i = 0; i < k->n_nodes; i++)
		json_decref(k->nodes[i].object);
	table_done(&k->by_uuid, NULL);
	free(steal(&k->nodes));
	free(steal(&k->indices));
	k->n_nodes = 0;
	k->order++;
}

static int read_node(const struct iallocator_kept *k, const struct config *c,
		     const json_t *object, struct kept_node *ret,
		     struct error *err)
{
	const char *group = node_group(object);

	iallocator_cluster_node(c, object, &ret->values);
	ret->values.group = group_index(k->groups, group);
	if (ret->values.group == NO_INDEX)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown group '%s' for node %s", group,
				 ret->values.name);
	json_decref(ret->object);
	ret->object = json_ref(object);
	return 0;
}

/* Whether the configuration has the same nodes in the same order, each changed
 * or not. */
static bool has_same_nodes(const struct iallocator_kept *k, const json_t *all)
{
	size_t i = 0;
	const char *uuid;
	json_t *node;

	if (json_object_size(all) != k->n_nodes)
		return false;
	json_object_foreach (json_unconst(all), uuid, node) {
		if (k->nodes[i].object != node &&
		    !str_eq(node_uuid_or(k->nodes[i].object, NULL), uuid))
			return false;
		i++;
	}
	return true;
}

static void start_nodes(struct iallocator_kept *k, const json_t *all)
{
	const char *uuid;
	json_t *node;

	drop_nodes(k);
	k->nodes = xcalloc(json_object_size(all), sizeof(*k->nodes));
	k->indices = xcalloc(json_object_size(all), sizeof(*k->indices));
	json_object_foreach (json_unconst(all), uuid, node) {
		k->indices[k->n_nodes] = (int)k->n_nodes;
		table_put(&k->by_uuid, uuid, &k->indices[k->n_nodes++]);
	}
}

static int refresh_nodes(struct iallocator_kept *k, const struct config *c,
			 struct error *err)
{
	const json_t *all = config_all(c, CONFIG_NODE);
	size_t i = 0;
	const char *uuid;
	json_t *node;

	if (!has_same_nodes(k, all))
		start_nodes(k, all);
	json_object_foreach (json_unconst(all), uuid, node) {
		struct kept_node *kept = &k->nodes[i++];

		if (kept->object == node)
			continue;
		forget_node(k, uuid);
		if (read_node(k, c, node, kept, err) < 0) {
			drop_nodes(k);
			return -1;
		}
	}
	return 0;
}

/* --- instances --- */

static void instance_release(struct kept_instance *inst)
{
	if (inst == NULL || --inst->refs > 0)
		return;
	iallocator_cluster_instance_done(&inst->placed);
	json_decref(inst->object);
	free(inst);
}

static struct kept_instance *
instance_read(const struct config *c, const json_t *object, struct error *err)
{
	struct kept_instance *ret = xalloc(sizeof(*ret));

	ret->refs = 1;
	ret->object = json_ref(object);
	if (iallocator_cluster_instance(c, object, &ret->placed, err) == 0)
		return ret;
	instance_release(ret);
	return NULL;
}

static void drop_instances(struct iallocator_kept *k)
{
	for (size_t i = 0; i < k->n_instances; i++)
		instance_release(k->instances[i]);
	free(steal(&k->instances));
	k->n_instances = 0;
}

/* The kept instance with that object or, if it has been replaced, that UUID;
 * from *at on, which then is behind it.  NULL: it is new. */
static struct kept_instance *find_kept(struct iallocator_kept *k, size_t *at,
				       const json_t *object, const char *uuid)
{
	for (size_t i = *at; i < k->n_instances; i++) {
		struct kept_instance *inst = k->instances[i];

		if (inst == NULL || (inst->object != object &&
				     !str_eq(inst_uuid(inst->object), uuid)))
			continue;
		*at = i + 1;
		k->instances[i] = NULL;
		return inst;
	}
	return NULL;
}

/* --- disks --- */

static void mark_stale(struct iallocator_kept *k, const struct config *c,
		       const char *disk)
{
	const char *owner = config_disk_owner(c, disk);

	if (owner != NULL)
		table_put(&k->stale, owner, k);
}

/* Where this object is among those that are kept, from `at` on. */
static size_t find_disk(const struct iallocator_kept *k, size_t at,
			const json_t *disk)
{
	while (at < k->n_disks && k->disks[at] != disk)
		at++;
	return at;
}

static bool is_version_of(const struct iallocator_kept *k, size_t at,
			  const char *uuid)
{
	return at < k->n_disks &&
	       str_eq(disk_uuid_or(k->disks[at], NULL), uuid);
}

/* Take over or hold one disk; *at is the first that is kept of which nothing is
 * known yet.  What is passed over has been removed. */
static json_t *take_disk(struct iallocator_kept *k, const struct config *c,
			 size_t *at, const char *uuid, json_t *disk)
{
	size_t i;

	if (is_version_of(k, *at, uuid)) {
		json_decref(k->disks[(*at)++]);
		mark_stale(k, c, uuid);
		return json_incref(disk);
	}
	i = find_disk(k, *at, disk);
	if (i == k->n_disks) {
		mark_stale(k, c, uuid);
		return json_incref(disk);
	}
	k->all_stale = true;
	while (*at < i)
		json_decref(k->disks[(*at)++]);
	(*at)++;
	return disk;
}

static void refresh_disks(struct iallocator_kept *k, const struct config *c)
{
	json_t *all = json_unconst(config_all(c, CONFIG_DISK)), *disk;
	json_t **list = xcalloc(json_object_size(all), sizeof(json_t *));
	size_t n = 0, at = 0;
	const char *uuid;

	json_object_foreach (all, uuid, disk) {
		if (at < k->n_disks && k->disks[at] == disk)
			list[n++] = k->disks[at++];
		else
			list[n++] = take_disk(k, c, &at, uuid, disk);
	}
	k->all_stale |= at < k->n_disks;
	while (at < k->n_disks)
		json_decref(k->disks[at++]);
	free(k->disks);
	k->disks = list;
	k->n_disks = n;
}

static void drop_disks(struct iallocator_kept *k)
{
	for (size_t i = 0; i < k->n_disks; i++)
		json_decref(k->disks[i]);
	free(steal(&k->disks));
	k->n_disks = 0;
}

/* Whether the disks of the instance are still the same. */
static bool same_disks(const struct iallocator_kept *k, const struct config *c,
		       const struct kept_instance *inst, const char *uuid)
{
	if (!k->all_stale && table_get(&k->stale, uuid) == NULL)
		return true;
	return iallocator_cluster_same_disks(c, inst->object,
					     inst->placed.disks);
}

/* --- the instances of the configuration --- */

/* The instance as it is now, from what is kept where that is still right. */
static struct kept_instance *refresh_one(struct iallocator_kept *k,
					 const struct config *c,
					 struct kept_instance *old STEALS,
					 const json_t *object, const char *uuid,
					 struct error *err)
{
	struct kept_instance *new;

	if (old != NULL && old->object == object && same_disks(k, c, old, uuid))
		return old;
	if (old != NULL)
		forget_instance(k, &old->placed);
	instance_release(old);
	new = instance_read(c, object, err);
	if (new != NULL)
		forget_instance(k, &new->placed);
	return new;
}

static void take_instances(struct iallocator_kept *k,
			   struct kept_instance **list STEALS, size_t n)
{
	for (size_t i = 0; i < k->n_instances; i++)
		if (k->instances[i] != NULL)
			forget_instance(k, &k->instances[i]->placed);
	drop_instances(k);
	k->instances = list;
	k->n_instances = n;
}

static int refresh_instances(struct iallocator_kept *k, const struct config *c,
			     struct error *err)
{
	json_t *all = json_unconst(config_all(c, CONFIG_INSTANCE)), *object;
	struct kept_instance **list =
		xcalloc(json_object_size(all), sizeof(struct kept_instance *));
	size_t n = 0, at = 0;
	const char *uuid;

	refresh_disks(k, c);
	json_object_foreach (all, uuid, object) {
		list[n] = refresh_one(k, c, find_kept(k, &at, object, uuid),
				      object, uuid, err);
		if (list[n] == NULL)
			break;
		n++;
	}
	take_instances(k, list, n);
	table_done(&k->stale, NULL);
	k->all_stale = false;
	return n == json_object_size(all) ? 0 : -1;
}

/* --- all together --- */

static int refresh_groups(struct iallocator_kept *k, const struct config *c,
			  struct error *err)
{
	if (k->groups != NULL &&
	    is_same(k->groups->objects, config_all(c, CONFIG_GROUP)))
		return 0;
	drop_nodes(k);
	groups_release(steal(&k->groups));
	k->groups = groups_read(c, err);
	return k->groups == NULL ? -1 : 0;
}

static void refresh_cluster(struct iallocator_kept *k, const struct config *c)
{
	const json_t *now = config_cluster(c);

	if (now == k->cluster)
		return;
	if (!iallocator_cluster_same(k->cluster, now)) {
		drop_nodes(k);
		drop_instances(k);
		groups_release(steal(&k->groups));
	}
	json_decref(k->cluster);
	k->cluster = json_ref(now);
}

/* Nodes that have bookings now, or had some. */
static void refresh_bookings(struct iallocator_kept *k, const struct config *c)
{
	size_t n;
	const struct config_booking *b = config_bookings(c, &n);

	for (size_t i = 0; i < k->booked.n; i++)
		forget_node(k, k->booked.items[i]);
	strv_done(&k->booked);
	for (size_t i = 0; i < n; i++) {
		forget_node(k, b[i].node);
		strv_add_unique(&k->booked, b[i].node);
	}
}

static int refresh(struct iallocator_kept *k, const struct config *c,
		   struct error *err)
{
	refresh_cluster(k, c);
	if (refresh_groups(k, c, err) < 0 || refresh_nodes(k, c, err) < 0 ||
	    refresh_instances(k, c, err) < 0)
		return -1;
	refresh_bookings(k, c);
	return 0;
}

struct iallocator_kept *iallocator_kept_create(void)
{
	return xalloc(sizeof(struct iallocator_kept));
}

void iallocator_kept_free(struct iallocator_kept *k)
{
	if (k == NULL)
		return;
	drop_instances(k);
	drop_disks(k);
	drop_nodes(k);
	groups_release(k->groups);
	json_decref(k->cluster);
	strv_done(&k->booked);
	free(k);
}

/* --- the cluster of a moment --- */

static void read_recorded(struct kept_view *v, const struct config *c,
			  const json_t *node, size_t i)
{
	const char *uuid = node_uuid(node);

	resources_memory(c, uuid, v->hypervisor, &v->memory[i]);
	resources_disk_of(c, uuid, v->template, v->shared, &v->disk[i]);
	v->known[i] = true;
}

static void recorded(struct kept_view *v, const struct config *c,
		     const json_t *node, size_t i, struct iallocator_live *ret)
{
	if (!v->shared_known)
		v->shared = resources_shared(c, v->template);
	v->shared_known = true;
	if (!v->known[i])
		read_recorded(v, c, node, i);
	if (template_is_everywhere(v->template))
		v->disk[i].used = v->shared;
	iallocator_nodes_of_record(&v->memory[i], &v->disk[i], ret);
}

static struct build_live plain(const struct iallocator_live *live)
{
	return (struct build_live){
		.total_memory = (double)live->total_memory,
		.total_disk = (double)live->total_disk,
		.total_cpus = (double)live->total_cpus,
		.reserved_memory = live->reserved_memory,
		.reserved_cpus = live->reserved_cpus,
		.hypervisor_memory = live->hypervisor_memory,
		.free_memory = live->free_memory,
		.free_disk = live->free_disk,
		.total_spindles = live->total_spindles,
		.free_spindles = live->free_spindles,
		.booked = live->booked,
	};
}

static void add_node(const struct iallocator_nodes *nodes,
		     const struct kept_node *kept,
		     const struct iallocator_live *live,
		     struct iallocator_snapshot *ret)
{
	struct cluster *c = &ret->cluster;
	struct build_node node = kept->values;

	if (live != NULL)
		node.live = plain(live);
	node.offline |=
		iallocator_nodes_sign(nodes, kept->object) == IALLOCATOR_SILENT;
	node.tags = iallocator_cluster_strings(
		&c->arena, object_tags(kept->object), &node.n_tags);
	json_array_append(ret->held, kept->object);
	build_node(c, &node);
}

static void add_nodes(struct iallocator_kept *k, const struct config *c,
		      const struct iallocator_nodes *nodes,
		      struct iallocator_snapshot *ret)
{
	struct kept_view *v = view_of(k, iallocator_nodes_hypervisor(nodes),
				      iallocator_nodes_template(nodes));

	for (size_t i = 0; i < k->n_nodes; i++) {
		const json_t *object = k->nodes[i].object;
		struct iallocator_live live;

		switch (iallocator_nodes_sign(nodes, object)) {
		case IALLOCATOR_RECORDED:
			recorded(v, c, object, i, &live);
			iallocator_nodes_spindles(nodes, node_uuid(object),
						  &live);
			add_node(nodes, &k->nodes[i], &live, ret);
			break;
		case IALLOCATOR_TOLD:
			iallocator_nodes_told(nodes, object, &live);
			add_node(nodes, &k->nodes[i], &live, ret);
			break;
		default:
			add_node(nodes, &k->nodes[i], NULL, ret);
		}
	}
}

static int find_node(const struct iallocator_kept *k, const char *uuid,
		     const char *instance, int *ret, struct error *err)
{
	const int *index = table_get(&k->by_uuid, uuid);

	if (index == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown node '%s' for instance %s", uuid,
				 instance);
	*ret = *index;
	return 0;
}

static int find_nodes(const struct iallocator_kept *k,
		      struct kept_instance *inst, struct error *err)
{
	const struct iallocator_placed *p = &inst->placed;

	if (inst->order == k->order)
		return 0;
	inst->secondary = NO_INDEX;
	if (find_node(k, p->primary, p->inst.name, &inst->primary, err) < 0 ||
	    (p->secondaries.n > 0 &&
	     find_node(k, p->secondaries.items[0], p->inst.name,
		       &inst->secondary, err) < 0))
		return -1;
	inst->order = k->order;
	return 0;
}

static int add_instance(const struct iallocator_kept *k,
			struct kept_instance *kept,
			struct iallocator_snapshot *ret, struct error *err)
{
	struct instance inst = kept->placed.inst;

	if (find_nodes(k, kept, err) < 0)
		return -1;
	/* What only max-node-failures needs is told only where it is used. */
	if (!k->groups->promise_failures) {
		inst.spare_memory = 0;
		inst.stays = false;
	}
	kept->refs++;
	ret->instances[ret->n_instances++] = kept;
	build_existing(&ret->cluster, &inst, kept->primary, kept->secondary);
	return 0;
}

int iallocator_kept_build(struct iallocator_kept *k, const struct config *c,
			  const struct iallocator_nodes *nodes, size_t more,
			  struct iallocator_snapshot *ret, struct error *err)
{
	struct cluster *built = &ret->cluster;
	const char *hypervisor;

	*ret = (struct iallocator_snapshot){.held = json_array()};
	if (refresh(k, c, err) < 0)
		return -1;
	json_array_append(ret->held, k->cluster);
	ret->groups = k->groups;
	k->groups->refs++;
	build_start(built, k->groups->n, k->n_nodes, k->n_instances + more);
	for (size_t i = 0; i < k->groups->n; i++)
		build_group(built, &k->groups->groups[i]);
	add_nodes(k, c, nodes, ret);
	ret->instances = xcalloc(k->n_instances, sizeof(*ret->instances));
	for (size_t i = 0; i < k->n_instances; i++)
		if (add_instance(k, k->instances[i], ret, err) < 0)
			return -1;
	built->tags = iallocator_cluster_strings(
		&built->arena, cluster_tags(k->cluster), &built->n_tags);
	if (iallocator_cluster_hypervisor(k->cluster, &hypervisor, err) < 0)
		return -1;
	build_node_memory(built, hypervisor, KVM_NODE_MEMORY);
	return 0;
}

void iallocator_kept_release(struct iallocator_snapshot *s)
{
	for (size_t i = 0; i < s->n_instances; i++)
		instance_release(s->instances[i]);
	free(s->instances);
	groups_release(s->groups);
	json_decref(s->held);
	cluster_done(&s->cluster);
}
