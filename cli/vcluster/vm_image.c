/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks of virtual machines.  The image has Debian; a tar archive beside it,
 * read at the first start, has what this node is; a small file system that all
 * nodes read has our programs, so that a new build needs no new image. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/vm.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define PROGRAMS_SPARE_KIB 8192
/* Of these sizes, so that the disks of a state fit that was made with others.
 */
#define PROGRAMS_UNIT_KIB 65536
#define SEED_UNIT (1024 * 1024)

int vm_run(const char *const *argv, char **ret_output, struct error *err)
{
	auto_free char *output = NULL;
	int status = run_output(argv, NULL, &output, err);

	if (status < 0)
		return -1;
	if (status != 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "%s failed (status %d): %s", argv[0], status,
				 output);
	if (ret_output != NULL)
		*ret_output = steal(&output);
	return 0;
}

/* --- the image --- */

bool vm_wants_xen(const char *hypervisors)
{
	auto_strv struct strv names = {0};

	str_split(&names, hypervisors, ',');
	return strv_has(&names, "xen-pvm") || strv_has(&names, "xen-hvm");
}

static char *cache_folder(const struct vcluster_options *o)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (o->cache != NULL)
		return xstrdup(o->cache);
	if (!str_empty(cache))
		return xprintf("%s/gantry", cache);
	return xprintf("%s/.cache/gantry", str_empty(home) ? "/root" : home);
}

char *vm_image(const struct vcluster_options *o, struct error *err)
{
	auto_free char *builder = run_find("gantry-node-image");
	auto_free char *cache = cache_folder(o);
	auto_free char *programs = hosts_programs();
	auto_free char *output = NULL;
	auto_strv struct strv lines = {0};
	const char *const argv[] = {builder,
				    cache,
				    programs,
				    o->packages == NULL ? "" : o->packages,
				    vm_wants_xen(o->hypervisor) ? "xen" : NULL,
				    NULL};

	if (fs_mkdirs(cache, 0755, err) < 0 || vm_run(argv, &output, err) < 0)
		return NULL;
	/* The last line; those before it say what is done. */
	str_split(&lines, output, '\n');
	for (size_t i = lines.n; i-- > 0;)
		if (*lines.items[i] == '/')
			return realpath(lines.items[i], NULL);
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
		  "%s has named no image, but: %s", builder, output);
	return NULL;
}

/* --- our programs --- */

