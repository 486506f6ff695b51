/* SPDX-License-Identifier: BSD-2-Clause */
/* Which nodes a virtual cluster has, and where: planned, saved, loaded. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/fs.h"
#include "lib/base/random.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

#define STATE_MAX (1024 * 1024)
#define BLOCK_TRIES 200

/* sun_path with its NUL is 108 bytes. */
#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* --- addresses --- */

static void ip_text(uint32_t ip, char ret[INET_ADDRSTRLEN])
{
	struct in_addr address = {.s_addr = htonl(ip)};

	inet_ntop(AF_INET, &address, ret, INET_ADDRSTRLEN);
}

/* Can a daemon listen there? */
static bool port_free(uint32_t ip, int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(ip),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	bool can;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	can = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	      listen(fd, 1) == 0;
	close(fd);
	return can;
}

/* For node daemons, and the remote API (0: without). */
static bool block_free(uint32_t base, size_t n, int rapi_port)
{
	for (size_t i = 1; i <= n; i++)
		if (!port_free(base + (uint32_t)i, paths_noded_port()) ||
		    (rapi_port != 0 &&
		     !port_free(base + (uint32_t)i, rapi_port)))
			return false;
	return true;
}

/* A random block of addresses, so that two clusters that are made at the same
 * time hardly collide; and if they do, the daemon of the second one cannot
 * bind. */
static int find_block(size_t n, int rapi_port, uint32_t *ret_base,
		      struct error *err)
{
	for (int i = 0; i < BLOCK_TRIES; i++) {
		uint32_t base = 127u << 24 |
				(uint32_t)(1 + random_below(250)) << 16 |
				(uint32_t)random_below(256) << 8;

		if (!block_free(base, n, rapi_port))
			continue;
		*ret_base = base;
		return 0;
	}
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "No free block of %zu addresses found in 127.0.0.0/8",
			 n);
}

static int read_base(const char *text, size_t n, int rapi_port,
		     uint32_t *ret_base, struct error *err)
{
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1 ||
	    ntohl(address.s_addr) >> 24 != 127)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is no address in 127.0.0.0/8", text);
	*ret_base = ntohl(address.s_addr);
	if (!block_free(*ret_base, n, rapi_port))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "An address of the %zu after %s is in use; "
				 "give another --base-ip, or none",
				 n, text);
	return 0;
}

/* --- plan --- */

/* The path of the folder above; what is not there stays as it is spelled. */
static char *real_above(const char *dir, size_t len)
{
	auto_free char *above = len == 0 ? xstrdup("/") : xstrndup(dir, len);
	char *real = realpath(above, NULL);

	return real == NULL ? steal(&above) : real;
}

/* The path without links and dots: what runs in a cluster is found by it,
 * however the folder is called in a command.  The folder itself may not be
 * there yet. */
static char *absolute(const char *dir)
{
	char *real = realpath(dir, NULL);
	auto_free char *name = NULL, *above = NULL;
	size_t n = strlen(dir);
	const char *slash;

	if (real != NULL)
		return real;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	name = xstrndup(dir, n);
	slash = strrchr(name, '/');
	above = slash == NULL ? realpath(".", NULL)
			      : real_above(name, (size_t)(slash - name));
	return xprintf("%s/%s", str_eq(above, "/") ? "" : above,
		       slash == NULL ? name : slash + 1);
}

static void set_node(struct vcluster *v, size_t i, const char *name,
		     const char *ip)
{
	struct vcluster_node *node = &v->nodes[i];
	auto_free char *root = xprintf("%s/%s", v->dir, name);

	node->name = xstrdup(name);
	node->ip = xstrdup(ip);
	node->paths = paths_create(root, name);
	if (v->second)
		node->ip2 = xprintf(HOSTS_BACK_IP, HOSTS_NODE_FIRST + i + 1);
}

