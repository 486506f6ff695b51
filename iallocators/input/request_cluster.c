/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups and nodes of a request. */
#include <limits.h>
#include <string.h>

#include "iallocators/input/field.h"
#include "iallocators/input/request.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

static char *what_of(struct cluster *c, const char *kind, const char *name)
{
	auto_free char *text = xprintf("invalid data for %s '%s'", kind, name);

	return arena_strndup(&c->arena, text, strlen(text));
}

static int not_an_object(struct error *err)
{
	return error_set(err, ERR_REQUEST, NULL, "not an object");
}

/* In a policy, errors name the path of members. */
static int in_member(const char *key, struct error *err)
{
	return error_wrap(err, "Can't parse value for '%s'", key);
}

/* A required member of a policy's object. */
static const struct jval *policy_get(const struct field *f, const char *key,
				     struct error *err)
{
	const struct jval *v = jtext_get(f->object, key);
	int64_t none;

	if (v == NULL)
		field_int(f, key, &none, err); /* says that it is missing */
	return v;
}

static int kind_error(const char *kind, struct error *err)
{
	return error_set(err, ERR_REQUEST, NULL, "Unable to read %s", kind);
}

static int read_ispec(struct arena *a, const struct jval *v, struct ispec *ret,
		      struct error *err)
{
	struct field f = {a, v, NULL};
	const struct {
		const char *key;
		int64_t *value;
	} members[] = {
		{"memory-size", &ret->memory},
		{"cpu-count", &ret->cpus},
		{"disk-size", &ret->disk},
		{"disk-count", &ret->disk_count},
		{"nic-count", &ret->nics},
		{"spindle-use", &ret->spindle_use},
	};

	if (v->kind != JT_OBJECT)
		return kind_error("JSObject", err);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct jval *m = policy_get(&f, members[i].key, err);

		if (m == NULL)
			return -1;
		if (m->kind != JT_NUMBER) {
			kind_error("Int", err);
			return in_member(members[i].key, err);
		}
		*members[i].value = m->i;
	}
	return 0;
}

static int read_spec_member(struct arena *a, const struct field *f,
			    const char *key, struct ispec *ret,
			    struct error *err)
{
	const struct jval *v = policy_get(f, key, err);

	if (v == NULL)
		return -1;
	return read_ispec(a, v, ret, err) < 0 ? in_member(key, err) : 0;
}

static int read_interval(struct arena *a, const struct jval *v,
			 struct interval *ret, struct error *err)
{
	struct field f = {a, v, NULL};

	if (v->kind != JT_OBJECT)
		return kind_error("JSObject", err);
	if (read_spec_member(a, &f, "min", &ret->min, err) < 0)
		return -1;
	return read_spec_member(a, &f, "max", &ret->max, err);
}

static int read_intervals(struct arena *a, const struct jval *v,
			  struct policy *ret, struct error *err)
{
	const struct jval *item;

	if (v->kind != JT_ARRAY)
		return kind_error("list", err);
	ret->intervals = arena_calloc(a, v->n, sizeof(*ret->intervals));
	jtext_each(item,
		   v) if (read_interval(a, item,
					&ret->intervals[ret->n_intervals++],
					err) < 0) return -1;
	return 0;
}

static int read_templates(struct arena *a, const struct jval *v,
			  struct policy *ret, struct error *err)
{
	struct field f = {a, v, NULL};
	const char *names[TEMPLATE_COUNT];
	const struct jval *item;

	if (v->kind != JT_ARRAY)
		return kind_error("list", err);
	for (int i = 0; i < TEMPLATE_COUNT; i++)
		names[i] = template_table[i].name;
	jtext_each(item, v)
	{
		int t;

		if (field_enum_value(&f, item, "DiskTemplate", names,
				     TEMPLATE_COUNT, &t, err) < 0)
			return -1;
		if (ret->n_templates < TEMPLATE_COUNT)
			ret->templates[ret->n_templates++] = (enum template)t;
	}
	return 0;
}

static int read_ratio(const struct field *f, const char *key, double *ret,
		      struct error *err)
{
	const struct jval *v = policy_get(f, key, err);

	if (v == NULL)
		return -1;
	if (v->kind != JT_NUMBER) {
		kind_error("Double", err);
		return in_member(key, err);
	}
	*ret = v->d;
	return 0;
}

int request_policy(struct arena *a, const struct jval *policy,
		   struct policy *ret, struct error *err)
{
	struct field f = {a, policy, NULL};
	const struct jval *m = policy_get(&f, "minmax", err);

	if (m == NULL)
		return -1;
	if (read_intervals(a, m, ret, err) < 0)
		return in_member("minmax", err);
	if (read_spec_member(a, &f, "std", &ret->std, err) < 0)
		return -1;
	m = policy_get(&f, "disk-templates", err);
	if (m == NULL)
		return -1;
	if (read_templates(a, m, ret, err) < 0)
		return in_member("disk-templates", err);
	if (read_ratio(&f, "vcpu-ratio", &ret->vcpu_ratio, err) < 0)
		return -1;
	return read_ratio(&f, "spindle-ratio", &ret->spindle_ratio, err);
}

/* What our master tells of the policy besides; others do not have it. */
static int read_extra(const struct field *group, struct policy *ret,
		      struct error *err)
{
	struct field f = {group->arena, NULL, group->what};
	int64_t failures = 0;

