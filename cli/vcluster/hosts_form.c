/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster of hosts is made as an admin makes one: gnt-cluster init on the
 * first, then gnt-node add for each of the others, over SSH. */
#include <stdio.h>
#include <string.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static int init(struct vcluster *v, const struct vcluster_options *o,
		struct error *err)
{
	const struct vcluster_node *first = &v->nodes[0];
	const char *templates =
		o->templates != NULL ? o->templates : v->kind->templates;
	auto_strv struct strv argv = {0}, hypervisors = {0};

	str_split(&hypervisors, v->hypervisor, ',');
	strv_add(&argv, "gnt-cluster");
	strv_add(&argv, "init");
	strv_add(&argv, "--no-etc-hosts");
	strv_add(&argv, "--master-netdev=br0");
	strv_addf(&argv, "--enabled-hypervisors=%s", v->hypervisor);
	if (strv_has(&hypervisors, "kvm")) {
		strv_add(&argv, "-H");
		strv_addf(&argv,
			  "kvm:kvm_path=%s,kernel_path=,"
			  "serial_console=true",
			  vcluster_qemu());
	}
	strv_add(&argv, "-B");
	strv_add(&argv, "memory=128");
	strv_addf(&argv, "--enabled-disk-templates=%s", templates);
	strv_add(&argv, "--file-storage-dir=/srv/ganeti/file-storage");
	strv_add(&argv, "--shared-file-storage-dir=" HOSTS_SHARED_DIR);
	strv_add(&argv, "--nic-parameters=mode=bridged,link=br0");
	strv_add(&argv, "--default-iallocator=hail");
	if (first->ip2 != NULL)
		strv_addf(&argv, "--secondary-ip=%s", first->ip2);
	strv_add(&argv, HOSTS_CLUSTER);
	return hosts_do(v, first, (const char *const *)argv.items, err);
}

/* Smaller instances than options can say, which round up to 4 MiB. */
static int set_policy(struct vcluster *v, struct error *err)
{
	auto_json json_t *jobs =
		json_make("[{s:s, s:o}]", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			  "ipolicy", vcluster_policy());
	auto_free char *text = json_text(jobs);
	const char *const argv[] = {"/bin/sh",
				    "-ec",
				    "file=$(mktemp)\n"
				    "printf '%s' \"$1\" >\"$file\"\n"
				    "gnt-debug submit-job \"$file\"\n"
				    "rm \"$file\"\n",
				    "sh",
				    text,
				    NULL};

	return hosts_do(v, &v->nodes[0], argv, err);
}

static int add(struct vcluster *v, const struct vcluster_node *node,
	       struct error *err)
{
	auto_strv struct strv argv = {0};

	strv_add(&argv, "gnt-node");
	strv_add(&argv, "add");
	if (node->ip2 != NULL)
		strv_addf(&argv, "--secondary-ip=%s", node->ip2);
	strv_add(&argv, node->name);
	return hosts_do(v, &v->nodes[0], (const char *const *)argv.items, err);
}

/* Where the daemon has a user of its own, that reads the file of users. */
static int start_rapi(const struct vcluster *v, struct error *err)
{
	static const char *const argv[] = {
		"/bin/sh", "-ec",
		"! id gnt-rapi >/dev/null 2>&1 || "
		"chown -R gnt-rapi:gnt-masterd /var/lib/ganeti/rapi",
		NULL};

	for (size_t i = 0; i < v->n; i++)
		if (hosts_do(v, &v->nodes[i], argv, err) < 0)
			return -1;
	return hosts_daemon(v, &v->nodes[0], "start", "rapi", err);
}

int hosts_form(struct vcluster *v, const struct vcluster_options *o,
	       struct error *err)
{
	if (init(v, o, err) < 0 || set_policy(v, err) < 0)
		return -1;
	for (size_t i = 1; i < v->n; i++)
		if (add(v, &v->nodes[i], err) < 0)
			return -1;
	return v->rapi_port == 0 ? 0 : start_rapi(v, err);
}
