/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of new disks.  The names on their nodes depend on the template: a
 * file, a logical volume, an image, a device that exists already, or a mirror
 * of two volumes on each of two nodes. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"

#define DRBD_SECRET_BYTES 20

/* A name that does not exist yet; to be freed. */
static char *fresh_name(const char *ending, size_t i)
{
	char uuid[37];

	uuid_new(uuid);
	return xprintf("%s%s.disk%zu", uuid, ending, i);
}

/* --- logical ids: [driver or volume group, name] --- */

/* The volume group that was asked for, or the cluster's. */
static const char *data_group(struct lu *lu, const json_t *wanted)
{
	const json_t *cluster = config_cluster(lu->m->config);

	return json_str(wanted, "vg", cluster_volume_group_name(cluster));
}

static json_t *id_of_file(struct lu *lu, const struct new_disk *new,
			  const json_t *wanted, size_t i)
{
	auto_free char *ending = xprintf(".%s", new->template);
	auto_free char *name = fresh_name(ending, i);

	(void)lu;
	(void)wanted;
	return json_make("[s, o]", new->driver == NULL ? "loop" : new->driver,
			 json_sprintf("%s/%s", new->folder, name));
}

/* The lowest number that no disk has.  It is not the disk's index: when a disk
 * is removed or put in front, the others keep their numbers, and a disk that
 * was detached has one as well. */
static json_t *id_of_instance(struct lu *lu, const struct new_disk *new,
			      const json_t *wanted, size_t i)
{
	const char *driver = new->driver == NULL ? "loop" : new->driver;

	(void)wanted;
	(void)i;
	for (size_t number = 0;; number++) {
		auto_free char *path =
			xprintf("ganeti/%s.%zu", new->instance, number);

		if (reserve_path(lu->m->reserve, lu->job_id, path))
			return json_make("[s, s]", driver, path);
	}
}

static json_t *id_of_volume(struct lu *lu, const struct new_disk *new,
			    const json_t *wanted, size_t i)
{
	auto_free char *name = fresh_name("", i);

	(void)new;
	return json_make("[s, s]", data_group(lu, wanted), name);
}

static json_t *id_of_device(struct lu *lu, const struct new_disk *new,
			    const json_t *wanted, size_t i)
{
	(void)lu;
	(void)new;
	(void)i;
	return json_make("[s, s]", "manual", json_str(wanted, "adopt", ""));
}

static json_t *id_of_image(struct lu *lu, const struct new_disk *new,
			   const json_t *wanted, size_t i)
{
	auto_free char *ending = xprintf(".%s", new->template);
	auto_free char *name = fresh_name(ending, i);

	(void)lu;
	(void)wanted;
	return json_make("[s, s]", new->template, name);
}

static json_t *id_by_provider(struct lu *lu, const struct new_disk *new,
			      const json_t *wanted, size_t i)
{
	auto_free char *ending = xprintf(".%s", new->template);
	auto_free char *name = fresh_name(ending, i);

	(void)lu;
	return json_make("[s, s]", json_str(wanted, "provider", ""), name);
}

static json_t *(*const ids[NAMED_COUNT])(struct lu *lu,
					 const struct new_disk *new,
					 const json_t *wanted, size_t i) = {
	[NAMED_AS_FILE] = id_of_file,
	[NAMED_AS_INSTANCE] = id_of_instance,
	[NAMED_AS_VOLUME] = id_of_volume,
	[NAMED_AS_IMAGE] = id_of_image,
	[NAMED_BY_PROVIDER] = id_by_provider,
	[NAMED_BY_USER] = id_of_device,
};

/* --- mirrors --- */

static json_t *volume(const struct new_disk *new, const char *group,
		      const char *name, int64_t mib)
{
	char uuid[37];

	uuid_new(uuid);
	return json_make("{s:s, s:[s, s], s:[], s:[s, s], s:I, s:{}, s:s, s:s, "
			 "s:s}",
			 "dev_type", template_get(new->template)->below,
			 "logical_id", group, name, "children", "nodes",
			 new->primary, new->secondary, "size", (json_int_t)mib,
			 "params", "mode", "rw", "iv_name", "", "uuid", uuid);
}

/* The volume group for metadata: the one that was asked for, or the one in the
 * parameters of the primary's node group. */
static char *meta_group(struct lu *lu, const struct new_disk *new,
			const json_t *wanted)
{
	struct config *c = lu->m->config;
	const json_t *node = config_get(c, CONFIG_NODE, new->primary);
	const json_t *group = config_get(c, CONFIG_GROUP, node_group(node));
	auto_json json_t *params =
		params_fill_disk(config_cluster(c), group, new->template);

	return xstrdup(
		json_str(wanted, "metavg", json_str(params, "metavg", "")));
}

/* [data, metadata] */
static json_t *volumes(struct lu *lu, const struct new_disk *new,
		       const json_t *wanted, size_t i)
{
	auto_free char *data = NULL, *meta = NULL;
	auto_free char *group = meta_group(lu, new, wanted);
	char uuid[37];

	uuid_new(uuid);
	data = xprintf("%s.disk%zu_data", uuid, i);
	meta = xprintf("%s.disk%zu_meta", uuid, i);
	return json_make("[o, o]",
			 volume(new, data_group(lu, wanted), data,
				json_int(wanted, "size", 0)),
			 volume(new, group, meta,
				template_get(new->template)->overhead_mib));
}