	if (!field_present(group, "ipolicy_extra"))
		return 0;
	if (field_object(group, "ipolicy_extra", &f.object, err) < 0)
		return -1;
	if (field_present(&f, "max-node-failures") &&
	    field_int(&f, "max-node-failures", &failures, err) < 0)
		return -1;
	if (failures < 0 || failures > INT_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "%s: max-node-failures is %jd, no number of "
				 "nodes",
				 f.what, (intmax_t)failures);
	ret->max_node_failures = (int)failures;
	return 0;
}

static int read_group(struct cluster *c, const struct jval *v,
		      struct group *ret, struct error *err)
{
	struct field f = {&c->arena, v, what_of(c, "group", v->key)};
	const struct jval *policy;
	int alloc_policy;

	if (v->kind != JT_OBJECT)
		return not_an_object(err);
	ret->uuid = v->key;
	if (field_string(&f, "name", &ret->name, err) < 0 ||
	    field_enum(&f, "alloc_policy", "AllocPolicy", alloc_policy_names,
		       ALLOC_POLICY_COUNT, &alloc_policy, err) < 0 ||
	    field_strings(&f, "networks", &ret->networks, &ret->n_networks,
			  err) < 0 ||
	    field_object(&f, "ipolicy", &policy, err) < 0)
		return -1;
	ret->alloc_policy = (enum alloc_policy)alloc_policy;
	if (request_policy(&c->arena, policy, &ret->policy, err) < 0)
		return error_wrap(err, "%s: key 'ipolicy'", f.what);
	if (read_extra(&f, &ret->policy, err) < 0)
		return -1;
	return field_strings(&f, "tags", &ret->tags, &ret->n_tags, err);
}

int request_groups(struct cluster *c, const struct jval *groups,
		   struct error *err)
{
	const struct jval *v;

	jtext_each(v, groups)
	{
		struct group group = {.name = NULL};

		if (read_group(c, v, &group, err) < 0)
			return -1;
		build_group(c, &group);
	}
	return 0;
}

static int find_group(const struct cluster *c, const char *uuid)
{
	for (int g = c->n_groups - 1; g >= 0; g--)
		if (strcmp(c->groups[g].uuid, uuid) == 0)
			return g;
	return NO_INDEX;
}

/* What only nodes tell that can be asked.  Our master says where its numbers
 * are those of the record. */
static int read_live(const struct field *f, struct build_node *node,
		     struct error *err)
{
	struct build_live *ret = &node->live;

	if (node->exclusive_storage &&
	    field_int(f, "total_spindles", &ret->total_spindles, err) < 0)
		return -1;
	if (field_int(f, "free_spindles", &ret->free_spindles, err) < 0 ||
	    field_double(f, "total_memory", &ret->total_memory, err) < 0 ||
	    field_int(f, "reserved_memory", &ret->reserved_memory, err) < 0 ||
	    field_int(f, "free_memory", &ret->free_memory, err) < 0 ||
	    field_double(f, "total_disk", &ret->total_disk, err) < 0 ||
	    field_int(f, "free_disk", &ret->free_disk, err) < 0 ||
	    field_double(f, "total_cpus", &ret->total_cpus, err) < 0)
		return -1;
	if (field_present(f, "hypervisor_memory") &&
	    field_int(f, "hypervisor_memory", &ret->hypervisor_memory, err) < 0)
		return -1;
	if (field_int(f, "reserved_cpus", &ret->reserved_cpus, err) < 0)
		return -1;
	return field_present(f, "booked")
		       ? field_bool(f, "booked", &ret->booked, err)
		       : 0;
}

static int read_ndparams(const struct field *node, struct build_node *ret,
			 struct error *err)
{
	const struct jval *v = jtext_get(node->object, "ndparams");
	struct field f = {node->arena, v, node->what};

	if (v == NULL)
		return field_object(node, "ndparams", &v, err);
	if (v->kind != JT_OBJECT)
		return not_an_object(err);
	if (field_bool(&f, "exclusive_storage", &ret->exclusive_storage, err) <
	    0)
		return -1;
	return ret->exclusive_storage ? 0
				      : field_int(&f, "spindle_count",
						  &ret->spindle_count, err);
}

static int read_flags(const struct field *f, struct build_node *ret,
		      struct error *err)
{
	ret->vm_capable = true;
	if (field_bool(f, "offline", &ret->offline, err) < 0 ||
	    field_bool(f, "drained", &ret->drained, err) < 0)
		return -1;
	return field_present(f, "vm_capable")
		       ? field_bool(f, "vm_capable", &ret->vm_capable, err)
		       : 0;
}

static int read_node(struct cluster *c, const struct jval *v,
		     struct build_node *ret, struct error *err)
{
	struct field f = {&c->arena, v, what_of(c, "node", v->key)};
	struct field bare = {&c->arena, v, NULL};
	const char *group;

	if (v->kind != JT_OBJECT)
		return not_an_object(err);
	ret->name = v->key;
	if (read_flags(&f, ret, err) < 0)
		return -1;
	if (field_present(&f, "tags") &&
	    field_strings(&bare, "tags", &ret->tags, &ret->n_tags, err) < 0)
		return -1;
	if (field_string(&f, "group", &group, err) < 0)
		return -1;
	ret->group = find_group(c, group);
	if (ret->group == NO_INDEX)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown group '%s' for node %s", group,
				 ret->name);
	if (read_ndparams(&f, ret, err) < 0)
		return -1;
	return ret->offline || !ret->vm_capable ? 0 : read_live(&f, ret, err);
}

int request_nodes(struct cluster *c, const struct jval *nodes,
		  struct error *err)
{
	const struct jval *v;

	jtext_each(v, nodes)
	{
		struct build_node node = {.name = NULL};

		if (read_node(c, v, &node, err) < 0)
			return -1;
		build_node(c, &node);
	}
	return 0;
}
