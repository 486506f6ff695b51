/* SPDX-License-Identifier: BSD-2-Clause */
/* Cluster and question are read apart, since the question may be about another
 * cluster.  Names in the question become indices of that cluster.
 * request_ask() also makes sure that there is space for the new ones. */
#include "iallocators/input/request.h"

#include <string.h>

#include "iallocators/input/field.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/model/kinds/hypervisor.h"

static const char in_message[] = "invalid iallocator message";
static const char in_request[] = "invalid request dict";

static int wrong_name(const char *name, struct error *err)
{
	return error_set(err, ERR_REQUEST, NULL,
			 "Wrong number of elems found with name %s", name);
}

/* Whether the name is that of an object, in full or without the suffix that
 * all names of the cluster have in common. */
static bool names_it(const struct cluster *c, const char *full,
		     const char *name)
{
	size_t len = strlen(full);

	if (strcmp(full, name) == 0)
		return true;
	return len > c->suffix_len && strlen(name) == len - c->suffix_len &&
	       memcmp(full, name, len - c->suffix_len) == 0;
}

static int find_instance(const struct cluster *c, const char *name,
			 struct error *err)
{
	int found = NO_INDEX;

	for (int i = 0; i < c->n_instances; i++)
		if (names_it(c, c->instances[i].name, name)) {
			if (found != NO_INDEX)
				return wrong_name(name, err);
			found = i;
		}
	return found == NO_INDEX ? wrong_name(name, err) : found;
}

static int find_node(const struct cluster *c, const char *name,
		     struct error *err)
{
	int found = NO_INDEX;

	for (int i = 0; i < c->n_nodes; i++)
		if (names_it(c, c->nodes[i].name, name)) {
			if (found != NO_INDEX)
				return wrong_name(name, err);
			found = i;
		}
	return found == NO_INDEX ? wrong_name(name, err) : found;
}

static int find_group(const struct cluster *c, const char *name,
		      struct error *err)
{
	int found = NO_INDEX;

	for (int i = 0; i < c->n_groups; i++)
		if (strcmp(c->groups[i].name, name) == 0 ||
		    strcmp(c->groups[i].uuid, name) == 0) {
			if (found != NO_INDEX)
				return wrong_name(name, err);
			found = i;
		}
	return found == NO_INDEX ? wrong_name(name, err) : found;
}

/* The indices of the names in a member. */
static int read_names(struct cluster *c, const struct field *f, const char *key,
		      int (*find)(const struct cluster *, const char *,
				  struct error *),
		      int **ret, int *ret_n, struct error *err)
{
	const char **names;
	size_t n;
	int *list;

	if (field_strings(f, key, &names, &n, err) < 0)
		return -1;
	list = arena_calloc(&c->arena, n, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		list[i] = find(c, names[i], err);
		if (list[i] < 0)
			return -1;
	}
	*ret = list;
	*ret_n = (int)n;
	return 0;
}

/* The instance that the member "name" names in full. */
static int read_instance_name(struct cluster *c, const struct field *f,
			      struct request *ret, struct error *err)
{
	const char *name;

	if (field_string(f, "name", &name, err) < 0)
		return -1;
	ret->instances = arena_calloc(&c->arena, 1, sizeof(*ret->instances));
	for (int i = c->n_instances - 1; i >= 0; i--)
		if (strcmp(c->instances[i].name, name) == 0) {
			ret->instances[ret->n_instances++] = i;
			return 0;
		}
	return error_set(err, ERR_REQUEST, NULL, "Unknown instance '%s'", name);
}

static int read_restriction(struct cluster *c, const struct jval *object,
			    struct restriction *ret, struct error *err)
{
	struct field f = {&c->arena, object, NULL};

	ret->given = field_present(&f, "restrict-to-nodes");
	if (!ret->given)
		return 0;
	return field_strings(&f, "restrict-to-nodes", &ret->names, &ret->n,
			     err);
}

/* Group and nodes that are asked for stand in the request, or with each
 * instance. */
static int read_new(struct cluster *c, const struct jval *request,
		    const struct jval *object, const struct load_options *o,
		    struct request *ret, struct error *err)
{
	struct field f = {&c->arena, object, in_request};
	struct field group = {&c->arena, request, NULL};
	struct new_instance *new = &ret->news[ret->n_news++];
	const struct jval *own;
	const char *name;

