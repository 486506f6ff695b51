/* SPDX-License-Identifier: BSD-2-Clause */
/* What the ssconf files say of a configuration.  No I/O: ssconf_files.c. */
#include "lib/model/config/ssconf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/uid_pool.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/params/params.h"

/* All that the values are made of, in the orders that they need. */
struct source {
	const json_t *config, *cluster, *nodes;
	struct strv node_uuids; /* byte order */
	const json_t **by_name; /* node objects in nice order of their names */
	size_t n_nodes;
};

static const char *name_of(const json_t *node)
{
	return json_str(node, "name", "");
}

static int compare_names(const void *a, const void *b)
{
	return str_nice_cmp(name_of(*(const json_t *const *)a),
			    name_of(*(const json_t *const *)b));
}

static void collect_nodes(struct source *s)
{
	const char *uuid;
	json_t *node;

	s->by_name =
		xcalloc(json_object_size(s->nodes) + 1, sizeof(*s->by_name));
	json_object_foreach (json_unconst(s->nodes), uuid, node) {
		strv_add(&s->node_uuids, uuid);
		s->by_name[s->n_nodes++] = node;
	}
	strv_sort(&s->node_uuids);
	qsort(s->by_name, s->n_nodes, sizeof(*s->by_name), compare_names);
}

static void add_line(json_t *lines, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_line(json_t *lines, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	json_array_append_new(lines, json_string(text));
	free(text);
}

static const char *truth(bool value)
{
	return value ? "True" : "False";
}

/* --- the kinds of values --- */

static json_t *scalar_text(const json_t *value)
{
	auto_free char *text = NULL;

	if (json_is_string(value))
		return json_string(json_string_value(value));
	if (json_is_boolean(value))
		return json_string(truth(json_is_true(value)));
	if (value == NULL || json_is_null(value))
		return json_string("");
	text = json_text(value);
	return json_string(text);
}

static json_t *member_lines(const struct source *s, const char *key)
{
	json_t *lines = json_array();

	json_array_append_new(lines,
			      scalar_text(json_object_get(s->cluster, key)));
	return lines;
}

static json_t *list_lines(const struct source *s, const char *key, bool sorted)
{
	auto_strv struct strv list = {0};

	json_to_strv(json_object_get(s->cluster, key), &list);
	if (sorted)
		strv_sort(&list);
	return json_from_strv(&list);
}

/* The names, in nice order, of the nodes that are offline (1) or not (0); -1:
 * of all nodes. */
static json_t *node_lines(const struct source *s, int offline)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < s->n_nodes; i++) {
		const json_t *node = s->by_name[i];
		bool is = json_bool(node, "offline", false);

		if (offline < 0 || is == (offline == 1))
			add_line(lines, "%s", name_of(node));
	}
	return lines;
}

static json_t *node_ip_lines(const struct source *s, const char *key)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < s->n_nodes; i++) {
		const json_t *node = s->by_name[i];

		add_line(lines, "%s %s", name_of(node),
			 json_str(node, key, ""));
	}
	return lines;
}

static json_t *vm_capable_lines(const struct source *s)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < s->n_nodes; i++) {
		const json_t *node = s->by_name[i];

		add_line(lines, "%s=%s", name_of(node),
			 truth(json_bool(node, "vm_capable", true)));
	}
	return lines;
}

static json_t *ssh_port_lines(const struct source *s)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < s->n_nodes; i++) {
		const json_t *node = s->by_name[i];
		const json_t *group = json_object_get(
			json_object_get(s->config, "nodegroups"),
			json_str(node, "group", ""));
		auto_json json_t *nd = params_fill_nd(s->cluster, group, node);

		add_line(lines, "%s=%lld", name_of(node),
			 (long long)json_int(nd, "ssh_port", 22));
	}
	return lines;
}

/* One member of each candidate, in the order of the nodes' UUIDs. */
static json_t *candidate_lines(const struct source *s, const char *key)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < s->node_uuids.n; i++) {
		const json_t *node =
			json_object_get(s->nodes, s->node_uuids.items[i]);

		if (json_bool(node, "master_candidate", false))
			add_line(lines, "%s", json_str(node, key, ""));
	}
	return lines;
}

static json_t *cert_lines(const struct source *s)
{
	const json_t *certs = json_object_get(s->cluster, "candidate_certs");
	auto_strv struct strv lines = {0};
	const char *uuid;
	json_t *digest;

	json_object_foreach (json_unconst(certs), uuid, digest)
		strv_addf(&lines, "%s=%s", uuid, json_string_value(digest));
	strv_sort(&lines);
	return json_from_strv(&lines);
}

/* "uuid name" of each object of a container. */
static json_t *named_lines(const struct source *s, const char *container)
{
	auto_strv struct strv lines = {0};
	const char *uuid;
	json_t *object;

	json_object_foreach (json_object_get(s->config, container), uuid,
			     object)
		strv_addf(&lines, "%s %s", uuid, json_str(object, "name", ""));
	strv_sort(&lines);
	return json_from_strv(&lines);
}

static json_t *instance_lines(const struct source *s)
{
	auto_strv struct strv names = {0};
	const char *uuid;
	json_t *instance;

	json_object_foreach (json_object_get(s->config, "instances"), uuid,
			     instance)
		strv_add(&names, json_str(instance, "name", ""));
	strv_sort_nice(&names);
	return json_from_strv(&names);
}

static json_t *master_lines(const struct source *s)
{
	const char *uuid = json_str(s->cluster, "master_node", "");
	json_t *lines = json_array();

	add_line(lines, "%s",
		 json_str(json_object_get(s->nodes, uuid), "name", ""));
	return lines;
}