static bool is_ours(const char *name)
{
	static const char *const others[] = {"dumb",   "hail",	  "hbal",
					     "hcheck", "hinfo",	  "hroller",
					     "hspace", "hsqueeze"};

	if (str_starts(name, "gnt") || str_starts(name, "gantry-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i], name) == 0)
			return true;
	return false;
}

/* Copy a program into bin, where its other names are links to it. */
static int take_program(const char *from, const char *name, const char *bin,
			uint64_t *size, struct error *err)
{
	auto_free char *file = xprintf("%s/%s", from, name);
	auto_free char *real = realpath(file, NULL);
	const char *base = real == NULL ? "" : strrchr(real, '/') + 1;
	auto_free char *to = xprintf("%s/%s", bin, base);
	auto_free char *link = xprintf("%s/%s", bin, name);
	const char *const argv[] = {"cp", real, to, NULL};
	struct stat st;

	if (real == NULL)
		return 0; /* a link to nothing */
	if (!fs_exists(to)) {
		if (vm_run(argv, NULL, err) < 0)
			return -1;
		if (stat(to, &st) == 0)
			*size += (uint64_t)st.st_size;
	}
	if (strcmp(base, name) != 0 && symlink(base, link) < 0 &&
	    errno != EEXIST)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make the link %s: %s", link,
				 strerror(errno));
	return 0;
}

/* A package of ours, without those for debuggers. */
static bool is_package(const char *name)
{
	return str_starts(name, "gantry-") && str_ends(name, ".deb") &&
	       strstr(name, "-dbgsym_") == NULL;
}

/* Nodes that have packages install them at their first start. */
static int stage_programs(const struct vcluster_options *o, const char *stage,
			  uint64_t *size, struct error *err)
{
	bool debs = o->debs != NULL;
	auto_free char *from = debs ? xstrdup(o->debs) : hosts_programs();
	auto_free char *to = xprintf("%s/%s", stage, debs ? "debs" : "bin");
	auto_strv struct strv names = {0};
	size_t n = 0;

	if (fs_mkdirs(to, 0755, err) < 0 || fs_list(from, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		if (!(debs ? is_package : is_ours)(names.items[i]))
			continue;
		if (take_program(from, names.items[i], to, size, err) < 0)
			return -1;
		n++;
	}
	if (n > 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NOENT,
			 "There is nothing of Gantry in %s%s", from,
			 debs ? "; make deb makes packages" : "");
}

static int programs_disk(const struct vcluster *v,
			 const struct vcluster_options *o, struct error *err)
{
	auto_free char *stage = hosts_file(v, "programs");
	auto_free char *disk = hosts_file(v, "programs.img");
	auto_free char *blocks = NULL;
	uint64_t size = 0;

	if (stage_programs(o, stage, &size, err) < 0)
		return -1;
	size = size / 1024 * 5 / 4 + PROGRAMS_SPARE_KIB;
	blocks = xprintf("%juk", (uintmax_t)((size / PROGRAMS_UNIT_KIB + 1) *
					     PROGRAMS_UNIT_KIB));
	{
		const char *const argv[] = {MKE2FS, "-q", "-F",		  "-t",
					    "ext4", "-O", "^has_journal", "-d",
					    stage,  disk, blocks,	  NULL};

		if (vm_run(argv, NULL, err) < 0)
			return -1;
	}
	return fs_remove_tree(stage, err);
}

/* --- what a node is --- */

/* Its interfaces may have begun with the addresses of another machine. */
static char *network(const struct vcluster *v, const struct vcluster_node *node)
{
	size_t n = (size_t)(node - v->nodes) + 1;
	auto_free char *mac = vm_qemu_mac(n, 0), *mac2 = vm_qemu_mac(n, 1);
	struct buf text = {0};

	buf_addf(&text,
		 "link set lo up\n"
		 "link add br0 type bridge\n"
		 "link set eth0 address %s\n"
		 "link set eth0 master br0 up\n"
		 "address add %s/24 dev br0\n"
		 "link set br0 up\n",
		 mac, node->ip);
	if (node->ip2 != NULL)
		buf_addf(&text,
			 "link set eth1 address %s\n"
			 "address add %s/24 dev eth1\n"
			 "link set eth1 up\n",
			 mac2, node->ip2);
	/* For logins from outside, as QEMU's own network has it. */
	buf_addf(&text,
		 "address add 10.0.2.15/24 dev eth%d\n"
		 "link set eth%d up\n",
		 node->ip2 != NULL ? 2 : 1, node->ip2 != NULL ? 2 : 1);
	return buf_steal(&text);
}

/* The allocators are where our programs are in there; packages bring their own.
 */
static int link_allocators(const char *stage, bool debs, struct error *err)
{
	static const char *const names[] = {"hail", "dumb"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *file = xprintf(
			"%s/usr/lib/ganeti/iallocators/%s", stage, names[i]);
		auto_free char *target = xprintf(VM_PROGRAMS "/%s", names[i]);

		unlink(file);
		if (!debs && symlink(target, file) < 0)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "Cannot make the link %s: %s", file,
					 strerror(errno));
	}
	return 0;
}

/* Zeros behind the archive are its end. */
static int round_up(const char *file, struct error *err)
{
	struct stat st;

	if (stat(file, &st) == 0 &&
	    truncate(file, (st.st_size / SEED_UNIT + 1) * SEED_UNIT) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot write %s: %s",
			 file, strerror(errno));
}

static int seed_disk(const struct vcluster *v, const struct vcluster_node *node,
		     const struct vcluster_options *o, const char *home,
		     struct error *err)
{
	bool debs = o->debs != NULL;
	auto_free char *stage = xprintf("%s/stage", home);
	auto_free char *disk = vm_qemu_file(v, node, VM_SEED);
	auto_free char *batch = xprintf("%s/etc/gantry-network", stage);
	auto_free char *text = network(v, node);
	/* From it come the addresses of bridges that nodes make. */
	auto_free char *id =
		xprintf("%s%024zx\n", v->id, (size_t)(node - v->nodes) + 1);
	auto_free char *id_file = xprintf("%s/etc/machine-id", stage);
	const char *const argv[] = {"tar", "--owner=0", "--group=0",
				    "-cf", disk,	"-C",
				    stage, ".",		NULL};

	if (hosts_stage(v, node, o, debs ? NULL : VM_PROGRAMS, stage, err) <
		    0 ||
	    link_allocators(stage, debs, err) < 0 ||
	    fs_write_atomic(batch, text, strlen(text), 0644, err) < 0 ||
	    fs_write_atomic(id_file, id, strlen(id), 0444, err) < 0 ||
	    vm_run(argv, NULL, err) < 0 || round_up(disk, err) < 0)
		return -1;
	return fs_remove_tree(stage, err);
}

/* --- all disks --- */

static int root_disk(const char *image, const char *home, struct error *err)
{
	auto_free char *base = xprintf("%s/root.raw", image);
	auto_free char *disk = xprintf("%s/root.qcow2", home);
	const char *const argv[] = {"qemu-img", "create", "-q", "-f",
				    "qcow2",	"-b",	  base, "-F",
				    "raw",	disk,	  NULL};

	return vm_run(argv, NULL, err);
}

static int data_disks(const struct vcluster *v, const char *home,
		      struct error *err)
{
	for (size_t i = 0; i < json_array_size(v->disks); i++) {
		auto_free char *disk = xprintf("%s/data%zu.qcow2", home, i);
		auto_free char *size =
			xprintf("%jdM", (intmax_t)json_integer_value(
						json_array_get(v->disks, i)));
		const char *const argv[] = {"qemu-img", "create", "-q", "-f",
					    "qcow2",	disk,	  size, NULL};

		if (vm_run(argv, NULL, err) < 0)
			return -1;
	}
	return 0;
}

int vm_disks_empty(const struct vcluster *v, const struct vcluster_node *node,
		   struct error *err)
{
	auto_free char *home = hosts_folder(v, node);

	return root_disk(v->image, home, err) < 0 ? -1
						  : data_disks(v, home, err);
}

int vm_disks(const struct vcluster *v, const struct vcluster_options *o,
	     struct error *err)
{
	if (programs_disk(v, o, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++) {
		auto_free char *home = hosts_folder(v, &v->nodes[i]);

		if (seed_disk(v, &v->nodes[i], o, home, err) < 0 ||
		    vm_disks_empty(v, &v->nodes[i], err) < 0)
			return -1;
	}
	return vm_warm(v, o, err);
}