static struct vcluster *vcluster_new(const char *dir, const char *hypervisor,
				     size_t n)
{
	struct vcluster *v = xalloc(sizeof(*v));

	v->dir = absolute(dir);
	v->hypervisor = xstrdup(hypervisor);
	v->kind = &kind_process;
	v->rapi_on = xstrdup("");
	v->n = n;
	v->nodes = xcalloc(n, sizeof(*v->nodes));
	return v;
}

static int check_socket_path(const struct vcluster *v, struct error *err)
{
	/* The last node has the longest name. */
	const char *longest =
		path(v->nodes[v->n - 1].paths, PATH_MASTER_SOCKET);

	if (strlen(longest) <= SOCKET_PATH_MAX)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The path of a socket would have %zu bytes, more than "
			 "the %zu that the system allows: %s; choose a shorter "
			 "folder",
			 strlen(longest), SOCKET_PATH_MAX, longest);
}

/* What the state file has besides the nodes. */
static void set_values(struct vcluster *v, const json_t *state)
{
	v->rapi_port = (int)json_int(state, "rapi_port", 0);
	free(v->rapi_on);
	v->rapi_on = xstrdup(json_str(state, "rapi_on", ""));
	v->memory_mib = (int)json_int(state, "memory", 0);
	v->second = json_bool(state, "second", false);
	v->id = xstrdup(json_str(state, "id", ""));
	v->image = xstrdup(json_str(state, "image", ""));
	v->disks = json_ref(json_get(state, "disks"));
}

/* Addresses of nodes that are hosts, in a network of their own. */
static void plan_hosts(struct vcluster *v)
{
	for (size_t i = 0; i < v->n; i++) {
		auto_free char *name = xprintf("node%zu.example.com", i + 1);
		auto_free char *ip =
			xprintf(HOSTS_NODE_IP, HOSTS_NODE_FIRST + i + 1);

		set_node(v, i, name, ip);
	}
}

static struct vcluster *plan_kind(const struct vcluster_options *o,
				  struct error *err)
{
	auto_free char *dir = absolute(o->dir);
	auto_free char *id =
		xprintf("%08x", (unsigned)random_below(UINT32_MAX));
	auto_json json_t *state = NULL;
	struct vcluster_options own = *o;
	struct vcluster *v;

	own.dir = dir;
	if (o->rapi_on != NULL) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "--rapi-on is for nodes that are folders; on a host "
			  "start gantry-rapi as there");
		return NULL;
	}
	if (o->kind->check(&own, err) < 0)
		return NULL;
	v = vcluster_new(dir, o->hypervisor, o->n_nodes);
	v->kind = o->kind;
	state = json_make("{s:i, s:i, s:b, s:s}", "rapi_port", o->rapi_port,
			  "memory", o->memory_mib, "second", o->second, "id",
			  id);
	if (o->disks != NULL)
		json_object_set(state, "disks", json_unconst(o->disks));
	set_values(v, state);
	plan_hosts(v);
	return v;
}

/* The block that was asked for; that of a preset, if it is free; any. */
static int choose_base(const struct vcluster_options *o, size_t n,
		       uint32_t *ret, struct error *err)
{
	if (o->base_ip != NULL)
		return read_base(o->base_ip, n, o->rapi_port, ret, err);
	if (o->preset != NULL &&
	    read_base(o->preset->base_ip, n, o->rapi_port, ret, err) == 0)
		return 0;
	return find_block(n, o->rapi_port, ret, err);
}

static char *node_name(const struct vcluster_options *o, size_t number)
{
	if (o->preset == NULL)
		return xprintf("node%zu.example.com", number);
	return xprintf("%s%zu", o->preset->node, number);
}

struct vcluster *vcluster_plan(const struct vcluster_options *o,
			       struct error *err)
{
	struct vcluster *v;
	uint32_t base = 0;
	int rc;