	if (field_string(&f, "name", &name, err) < 0)
		return -1;
	if (field_present(&group, "group_name") &&
	    field_string(&group, "group_name", &ret->group_name, err) < 0)
		return -1;
	own = jtext_get(object, "group_name");
	if (object != request && own != NULL && own->kind == JT_STRING)
		new->group_name = own->str;
	if (field_int(&f, "required_nodes", &new->required_nodes, err) < 0 ||
	    request_instance(c, name, object, &new->inst, err) < 0 ||
	    (object != request &&
	     read_restriction(c, object, &new->restriction, err) < 0) ||
	    (field_present(&f, "ignore_ipolicy") &&
	     field_bool(&f, "ignore_ipolicy", &new->inst.ignores_policy, err) <
		     0))
		return -1;
	cluster_finish_instance(c, &new->inst, o);
	return 0;
}

static int read_allocate(struct cluster *c, const struct jval *request,
			 const struct load_options *o, struct request *ret,
			 struct error *err)
{
	ret->news = arena_calloc(&c->arena, 1, sizeof(*ret->news));
	if (read_new(c, request, request, o, ret, err) < 0)
		return -1;
	return read_restriction(c, request, &ret->restriction, err);
}

static int read_multi(struct cluster *c, const struct jval *request,
		      const struct load_options *o, struct request *ret,
		      struct error *err)
{
	struct field f = {&c->arena, request, in_request};
	const struct jval *list, *v;

	if (field_list(&f, "instances", &list, err) < 0)
		return -1;
	if (field_present(&f, "skip_failed") &&
	    field_bool(&f, "skip_failed", &ret->skip_failed, err) < 0)
		return -1;
	jtext_each(v, list) if (v->kind != JT_OBJECT) return error_set(
		err, ERR_REQUEST, NULL,
		"%s: key 'instances': Unable to read "
		"JSObject",
		in_request);
	ret->news = arena_calloc(&c->arena, list->n, sizeof(*ret->news));
	jtext_each(v, list) if (read_new(c, request, v, o, ret, err) <
				0) return -1;
	return 0;
}

static int read_relocate(struct cluster *c, const struct field *f,
			 struct request *ret, struct error *err)
{
	if (read_instance_name(c, f, ret, err) < 0 ||
	    field_int(f, "required_nodes", &ret->required_nodes, err) < 0)
		return -1;
	return read_names(c, f, "relocate_from", find_node, &ret->nodes,
			  &ret->n_nodes, err);
}

static int read_change_group(struct cluster *c, const struct field *f,
			     struct request *ret, struct error *err)
{
	if (read_names(c, f, "instances", find_instance, &ret->instances,
		       &ret->n_instances, err) < 0)
		return -1;
	return read_names(c, f, "target_groups", find_group, &ret->groups,
			  &ret->n_groups, err);
}

static int read_evacuate(struct cluster *c, const struct field *f,
			 struct request *ret, struct error *err)
{
	static const char *const modes[] = {
		[EVAC_PRIMARY] = "primary-only",
		[EVAC_SECONDARY] = "secondary-only",
		[EVAC_ALL] = "all",
	};
	int mode;

	if (read_names(c, f, "instances", find_instance, &ret->instances,
		       &ret->n_instances, err) < 0 ||
	    field_enum(f, "evac_mode", "EvacMode", modes, 3, &mode, err) < 0)
		return -1;
	ret->mode = (enum evac_mode)mode;
	return 0;
}

static int read_question(struct cluster *c, const struct jval *request,
			 const struct load_options *o, struct request *ret,
			 struct error *err)
{
	static const char *const types[REQUEST_TYPES] = {
		[REQUEST_ALLOCATE] = "allocate",
		[REQUEST_MULTI] = "multi-allocate",
		[REQUEST_RELOCATE] = "relocate",
		[REQUEST_CHANGE_GROUP] = "change-group",
		[REQUEST_EVACUATE] = "node-evacuate",
		[REQUEST_SECONDARY] = "allocate-secondary",
	};
	struct field f = {&c->arena, request, in_request};
	const char *type;
	int i = 0;

