/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a configuration can be used, and which faults one has that can be
 * used.
 *
 * config_validate() refuses what the rest of the code could not work with:
 * another version, members of a wrong type, objects without distinct UUIDs and
 * names.  References that lead nowhere are no reason not to start;
 * config_verify() reports them. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_check.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config_private.h"

#define VERSION_3_0 3000000
#define VERSION_3_1 3010000

int config_check_version(const json_t *top, struct error *err)
{
	int64_t version = document_version(top);

	if (version == VERSION_3_0 || version == VERSION_3_1)
		return 0;
	return error_set(err, ERR_CONFIG_VERSION, NULL,
			 "its version is %jd, but only %d and %d can be read; "
			 "convert it with Ganeti's cfgupgrade first",
			 (intmax_t)version, VERSION_3_0, VERSION_3_1);
}

static int bad(struct error *err, const char *container, const char *uuid,
	       const char *what)
{
	return error_set(err, ERR_CONFIG, NULL, "%s: object '%s': %s",
			 container, uuid, what);
}

/* Members that the code reads without a check of the type; they may be
 * missing. */
static const struct member {
	enum config_kind kind;
	const char *name;
	json_type type;
	bool required;
} members[] = {
	{CONFIG_NODE, "primary_ip", JSON_STRING, true},
	{CONFIG_NODE, "group", JSON_STRING, true},
	{CONFIG_INSTANCE, "primary_node", JSON_STRING, false},
	{CONFIG_INSTANCE, "disks", JSON_ARRAY, true},
	{CONFIG_INSTANCE, "nics", JSON_ARRAY, true},
	{CONFIG_INSTANCE, "hypervisor", JSON_STRING, false},
	{CONFIG_DISK, "dev_type", JSON_STRING, true},
	{CONFIG_DISK, "logical_id", JSON_ARRAY, false},
};

static int check_members(enum config_kind kind, const char *uuid,
			 const json_t *object, struct error *err)
{
	const char *container = config_kinds[kind].container;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];
		const json_t *value = json_get(object, m->name);

		if (m->kind != kind || (value == NULL && !m->required))
			continue;
		if (value == NULL || json_typeof(value) != m->type)
			return error_set(err, ERR_CONFIG, NULL,
					 "%s: object '%s': '%s' is missing or "
					 "of a wrong type",
					 container, uuid, m->name);
	}
	return 0;
}

static int check_object(enum config_kind kind, const char *uuid,
			const json_t *object, struct table *names,
			struct error *err)
{
	const char *container = config_kinds[kind].container;
	const char *name = object_name_or(object, NULL);

	if (!json_is_object(object))
		return bad(err, container, uuid, "not an object");
	if (!str_eq(object_uuid_or(object, NULL), uuid))
		return bad(err, container, uuid,
			   "its own UUID is missing or another one");
	if (check_members(kind, uuid, object, err) < 0)
		return -1;
	if (!config_kinds[kind].named)
		return 0;
	if (name == NULL || *name == '\0')
		return bad(err, container, uuid, "it has no name");
	if (table_put(names, name, mem_unconst(object)) != NULL)
		return error_set(err, ERR_CONFIG, NULL,
				 "%s: the name '%s' is there twice", container,
				 name);
	return 0;
}

static int check_container(json_t *top, enum config_kind kind,
			   struct error *err)
{
	const char *container = config_kinds[kind].container;
	json_t *objects = json_object_get(top, container);
	struct table names = {0};
	const char *uuid;
	json_t *object;
	int rc = 0;

	if (objects == NULL || json_is_null(objects)) {
		json_object_set_new(top, container, json_object());
		return 0;
	}
	if (!json_is_object(objects))
		return error_set(err, ERR_CONFIG, NULL, "'%s' is not an object",
				 container);
	json_object_foreach (objects, uuid, object) {
		rc = check_object(kind, uuid, object, &names, err);
		if (rc < 0)
			break;
	}
	table_done(&names, NULL);
	return rc;
}