	if (o->kind->are_hosts)
		return plan_kind(o, err);
	v = vcluster_new(o->dir, o->hypervisor, o->n_nodes);
	rc = choose_base(o, v->n, &base, err);
	v->rapi_port = o->rapi_port;
	if (o->rapi_on != NULL) {
		free(v->rapi_on);
		v->rapi_on = xstrdup(o->rapi_on);
	}
	for (size_t i = 0; rc == 0 && i < v->n; i++) {
		auto_free char *name = node_name(o, i + 1);
		char ip[INET_ADDRSTRLEN];

		ip_text(base + (uint32_t)i + 1, ip);
		set_node(v, i, name, ip);
	}
	if (rc == 0)
		rc = check_socket_path(v, err);
	if (rc == 0)
		rc = vcluster_rapi_check(v, err);
	if (rc < 0) {
		vcluster_free(v);
		return NULL;
	}
	return v;
}

/* --- the state file --- */

static char *state_file(const char *dir)
{
	return xprintf("%s/vcluster.json", dir);
}

/* What the state file has of nodes that are hosts. */
static void add_hosts(json_t *state, const struct vcluster *v)
{
	json_t *cuts = json_array();

	for (size_t i = 0; i < v->n_cuts; i++)
		json_array_append_new(
			cuts, json_make("[i, i]", v->cuts[i].a, v->cuts[i].b));
	json_set_str(state, "kind", v->kind->name);
	json_set_str(state, "id", v->id);
	json_set_str(state, "image", v->image);
	json_set_int(state, "memory", v->memory_mib);
	json_set_bool(state, "second", v->second);
	json_object_set(state, "disks", v->disks);
	json_object_set_new(state, "cuts", cuts);
}

int vcluster_save(const struct vcluster *v, struct error *err)
{
	auto_free char *file = state_file(v->dir);
	auto_free char *text = NULL;
	auto_json json_t *nodes = json_array();
	auto_json json_t *state = NULL;

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(nodes, json_make("{s:s, s:s}", "name",
						       v->nodes[i].name, "ip",
						       v->nodes[i].ip));
	state = json_make("{s:s, s:i, s:s, s:O}", "hypervisor", v->hypervisor,
			  "rapi_port", v->rapi_port, "rapi_on", v->rapi_on,
			  "nodes", nodes);
	if (v->kind->are_hosts)
		add_hosts(state, v);
	text = json_text(state);
	return fs_write_atomic(file, text, strlen(text), 0644, err);
}

/* Daemons and folders named in this file are ended and removed later, so nobody
 * else may be able to write it. */
static int check_owner(const char *dir, const char *file, struct error *err)
{
	struct stat st;

	if (lstat(file, &st) < 0)
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "There is no virtual cluster in %s (no "
				 "vcluster.json)",
				 dir);
	if (S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s is not a file of yours; be the user who made the "
			 "virtual cluster",
			 file);
}

static int check_nodes(const char *file, const json_t *nodes, struct error *err)
{
	size_t n = json_array_size(nodes), i = 0;
	struct in_addr address;

	while (i < n &&
	       str_valid_hostname(
		       json_str(json_array_get(nodes, i), "name", "")) &&
	       inet_pton(AF_INET, json_str(json_array_get(nodes, i), "ip", ""),
			 &address) == 1)
		i++;
	if (n > 0 && n <= VCLUSTER_NODES_MAX && i == n)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s is damaged: its nodes are not 1 to %d names with "
			 "IP addresses",
			 file, VCLUSTER_NODES_MAX);
}

/* The id is part of names of folders that are removed. */
static int check_kind(const char *file, const struct vcluster_kind *kind,
		      const json_t *state, struct error *err)
{
	if (kind != NULL &&
	    (!kind->are_hosts || str_valid_hostname(json_str(state, "id", ""))))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "%s is damaged: it has no valid kind and id", file);
}