	if (field_string(&f, "type", &type, err) < 0)
		return -1;
	while (i < REQUEST_TYPES && strcmp(types[i], type) != 0)
		i++;
	ret->type = (enum request_type)i;
	switch (ret->type) {
	case REQUEST_ALLOCATE:
		return read_allocate(c, request, o, ret, err);
	case REQUEST_MULTI:
		return read_multi(c, request, o, ret, err);
	case REQUEST_RELOCATE:
		return read_relocate(c, &f, ret, err);
	case REQUEST_CHANGE_GROUP:
		return read_change_group(c, &f, ret, err);
	case REQUEST_EVACUATE:
		return read_evacuate(c, &f, ret, err);
	case REQUEST_SECONDARY:
		return read_instance_name(c, &f, ret, err);
	default:
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid request type '%s'", type);
	}
}

/* The first enabled hypervisor; NULL: there is none. */
static int read_hypervisors(struct cluster *c, const struct jval *top,
			    const char **ret_first, struct error *err)
{
	struct field f = {&c->arena, top, in_message};
	const struct jval *list, *v;
	int which;

	*ret_first = NULL;
	if (field_list(&f, "enabled_hypervisors", &list, err) < 0)
		return -1;
	jtext_each(v, list)
	{
		if (field_enum_value(&f, v, "Hypervisor", hypervisor_names,
				     HYPERVISOR_COUNT, &which, err) < 0)
			return error_wrap(err, "%s: key 'enabled_hypervisors'",
					  in_message);
		if (v == list->first)
			*ret_first = hypervisor_names[which];
	}
	return 0;
}

/* How many members or items it has; 0 where it is none of both. */
static size_t members(const struct jval *object, const char *key)
{
	const struct jval *v = jtext_get(object, key);

	return v != NULL && (v->kind == JT_OBJECT || v->kind == JT_ARRAY) ? v->n
									  : 0;
}

size_t request_new_instances(const struct jval *question)
{
	size_t n = members(question, "instances");

	return 1 + (n > 0 ? n : 1);
}

int request_load(struct cluster *c, const struct jval *top,
		 int64_t static_kvm_node_memory, struct error *err)
{
	struct field f = {&c->arena, top, in_message};
	const struct jval *request, *groups, *nodes, *instances;
	const char **tags, *hypervisor;

	if (top->kind != JT_OBJECT)
		return error_set(err, ERR_REQUEST, NULL,
				 "Parsing input IAllocator message: Unable to "
				 "read JSObject");
	build_start(c, members(top, "nodegroups"), members(top, "nodes"),
		    members(top, "instances") +
			    request_new_instances(jtext_get(top, "request")));
	if (field_object(&f, "request", &request, err) < 0 ||
	    field_object(&f, "nodegroups", &groups, err) < 0 ||
	    request_groups(c, groups, err) < 0 ||
	    field_object(&f, "nodes", &nodes, err) < 0 ||
	    request_nodes(c, nodes, err) < 0 ||
	    field_object(&f, "instances", &instances, err) < 0 ||
	    request_instances(c, instances, err) < 0 ||
	    field_strings(&f, "cluster_tags", &tags, &c->n_tags, err) < 0 ||
	    read_hypervisors(c, top, &hypervisor, err) < 0)
		return -1;
	c->tags = tags;
	build_node_memory(c, hypervisor, static_kvm_node_memory);
	return 0;
}

/* Space for the new instances, where the cluster has been read from elsewhere.
 */
static void reserve_instances(struct cluster *c, size_t more)
{
	size_t n = (size_t)c->n_instances + more;
	struct instance *bigger;

	if ((size_t)c->cap_instances >= n)
		return;
	bigger = arena_calloc(&c->arena, n, sizeof(*bigger));
	for (int i = 0; i < c->n_instances; i++)
		bigger[i] = c->instances[i];
	c->instances = bigger;
	c->cap_instances = (int)n;
}

int request_ask(struct cluster *c, const struct jval *question,
		const struct load_options *o, struct request *ret,
		struct error *err)
{
	reserve_instances(c, request_new_instances(question));
	return read_question(c, question, o, ret, err);
}