int config_validate(json_t *top, struct error *err)
{
	const json_t *cluster = document_cluster(top);

	if (!json_is_object(top))
		return error_set(err, ERR_CONFIG, NULL, "not an object");
	if (config_check_version(top, err) < 0)
		return -1;
	if (!json_is_object(cluster))
		return error_set(err, ERR_CONFIG, NULL,
				 "'cluster' is missing or not an object");
	for (int kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		if (check_container(top, (enum config_kind)kind, err) < 0)
			return -1;
	if (json_object_get(document_nodes(top),
			    cluster_master_node(cluster)) == NULL)
		return error_set(err, ERR_CONFIG, NULL,
				 "the master node '%s' is not among the nodes",
				 cluster_master_node(cluster));
	return 0;
}

/* --- config_verify --- */

static void verify_node(const struct config *c, const json_t *node,
			struct strv *ret)
{
	const char *name = node_name(node);
	const char *group = node_group(node);
	int roles = node_master_candidate(node) + node_offline(node) +
		    node_drained(node);

	if (config_get(c, CONFIG_GROUP, group) == NULL)
		strv_addf(ret, "node %s belongs to unknown group %s", name,
			  group);
	if (roles > 1)
		strv_addf(ret,
			  "node %s is more than one of candidate, drained and "
			  "offline",
			  name);
}

static void verify_instance(const struct config *c, const json_t *instance,
			    struct strv *ret)
{
	const char *name = inst_name(instance);
	const char *primary = inst_primary_node_or(instance, NULL);
	auto_strv struct strv others = {0};
	size_t i;
	json_t *disk;

	config_instance_secondaries(c, instance, &others);
	for (i = 0; i < others.n; i++)
		if (config_get(c, CONFIG_NODE, others.items[i]) == NULL)
			strv_addf(ret,
				  "instance %s has unknown secondary node %s",
				  name, others.items[i]);
	if (primary != NULL && config_get(c, CONFIG_NODE, primary) == NULL)
		strv_addf(ret, "instance %s has unknown primary node %s", name,
			  primary);
	json_array_foreach (inst_disks(instance), i, disk)
		if (config_get(c, CONFIG_DISK, json_string_value(disk)) == NULL)
			strv_addf(ret, "instance %s has unknown disk %s", name,
				  json_is_string(disk) ? json_string_value(disk)
						       : "(no UUID)");
}

/* At most so many faults of types are reported. */
#define FAULTS_MAX 20

static void verify_types(const struct config *c, struct strv *ret)
{
	auto_json json_t *document = config_document(c);
	auto_strv struct strv faults = {0};

	config_check_all(document, FAULTS_MAX, &faults);
	for (size_t i = 0; i < faults.n; i++)
		strv_addf(ret, "config.data %s", faults.items[i]);
}

void config_verify(const struct config *c, struct strv *ret_problems)
{
	const char *uuid;
	json_t *object;

	if (c->edited)
		strv_addf(ret_problems,
			  "config.data was changed by hand (or is an old copy) "
			  "under the serial number %jd, which was used before; "
			  "it is taken as it is, under the next number",
			  (intmax_t)config_serial(c));
	verify_types(c, ret_problems);
	json_object_foreach (c->objects[CONFIG_NODE], uuid, object)
		verify_node(c, object, ret_problems);
	json_object_foreach (c->objects[CONFIG_INSTANCE], uuid, object)
		verify_instance(c, object, ret_problems);
	json_object_foreach (c->objects[CONFIG_DISK], uuid, object)
		/* A detached one has lost its place. */
		if (config_disk_owner(c, uuid) == NULL &&
		    *disk_iv_name(object) != '\0')
			strv_addf(ret_problems,
				  "disk %s belongs to no instance", uuid);
	config_verify_conflicts(c, ret_problems);
	config_verify_twice(c, ret_problems);
	if (!node_master_candidate(config_master(c)))
		strv_addf(ret_problems,
			  "master node %s is not a master candidate",
			  node_name(config_master(c)));
}
