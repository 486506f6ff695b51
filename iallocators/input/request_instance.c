/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances of a request, those that exist and those to be. */
#include <string.h>

#include "iallocators/input/field.h"
#include "iallocators/input/request.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

static int not_an_object(struct error *err)
{
	return error_set(err, ERR_REQUEST, NULL, "not an object");
}

static int read_disk(struct cluster *c, const char *what, const struct jval *v,
		     struct disk_need *ret, struct error *err)
{
	struct field f = {&c->arena, v, what};

	ret->spindles = SPINDLES_UNKNOWN;
	if (field_int(&f, "size", &ret->size, err) < 0)
		return -1;
	if (field_present(&f, "spindles") &&
	    field_int(&f, "spindles", &ret->spindles, err) < 0)
		return -1;
	return 0;
}

/* Each element must be an object before any is looked at. */
static int check_objects(const struct jval *list, struct error *err)
{
	const struct jval *v;

	jtext_each(v, list) if (v->kind != JT_OBJECT) return not_an_object(err);
	return 0;
}

static int read_disks(struct cluster *c, const struct field *f,
		      struct build_instance *ret, struct error *err)
{
	const struct jval *list, *v;

	if (field_array(f, "disks", &list, err) < 0 ||
	    check_objects(list, err) < 0)
		return -1;
	ret->disks = arena_calloc(&c->arena, list->n, sizeof(*ret->disks));
	jtext_each(v, list) if (read_disk(c, f->what, v,
					  &ret->disks[ret->n_disks++],
					  err) < 0) return -1;
	return 0;
}

static int read_nic(struct cluster *c, const struct jval *v,
		    struct build_instance *inst, struct error *err)
{
	static const char *const keys[] = {"mac",  "ip",     "mode",
					   "link", "bridge", "network"};
	struct field f = {&c->arena, v, NULL};
	const char *values[ARRAY_SIZE(keys)] = {NULL};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!field_present(&f, keys[i]))
			continue;
		if (field_string(&f, keys[i], &values[i], err) < 0)
			return -1;
		if (i == 2 && !build_knows_nic_mode(values[i]))
			return error_set(err, ERR_REQUEST, NULL,
					 "invalid NIC mode in instance %s",
					 inst->name);
	}
	if (values[5] != NULL)
		inst->networks[inst->n_networks++] = values[5];
	return 0;
}

static int read_nics(struct cluster *c, const struct field *f,
		     struct build_instance *ret, struct error *err)
{
	const struct jval *list, *v;

	if (field_array(f, "nics", &list, err) < 0 ||
	    check_objects(list, err) < 0)
		return -1;
	ret->networks =
		arena_calloc(&c->arena, list->n, sizeof(*ret->networks));
	jtext_each(v, list) if (read_nic(c, v, ret, err) < 0) return -1;
	return 0;
}

/* What our master tells besides, for max-node-failures. */
static int read_extra(const struct field *inst, struct build_instance *ret,
		      struct error *err)
{
	struct field f = {inst->arena, NULL, inst->what};
	bool moves = true;

	ret->minmem = ret->memory;
	if (!field_present(inst, "beparams_extra"))
		return 0;
	if (field_object(inst, "beparams_extra", &f.object, err) < 0)
		return -1;
	if (field_present(&f, "minmem") &&
	    field_int(&f, "minmem", &ret->minmem, err) < 0)
		return -1;
	if (field_present(&f, "auto_balance") &&
	    field_bool(&f, "auto_balance", &moves, err) < 0)
		return -1;
	ret->stays = !moves;
	return 0;
}

static const char *text_of(const struct jval *object, const char *key)
{
	const struct jval *v = jtext_get(object, key);

	return v != NULL && v->kind == JT_STRING ? v->str : NULL;
}

static int read_template(const struct field *f, enum template *ret,
			 struct error *err)
{
	const char *names[TEMPLATE_COUNT];
	int t;

	for (int i = 0; i < TEMPLATE_COUNT; i++)
		names[i] = template_table[i].name;
	if (field_enum(f, "disk_template", "DiskTemplate", names,
		       TEMPLATE_COUNT, &t, err) < 0)
		return -1;
	*ret = (enum template)t;
	return 0;
}

int request_instance(struct cluster *c, const char *name,
		     const struct jval *object, struct instance *ret,
		     struct error *err)
{
	auto_free char *what = xprintf("invalid data for instance '%s'", name);
	struct field f = {&c->arena, object, what};
	const struct jval *forthcoming = jtext_get(object, "forthcoming");
	struct build_instance v = {
		.name = name,
		.admin_state = text_of(object, "admin_state"),
		.forthcoming = forthcoming != NULL &&
			       forthcoming->kind == JT_BOOL &&
			       forthcoming->flag,
	};

	if (field_int(&f, "disk_space_total", &v.disk_space, err) < 0 ||
	    read_disks(c, &f, &v, err) < 0 ||
	    field_int(&f, "memory", &v.memory, err) < 0 ||
	    field_int(&f, "vcpus", &v.vcpus, err) < 0 ||
	    field_strings(&f, "tags", &v.tags, &v.n_tags, err) < 0 ||
	    read_template(&f, &v.template, err) < 0 ||
	    field_int(&f, "spindle_use", &v.spindle_use, err) < 0 ||
	    read_extra(&f, &v, err) < 0 || read_nics(c, &f, &v, err) < 0)
		return -1;
	build_instance(&v, ret);
	return 0;
}

static int find_node(const struct table *names, const struct jval *v,
		     const char *instance, int *ret, struct error *err)
{
	const int *found;

	if (v->kind != JT_STRING)
		return error_set(err, ERR_REQUEST, NULL, "Wrong JSON type");
	found = table_get(names, v->str);
	if (found == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown node '%s' for instance %s", v->str,
				 instance);
	*ret = *found;
	return 0;
}

static int read_existing(struct cluster *c, const struct table *names,
			 const struct jval *v, struct error *err)
{
	struct field f = {&c->arena, v, NULL};
	const struct jval *nodes;
	struct instance inst;
	int primary = NO_INDEX, secondary = NO_INDEX;

	if (v->kind != JT_OBJECT)
		return not_an_object(err);
	if (request_instance(c, v->key, v, &inst, err) < 0 ||
	    field_list(&f, "nodes", &nodes, err) < 0)
		return -1;
	if (nodes->n == 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "empty node list for instance %s", v->key);
	if (find_node(names, nodes->first, v->key, &primary, err) < 0)
		return -1;
	if (nodes->n > 1 &&
	    find_node(names, nodes->first->next, v->key, &secondary, err) < 0)
		return -1;
	build_existing(c, &inst, primary, secondary);
	return 0;
}

int request_instances(struct cluster *c, const struct jval *instances,
		      struct error *err)
{
	struct table names = {0};
	int *indices =
		arena_calloc(&c->arena, (size_t)c->n_nodes, sizeof(*indices));
	const struct jval *v;
	int rc = 0;

	for (int i = 0; i < c->n_nodes; i++) {
		indices[i] = i;
		table_put(&names, c->nodes[i].name, &indices[i]);
	}
	jtext_each(v, instances)
	{
		rc = read_existing(c, &names, v, err);
		if (rc < 0)
			break;
	}
	table_done(&names, NULL);
	return rc;
}
