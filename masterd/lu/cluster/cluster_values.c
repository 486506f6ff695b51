/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_SET_PARAMS: the pool of user ids, the data collectors, and checks
 * of single values. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/cluster.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/uid_pool.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/cluster/cluster_params.h"
#include "masterd/lu/parts/volumes.h"

int cluster_values_set_uids(const struct op_cluster_set_params *op,
			    json_t *cluster, struct error *err)
{
	const json_t *pool =
		op->uid_pool != NULL ? op->uid_pool : cluster_uid_pool(cluster);
	auto_json json_t *changed =
		pool == NULL ? json_array() : json_deep_copy(pool);

	if (uid_pool_check(changed, err) < 0 ||
	    uid_pool_add(changed, op->add_uids, err) < 0 ||
	    uid_pool_remove(changed, op->remove_uids, err) < 0)
		return -1;
	cluster_set_uid_pool(cluster, json_ref(changed));
	return 0;
}

/* --- data collectors --- */

/* Set one member of each collector that is named. */
static int set_collectors(json_t *all, const char *member, const json_t *values,
			  struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(values), name, value) {
		json_t *collector = json_object_get(all, name);

		if (collector == NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "There is no data collector '%.100s'",
					 name);
		if (json_is_integer(value) && json_integer_value(value) <= 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "The interval of data collector '%s' "
					 "must be above zero",
					 name);
		json_object_set(collector, member, value);
	}
	return 0;
}

int cluster_values_set_collectors(const struct op_cluster_set_params *op,
				  json_t *cluster, struct error *err)
{
	auto_json json_t *all =
		json_deep_copy(cluster_data_collectors(cluster));

	if (set_collectors(all, "active", op->enabled_data_collectors, err) <
		    0 ||
	    set_collectors(all, "interval", op->data_collector_interval, err) <
		    0)
		return -1;
	if (all != NULL)
		cluster_set_data_collectors(cluster, json_ref(all));
	return 0;
}

/* --- single values --- */

static int check_image(const char *what, const char *image, struct error *err)
{
	if (image == NULL || *image == '/' || strstr(image, "://") != NULL)
		return 0;
	return error_set(err, ERR_PREREQ, NULL,
			 "%s image must be an absolute path or a URL", what);
}

int cluster_values_set_mac_prefix(const struct op_cluster_set_params *op,
				  json_t *cluster, struct error *err)
{
	auto_free char *lower = NULL;

	if (op->mac_prefix == NULL)
		return 0;
	lower = str_lower(op->mac_prefix);
	if (!str_valid_mac_prefix(lower))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid MAC address prefix '%s': it must "
				 "look like aa:00:00",
				 op->mac_prefix);
	cluster_set_mac_prefix(cluster, lower);
	return 0;
}

static int check_tools(const json_t *tools, struct error *err)
{
	for (size_t i = 0; i < json_array_size(tools); i++) {
		const char *tool = json_string_value(json_array_get(tools, i));

		for (const char *p = tool; p != NULL && *p != '\0'; p++)
			if (!isalnum((unsigned char)*p) && *p != '-' &&
			    *p != '_')
				return error_set(
					err, ERR_PREREQ, ECODE_INVAL,
					"The name of the compression tool '%s' "
					"may have letters, digits, - and _ "
					"only",
					tool);
	}
	return 0;
}

static int check_patterns(const json_t *patterns, struct error *err)
{
	for (size_t i = 0; i < json_array_size(patterns); i++) {
		const char *one =
			json_string_value(json_array_get(patterns, i));

		if (volumes_check_pattern(one ?: "", err) < 0)
			return -1;
	}
	return 0;
}

static int check_counts(const struct op_cluster_set_params *op,
			struct error *err)
{
	if (cluster_check_count("candidate_pool_size", op->candidate_pool_size,
				err) < 0 ||
	    cluster_check_count("max_running_jobs", op->max_running_jobs, err) <
		    0)
		return -1;
	return cluster_check_count("max_tracked_jobs", op->max_tracked_jobs,
				   err);
}

int cluster_values_check(const struct op_cluster_set_params *op,
			 const json_t *cluster, struct error *err)
{
	int bits = cluster_primary_ip_family(cluster) == AF_INET6 ? 128 : 32;

	if (op->master_netmask != OP_UNSET &&
	    (op->master_netmask < 1 || op->master_netmask > bits))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "CIDR netmask (%jd) not valid",
				 (intmax_t)op->master_netmask);
	if (str_eq(op->master_netdev, ""))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "master_netdev cannot be empty: the master's "
				 "address is turned up on that device");
	if (op->install_image != NULL && *op->install_image != '\0' &&
	    check_image("Install", op->install_image, err) < 0)
		return -1;
	if (check_image("Zeroing", op->zeroing_image, err) < 0)
		return -1;
	return check_counts(op, err) < 0 ||
			       check_patterns(op->reserved_lvs, err) < 0
		       ? -1
		       : check_tools(op->compression_tools, err);
}

/* An enabled template whose disks lie in the folder that this member of the
 * cluster names; NULL: none. */
static const char *enabled_on(const json_t *cluster, const char *key)
{
	const json_t *enabled = cluster_enabled_disk_templates(cluster);

	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *name =
			json_string_value(json_array_get(enabled, i));

		if (str_eq(template_storage(template_get(name))->place, key))
			return name;
	}
	return NULL;
}

int cluster_values_check_folders(const struct op_cluster_set_params *op,
				 const json_t *cluster, struct error *err)
{
	const struct {
		const char *key;
		op_string given;
	} rows[] = {
		{"file_storage_dir", op->file_storage_dir},
		{"shared_file_storage_dir", op->shared_file_storage_dir},
		{"gluster_storage_dir", op->gluster_storage_dir},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *folder = json_str(cluster, rows[i].key, "");
		const char *template = enabled_on(cluster, rows[i].key);

		if (rows[i].given == NULL && op->enabled_disk_templates == NULL)
			continue;
		if (*folder == '\0' && template != NULL)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "The template '%s' is enabled: %s "
					 "cannot be empty",
					 template, rows[i].key);
		if (*folder != '\0' && *folder != '/')
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "%s '%s' is no absolute path",
					 rows[i].key, folder);
	}
	return 0;
}