static char *new_secret(void)
{
	char text[2 * DRBD_SECRET_BYTES + 1];

	random_hex(text, DRBD_SECRET_BYTES);
	return xstrdup(text);
}

static int make_mirror(struct lu *lu, const struct new_disk *new,
		       const json_t *wanted, size_t i, json_t *disk,
		       struct error *err)
{
	struct reserve *r = lu->m->reserve;
	int port = reserve_port(r, lu->job_id, err);
	auto_free char *secret = new_secret();
	int64_t minor_a, minor_b;

	if (port == 0)
		return error_as(err, ERR_PREREQ, ECODE_NORES);
	minor_a = reserve_minor(r, lu->job_id, new->primary);
	minor_b = reserve_minor(r, lu->job_id, new->secondary);
	disk_set_logical_id(disk,
			    json_make("[s, s, i, I, I, s]", new->primary,
				      new->secondary, port, (json_int_t)minor_a,
				      (json_int_t)minor_b, secret));
	disk_set_children(disk, volumes(lu, new, wanted, i));
	disk_set_nodes(disk, json_make("[s, s]", new->primary, new->secondary));
	return 0;
}

/* --- all --- */

static void make_simple(struct lu *lu, const struct new_disk *new,
			const json_t *wanted, size_t i, json_t *disk)
{
	const struct template_info *t = template_get(new->template);

	assert(ids[t->named] != NULL);
	disk_set_logical_id(disk, ids[t->named](lu, new, wanted, i));
	disk_set_nodes(disk, t->mirror == MIRROR_NONE
				     ? json_make("[s]", new->primary)
				     : json_array());
}

/* Those of ours that are in force.  What is adopted is what it is. */
static json_t *kept_params(struct lu *lu, const struct new_disk *new,
			   const json_t *wanted)
{
	struct config *c = lu->m->config;
	const json_t *node = config_get(c, CONFIG_NODE, new->primary);

	if (json_get(wanted, "adopt") != NULL)
		return json_object();
	return params_of_new_disk(config_cluster(c),
				  config_get(c, CONFIG_GROUP, node_group(node)),
				  new->template);
}

/* Parameters that a disk has itself: the way of access, and for external
 * storage any that its provider knows. */
static json_t *own_params(struct lu *lu, const struct new_disk *new,
			  const json_t *wanted)
{
	static const char *const common[] = {"size",   "mode",	"name",	   "vg",
					     "metavg", "adopt", "spindles"};
	auto_json json_t *kept = kept_params(lu, new, wanted);
	json_t *params = json_overlay(kept, wanted);

	for (size_t k = 0; k < ARRAY_SIZE(common); k++)
		json_object_del(params, common[k]);
	if (!template_get(new->template)->provider)
		json_object_del(params, "provider");
	return params;
}

static void keep(const json_t *wanted, const char *key, json_t *disk)
{
	if (json_get(wanted, key) != NULL)
		json_object_set(disk, key, json_object_get(wanted, key));
}

int disks_check_spindles(const json_t *wanted, bool exclusive, bool required,
			 struct error *err)
{
	bool given = json_get(wanted, "spindles") != NULL;

	if (given && !exclusive)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Spindles in instance disks cannot be "
				 "specified when exclusive storage is not "
				 "active");
	if (!given && exclusive && required)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "You must specify spindles in instance disks "
				 "when exclusive storage is active");
	return 0;
}

bool disks_exclusive(struct lu *lu, const json_t *inst)
{
	const struct config *c = lu->m->config;
	auto_strv struct strv nodes = {0};

	config_instance_secondaries(c, inst, &nodes);
	strv_add(&nodes, inst_primary_node(inst));
	for (size_t i = 0; i < nodes.n; i++)
		if (resources_exclusive(
			    c, config_get(c, CONFIG_NODE, nodes.items[i])))
			return true;
	return false;
}

/* Others than QEMU would take the image itself for the guest's data. */
static int check_format(const struct new_disk *new, const json_t *params,
			struct error *err)
{
	const char *format = json_str(params, "format", "raw");

	if (strcmp(format, "raw") == 0 ||
	    hypervisor_get(new->hypervisor)->formats)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The hypervisor %s cannot open disks of the format "
			 "%s; ask for format=raw",
			 new->hypervisor, format);
}

json_t *disks_new(struct lu *lu, const struct new_disk *new,
		  const json_t *wanted, size_t i, struct error *err)
{
	auto_free char *iv_name = xprintf("disk/%zu", i);
	auto_json json_t *disk = NULL;
	char uuid[37];

	uuid_new(uuid);
	disk = json_make("{s:[], s:s, s:[], s:[], s:s, s:I, s:s, s:s}",
			 "logical_id", "dev_type", new->template, "children",
			 "nodes", "iv_name", iv_name, "size",
			 (json_int_t)json_int(wanted, "size", 0), "mode",
			 json_str(wanted, "mode", "rw"), "uuid", uuid);
	keep(wanted, "name", disk);
	keep(wanted, "spindles", disk);
	disk_set_params(disk, own_params(lu, new, wanted));
	if (check_format(new, disk_params(disk), err) < 0)
		return NULL;
	if (new->secondary == NULL)
		make_simple(lu, new, wanted, i, disk);
	else if (make_mirror(lu, new, wanted, i, disk, err) < 0)
		return NULL;
	return steal(&disk);
}
