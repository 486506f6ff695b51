/* SPDX-License-Identifier: BSD-2-Clause */
/* Clusters that other projects test with.
 *
 * simpsons is the one in the container of sipgate's, against which their
 * modules for Ansible and their web page are tested: the names, the user and
 * where it listens are what those tests have in them. */
#include <string.h>

#include "cli/remote/bootstrap.h"
#include "cli/vcluster/vcluster.h"
#include "cli/vcluster/vcluster_double.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

static const char *const simpsons[] = {"homer", "bart",	    "marge",
				       "lisa",	"burns",    "milhouse",
				       "moe",	"smithers", NULL};

static const char *const diskless[] = {"diskless", NULL};

static const struct vcluster_preset presets[] = {
	{.name = "simpsons",
	 .cluster = "cluster",
	 .node = "node",
	 .n_nodes = 5,
	 .base_ip = "127.0.0.0", /* so the first node is localhost */
	 .user = "gnt-cc:gnt-cc:write",
	 .templates = diskless,
	 .instances = simpsons},
};

const char *const vcluster_preset_names[] = {"simpsons", NULL};

const struct vcluster_preset *vcluster_preset_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < ARRAY_SIZE(presets); i++)
		if (strcmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

void vcluster_preset_shape(const struct vcluster_preset *preset,
			   struct cluster_init *init)
{
	if (preset == NULL)
		return;
	init->cluster_name = preset->cluster;
	init->disk_templates = preset->templates;
	init->shared_file_storage_dir = NULL;
}

static json_t *instance_job(const char *name)
{
	json_t *op = op_new(&op_class_instance_create);

	json_set_str(op, "instance_name", name);
	json_set_str(op, "mode", "create");
	json_set_str(op, "disk_template", "diskless");
	json_set_str(op, "os_type", "noop");
	json_object_set_new(op, "disks", json_array());
	json_object_set_new(op, "nics", json_array());
	json_set_bool(op, "no_install", true);
	json_set_bool(op, "start", false);
	json_set_bool(op, "ip_check", false);
	json_set_bool(op, "name_check", false);
	return json_make("[o]", op);
}

int vcluster_preset_fill(const struct vcluster_preset *preset,
			 const struct vcluster *v, struct error *err)
{
	json_t *jobs;

	if (preset == NULL)
		return 0;
	jobs = json_array();
	for (size_t i = 0; preset->instances[i] != NULL; i++)
		json_array_append_new(jobs, instance_job(preset->instances[i]));
	return vcluster_run_jobs(v, jobs, err);
}
