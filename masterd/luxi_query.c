/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls that only look.  Those that need live data of nodes wait for it
 * in a task; all others are answered in the callback. */
#include "lib/json/json.h"
#include "masterd/config.h"
#include "masterd/luxi_calls.h"
#include "masterd/master.h"
#include "masterd/query.h"

static int check_strings(const json_t *list, bool may_be_null, const char *what,
			 struct error *err)
{
	size_t i;
	json_t *item;

	if (may_be_null && json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return error_set(err, ERR_REQUEST, NULL, "%s: not a list",
				 what);
	json_array_foreach ((json_t *)list, i, item)
		if (!json_is_string(item))
			return error_set(err, ERR_REQUEST, NULL,
					 "%s: not a list of strings", what);
	return 0;
}

static int check_ids(const json_t *list, struct error *err)
{
	size_t i;
	json_t *item;
	uint64_t id;

	json_array_foreach ((json_t *)list, i, item)
		if (luxi_job_id(item, &id, err) < 0)
			return -1;
	return 0;
}

static const char *arg_str(const json_t *args, size_t i)
{
	const char *text = json_string_value(json_array_get(args, i));

	return text == NULL ? "" : text;
}

/* --- Query and QueryFields --- */

static json_t *query(struct master *m, const json_t *args, struct error *err)
{
	const json_t *fields = json_array_get(args, 1);

	if (check_strings(fields, false, "fields", err) < 0)
		return NULL;
	return query_run(m, arg_str(args, 0), fields, json_array_get(args, 2),
			 err);
}

static bool query_waits(struct master *m, const json_t *args)
{
	return json_is_array(json_array_get(args, 1)) &&
	       query_needs_wait(m, arg_str(args, 0), json_array_get(args, 1),
				json_array_get(args, 2));
}

static json_t *fields_of(struct master *m, const json_t *args,
			 struct error *err)
{
	const json_t *fields = json_array_get(args, 1);

	(void)m;
	if (check_strings(fields, true, "fields", err) < 0)
		return NULL;
	return query_fields(arg_str(args, 0), fields,
			    json_is_true(json_array_get(args, 2)), err);
}

const struct luxi_method luxi_Query = {.run = query, .waits = query_waits};
const struct luxi_method luxi_QueryFields = {.run = fields_of};

/* --- the calls of one kind each: [names, fields, use_locking] --- */

static json_t *old_query(struct master *m, const char *what, const json_t *args,
			 struct error *err)
{
	const json_t *names = json_array_get(args, 0);
	const json_t *fields = json_array_get(args, 1);

	if ((str_eq(what, "job")
		     ? check_ids(names, err)
		     : check_strings(names, true, "names", err)) < 0 ||
	    check_strings(fields, false, "fields", err) < 0)
		return NULL;
	if (json_array_size(args) > 2 &&
	    !json_is_boolean(json_array_get(args, 2))) {
		error_set(err, ERR_REQUEST, NULL, "use_locking is a boolean");
		return NULL;
	}
	if (json_is_true(json_array_get(args, 2))) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Queries do not take locks any more");
		return NULL;
	}
	return query_old(m, what, names, fields, err);
}

static bool old_waits(struct master *m, const char *what, const json_t *args)
{
	const json_t *names = json_array_get(args, 0);
	const json_t *fields = json_array_get(args, 1);

	return (json_is_array(names) || json_is_null(names)) &&
	       json_is_array(fields) &&
	       query_old_needs_wait(m, what, names, fields);
}

#define OLD_QUERY(method, what)                                                \
	static json_t *run_##method(struct master *m, const json_t *args,      \
				    struct error *err)                         \
	{                                                                      \
		return old_query(m, what, args, err);                          \
	}                                                                      \
	static bool waits_##method(struct master *m, const json_t *args)       \
	{                                                                      \
		return old_waits(m, what, args);                               \
	}                                                                      \
	const struct luxi_method luxi_##method = {                             \
		.run = run_##method,                                           \
		.waits = waits_##method,                                       \
	}

OLD_QUERY(QueryJobs, "job");
OLD_QUERY(QueryInstances, "instance");
OLD_QUERY(QueryNodes, "node");
OLD_QUERY(QueryGroups, "group");
OLD_QUERY(QueryNetworks, "network");
OLD_QUERY(QueryFilters, "filter");

/* [nodes, use_locking]: rows of node and export. */
static json_t *export_args(const json_t *args)
{
	return json_make("[O, [s, s], O]", json_array_get(args, 0), "node",
			 "export", json_array_get(args, 1));
}

static json_t *query_exports(struct master *m, const json_t *args,
			     struct error *err)
{
	auto_json json_t *full = export_args(args);

	return old_query(m, "export", full, err);
}

static bool query_exports_waits(struct master *m, const json_t *args)
{
	auto_json json_t *full = export_args(args);

	return old_waits(m, "export", full);
}

const struct luxi_method luxi_QueryExports = {
	.run = query_exports,
	.waits = query_exports_waits,
};

/* --- of the cluster --- */

static json_t *config_values(struct master *m, const json_t *args,
			     struct error *err)
{
	const json_t *fields = json_array_get(args, 0);

	if (check_strings(fields, false, "fields", err) < 0)
		return NULL;
	return query_config_values(m, fields);
}

static json_t *cluster_info(struct master *m, const json_t *args,
			    struct error *err)
{
	(void)args;
	(void)err;
	return query_cluster_info(m);
}

static json_t *resources(struct master *m, const json_t *args,
			 struct error *err)
{
	(void)args;
	(void)err;
	return query_resources(m->config);
}

const struct luxi_method luxi_QueryResources = {.run = resources,
						.waits = luxi_always};
const struct luxi_method luxi_QueryConfigValues = {.run = config_values};
const struct luxi_method luxi_QueryClusterInfo = {.run = cluster_info};

static const struct tag_kind {
	const char *name;
	enum config_kind kind;
} tag_kinds[] = {
	{"nodegroup", CONFIG_GROUP},
	{"node", CONFIG_NODE},
	{"instance", CONFIG_INSTANCE},
	{"network", CONFIG_NETWORK},
};

static const json_t *tagged_object(struct master *m, const char *kind,
				   const char *name, struct error *err)
{
	if (name == NULL) {
		error_set(err, ERR_REQUEST, NULL, "the name is a string");
		return NULL;
	}
	if (str_eq(kind, "cluster"))
		return config_cluster(m->config);
	for (size_t i = 0; i < sizeof(tag_kinds) / sizeof(tag_kinds[0]); i++)
		if (str_eq(kind, tag_kinds[i].name))
			return config_expect(m->config, tag_kinds[i].kind, name,
					     err);
	error_set(err, ERR_REQUEST, NULL, "unknown kind of tags '%.100s'",
		  kind);
	return NULL;
}

static json_t *query_tags(struct master *m, const json_t *args,
			  struct error *err)
{
	const json_t *object =
		tagged_object(m, arg_str(args, 0),
			      json_string_value(json_array_get(args, 1)), err);
	const json_t *tags = json_get(object, "tags");

	if (object == NULL)
		return NULL;
	return json_is_array(tags) ? json_incref((json_t *)tags) : json_array();
}

const struct luxi_method luxi_QueryTags = {.run = query_tags};