static json_t *uid_pool_lines(const struct source *s)
{
	auto_strv struct strv texts = {0};

	uid_pool_texts(json_object_get(s->cluster, "uid_pool"), &texts);
	return json_from_strv(&texts);
}

static json_t *hvparams_lines(const struct source *s, const char *hypervisor)
{
	auto_json json_t *filled =
		params_fill_hv(s->cluster, hypervisor, NULL, NULL);
	auto_strv struct strv lines = {0};
	const char *name;
	json_t *value;

	json_object_foreach (filled, name, value) {
		auto_json json_t *text = scalar_text(value);

		strv_addf(&lines, "%s=%s", name, json_string_value(text));
	}
	strv_sort(&lines);
	return json_from_strv(&lines);
}

/* --- the values --- */

static void set_members(json_t *values, const struct source *s)
{
	static const char *const keys[] = {
		"cluster_name",		"enabled_user_shutdown",
		"file_storage_dir",	"gluster_storage_dir",
		"maintain_node_health", "master_ip",
		"master_netdev",	"master_netmask",
		"primary_ip_family",	"shared_file_storage_dir",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_object_set_new(values, keys[i], member_lines(s, keys[i]));
}

static void set_nodes(json_t *values, const struct source *s)
{
	json_object_set_new(values, "master_candidates",
			    candidate_lines(s, "name"));
	json_object_set_new(values, "master_candidates_certs", cert_lines(s));
	json_object_set_new(values, "master_candidates_ips",
			    candidate_lines(s, "primary_ip"));
	json_object_set_new(values, "master_node", master_lines(s));
	json_object_set_new(values, "node_list", node_lines(s, -1));
	json_object_set_new(values, "node_primary_ips",
			    node_ip_lines(s, "primary_ip"));
	json_object_set_new(values, "node_secondary_ips",
			    node_ip_lines(s, "secondary_ip"));
	json_object_set_new(values, "node_vm_capable", vm_capable_lines(s));
	json_object_set_new(values, "offline_nodes", node_lines(s, 1));
	json_object_set_new(values, "online_nodes", node_lines(s, 0));
	json_object_set_new(values, "ssh_ports", ssh_port_lines(s));
}

static void set_others(json_t *values, const struct source *s)
{
	json_object_set_new(values, "cluster_tags",
			    list_lines(s, "tags", true));
	json_object_set_new(values, "hypervisor_list",
			    list_lines(s, "enabled_hypervisors", false));
	json_object_set_new(values, "instance_list", instance_lines(s));
	json_object_set_new(values, "networks", named_lines(s, "networks"));
	json_object_set_new(values, "nodegroups", named_lines(s, "nodegroups"));
	json_object_set_new(values, "release_version",
			    json_make("[s]", GANETI_RELEASE));
	json_object_set_new(values, "uid_pool", uid_pool_lines(s));
}

/* A configuration that Gantry did not make may have names with line breaks. */
static void keep_to_lines(json_t *values)
{
	const char *key;
	json_t *lines, *line;
	size_t i;

	json_object_foreach (values, key, lines)
		json_array_foreach (lines, i, line) {
			auto_free char *text = NULL;

			if (str_valid_line(json_string_value(line)))
				continue;
			text = xstrdup(json_string_value(line));
			for (char *c = text; *c != '\0'; c++)
				if (iscntrl((unsigned char)*c))
					*c = '?';
			json_array_set_new(lines, i, json_string(text));
		}
}

json_t *ssconf_values(const json_t *config)
{
	struct source s = {
		.config = config,
		.cluster = json_object_get(config, "cluster"),
		.nodes = json_object_get(config, "nodes"),
	};
	json_t *values = json_object();

	collect_nodes(&s);
	set_members(values, &s);
	for (const char *const *h = hypervisor_names; *h != NULL; h++) {
		auto_free char *key = xprintf("hvparams_%s", *h);

		json_object_set_new(values, key, hvparams_lines(&s, *h));
	}
	set_nodes(values, &s);
	set_others(values, &s);
	keep_to_lines(values);
	strv_done(&s.node_uuids);
	free(s.by_name);
	return values;
}

char *ssconf_text(const json_t *value)
{
	auto_strv struct strv lines = {0};

	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	json_to_strv(value, &lines);
	return strv_join(&lines, "\n");
}

json_t *ssconf_for_ganeti(const json_t *values, struct strv *ret_left_out)
{
	json_t *result = json_object(), *value;
	const char *key;

	json_object_foreach (json_unconst(values), key, value) {
		auto_free char *text = ssconf_text(value);

		/* A newline is added. */
		if (strlen(text) < SSCONF_GANETI_MAX)
			json_object_set(result, key, value);
		else
			strv_add(ret_left_out, key);
	}
	return result;
}

bool ssconf_is_key(const char *key)
{
	static const char *const keys[] = {"cluster_name",
					   "cluster_tags",
					   "enabled_user_shutdown",
					   "file_storage_dir",
					   "gluster_storage_dir",
					   "hypervisor_list",
					   "instance_list",
					   "maintain_node_health",
					   "master_candidates",
					   "master_candidates_certs",
					   "master_candidates_ips",
					   "master_ip",
					   "master_netdev",
					   "master_netmask",
					   "master_node",
					   "networks",
					   "node_list",
					   "node_primary_ips",
					   "node_secondary_ips",
					   "node_vm_capable",
					   "nodegroups",
					   "offline_nodes",
					   "online_nodes",
					   "primary_ip_family",
					   "release_version",
					   "shared_file_storage_dir",
					   "ssh_ports",
					   "uid_pool"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return str_starts(key, "hvparams_") &&
	       hypervisor_find(key + strlen("hvparams_")) != NULL;
}