static void load_cuts(struct vcluster *v, const json_t *cuts)
{
	v->cuts = xcalloc(VCLUSTER_CUTS_MAX, sizeof(*v->cuts));
	for (size_t i = 0;
	     i < json_array_size(cuts) && v->n_cuts < VCLUSTER_CUTS_MAX; i++) {
		const json_t *cut = json_array_get(cuts, i);
		json_int_t a = json_integer_value(json_array_get(cut, 0));
		json_int_t b = json_integer_value(json_array_get(cut, 1));

		if (a >= 0 && b >= 0 && (size_t)a < v->n && (size_t)b < v->n)
			v->cuts[v->n_cuts++] = (struct vcluster_cut){
				.a = (size_t)a, .b = (size_t)b};
	}
}

struct vcluster *vcluster_load(const char *dir, struct error *err)
{
	auto_free char *all = absolute(dir);
	auto_free char *file = state_file(all);
	auto_json json_t *state = NULL;
	const struct vcluster_kind *kind;
	const json_t *nodes;
	struct vcluster *v;

	if (check_owner(dir, file, err) < 0)
		return NULL;
	state = json_read_file(file, STATE_MAX, err);
	if (state == NULL)
		return NULL;
	nodes = json_get(state, "nodes");
	kind = kind_find(json_str(state, "kind", kind_process.name));
	if (check_nodes(file, nodes, err) < 0 ||
	    check_kind(file, kind, state, err) < 0)
		return NULL;
	v = vcluster_new(all, json_str(state, "hypervisor", "fake"),
			 json_array_size(nodes));
	v->kind = kind;
	set_values(v, state);
	load_cuts(v, json_get(state, "cuts"));
	for (size_t i = 0; i < v->n; i++)
		set_node(v, i, json_str(json_array_get(nodes, i), "name", ""),
			 json_str(json_array_get(nodes, i), "ip", ""));
	return v;
}

void vcluster_free(struct vcluster *v)
{
	if (v == NULL)
		return;
	for (size_t i = 0; i < v->n; i++) {
		free(v->nodes[i].name);
		free(v->nodes[i].ip);
		free(v->nodes[i].ip2);
		paths_destroy(v->nodes[i].paths);
	}
	free(v->nodes);
	free(v->dir);
	free(v->hypervisor);
	free(v->rapi_on);
	free(v->id);
	free(v->image);
	free(v->cuts);
	json_decref(v->disks);
	free(v);
}

struct vcluster_node *vcluster_node(struct vcluster *v, const char *name,
				    struct error *err)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < v->n; i++) {
		const char *own = v->nodes[i].name;

		if (strcmp(own, name) == 0 ||
		    (strncmp(own, name, n) == 0 && own[n] == '.'))
			return &v->nodes[i];
	}
	error_set(err, ERR_PREREQ, ECODE_NOENT,
		  "The virtual cluster in %s has no node '%s'", v->dir, name);
	return NULL;
}

/* How many nodes' files say that it is the master. */
static size_t count_naming(const struct vcluster *v, const char *master)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		auto_free char *name =
			ssconf_read(v->nodes[i].paths, "master_node");

		n += name != NULL && strcmp(name, master) == 0;
	}
	return n;
}

struct vcluster_node *vcluster_master(struct vcluster *v)
{
	struct vcluster_node *found = v->n == 0 ? NULL : &v->nodes[0];
	size_t most = 0;

	/* A former master that was away still names itself. */
	for (size_t i = 0; i < v->n; i++) {
		const struct vcluster_node *node = &v->nodes[i];
		auto_free char *own = ssconf_read(node->paths, "master_node");
		size_t n;

		if (own == NULL || strcmp(own, node->name) != 0)
			continue;
		n = 2 * count_naming(v, node->name) +
		    (fs_read_pid(path(node->paths, PATH_MASTERD_PID)) > 0);
		if (n <= most)
			continue;
		most = n;
		found = &v->nodes[i];
	}
	return found;
}
