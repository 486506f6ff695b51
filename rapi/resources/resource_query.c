/* SPDX-License-Identifier: BSD-2-Clause */
/* Resources that only look: lists, single objects, tags, queries.
 *
 * They use the calls that have bare values, as Ganeti's server does, so that
 * what the master cannot say of an object is null. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"
#include "rapi/resources/bulk.h"

#define RAPI_VERSION 2

#define COMMON_FIELDS "ctime", "mtime", "uuid", "serial_no", "tags"

static const char *const instance_fields[] = {"name",
					      "admin_state",
					      "os",
					      "pnode",
					      "snodes",
					      "disk_template",
					      "nic.ips",
					      "nic.macs",
					      "nic.modes",
					      "nic.uuids",
					      "nic.names",
					      "nic.links",
					      "nic.networks",
					      "nic.networks.names",
					      "nic.bridges",
					      "network_port",
					      "disk.sizes",
					      "disk.spindles",
					      "disk_usage",
					      "disk.uuids",
					      "disk.names",
					      "beparams",
					      "hvparams",
					      "oper_state",
					      "oper_ram",
					      "oper_vcpus",
					      "status",
					      "custom_hvparams",
					      "custom_beparams",
					      "custom_nicparams",
					      COMMON_FIELDS,
					      NULL};

static const char *const node_fields[] = {
	"name",	      "offline",	"master_candidate",
	"drained",    "dtotal",		"dfree",
	"sptotal",    "spfree",		"mtotal",
	"mnode",      "mfree",		"pinst_cnt",
	"sinst_cnt",  "ctotal",		"cnos",
	"cnodes",     "csockets",	"pip",
	"sip",	      "role",		"pinst_list",
	"sinst_list", "master_capable", "vm_capable",
	"ndparams",   "group.uuid",	COMMON_FIELDS,
	NULL};

static const char *const group_fields[] = {"alloc_policy", "name",
					   "node_cnt",	   "node_list",
					   "ipolicy",	   "custom_ipolicy",
					   "diskparams",   "custom_diskparams",
					   "ndparams",	   "custom_ndparams",
					   COMMON_FIELDS,  NULL};

static const char *const network_fields[] = {
	"name",	       "network",    "gateway",	   "network6",
	"gateway6",    "mac_prefix", "free_count", "reserved_count",
	"map",	       "group_list", "inst_list",  "external_reservations",
	COMMON_FIELDS, NULL};

static const char *const job_fields[] = {"id",	     "ops",	 "status",
					 "summary",  "opstatus", "received_ts",
					 "start_ts", "end_ts",	 NULL};

static const char *const filter_fields[] = {
	"watermark",	"priority", "predicates", "action",
	"reason_trail", "uuid",	    NULL};

const struct resource_kind resource_kind_instance = {
	.what = "instance",
	.call = "QueryInstances",
	.fields = instance_fields,
	.name_field = "name",
	.id = "id",
	.path = "/2/instances/",
	.locks = true,
	.has_memory = true,
};

const struct resource_kind resource_kind_node = {
	.what = "node",
	.call = "QueryNodes",
	.fields = node_fields,
	.name_field = "name",
	.id = "id",
	.path = "/2/nodes/",
	.locks = true,
	.same = {"sip", "secondary_ip"},
};

const struct resource_kind resource_kind_group = {
	.what = "group",
	.call = "QueryGroups",
	.fields = group_fields,
	.name_field = "name",
	.id = "name",
	.path = "/2/groups/",
	.locks = true,
};

const struct resource_kind resource_kind_network = {
	.what = "network",
	.call = "QueryNetworks",
	.fields = network_fields,
	.name_field = "name",
	.id = "name",
	.path = "/2/networks/",
	.locks = true,
};

const struct resource_kind resource_kind_job = {
	.what = "job",
	.call = "QueryJobs",
	.fields = job_fields,
	.name_field = "id",
	.id = "id",
	.path = "/2/jobs/",
	.all_is_null = true,
};

const struct resource_kind resource_kind_filter = {
	.what = "filter",
	.call = "QueryFilters",
	.fields = filter_fields,
	.name_field = "uuid",
	.id = "uuid",
	.path = "/2/filters/",
	.all_is_null = true,
};

/* --- what needs no master --- */

json_t *resource_null(struct request *q, struct error *err)
{
	(void)q;
	(void)err;
	return json_null();
}

json_t *resource_events(struct request *q, struct error *err)
{
	return resource_null(q, err);
}

json_t *resource_version(struct request *q, struct error *err)
{
	(void)q;
	(void)err;
	return json_integer(RAPI_VERSION);
}

json_t *resource_features(struct request *q, struct error *err)
{
	(void)q;
	(void)err;
	return json_make("[s, s, s, s, s]", "instance-create-reqv1",
			 "instance-reinstall-reqv1", "node-migrate-reqv1",
			 "node-evac-res1", "gantry-1");
}

/* --- rows --- */

static json_t *field_list(const char *const *fields)
{
	json_t *list = json_array();

	for (; *fields != NULL; fields++)
		json_array_append_new(list, json_string(*fields));
	return list;
}

/* The arguments of the call for the rows of these objects, to be freed; name
 * NULL: of all. */
static json_t *ask_args(struct request *q, const char *name,
			const char *const *fields, struct error *err)
{
	const struct resource_kind *kind = q->route->kind;
	auto_json json_t *names = json_array();
	bool locking;

	if (name != NULL)
		json_array_append_new(names, json_string(name));
	else if (kind->all_is_null) {
		json_decref(names);
		names = json_null();
	}
	if (!kind->locks)
		return json_make("[O, o]", names, field_list(fields));
	if (args_flag(&q->args, "lock", &locking, err) < 0)
		return NULL;
	return json_make("[O, o, b]", names, field_list(fields), (int)locking);
}

static json_t *ask(struct request *q, const char *name,
		   const char *const *fields, struct error *err)
{
	json_t *args = ask_args(q, name, fields, err);

	return args == NULL ? NULL
			    : request_call(q, q->route->kind->call, args, err);
}

/* The second name of a value that has two. */
static void set_same(json_t *object, const char *name, const char *other)
{
	const json_t *value = json_object_get(object, name);

	if (value != NULL)
		json_object_set_new(object, other, json_ref(value));
}

static void set_memory(json_t *object)
{
	json_t *old = json_object_get(object, "beparams");
	auto_json json_t *params = NULL;

	if (!json_is_object(old))
		return;
	params = json_copy(old);
	set_same(params, "maxmem", "memory");
	json_object_set(object, "beparams", params);
}

static json_t *object_of(const struct resource_kind *kind, const json_t *row)
{
	json_t *object = json_object();

	for (size_t i = 0; kind->fields[i] != NULL; i++)
		json_object_set_new(object, kind->fields[i],
				    json_ref(json_array_get(row, i))
					    ?: json_null());
	if (kind->has_memory)
		set_memory(object);
	return object;
}

/* --- lists --- */

static int by_name(const void *a, const void *b)
{
	const json_t *x = json_array_get(*(json_t *const *)a, 0);
	const json_t *y = json_array_get(*(json_t *const *)b, 0);

	if (json_is_string(x) && json_is_string(y))
		return strcmp(json_string_value(x), json_string_value(y));
	return (json_integer_value(x) > json_integer_value(y)) -
	       (json_integer_value(x) < json_integer_value(y));
}

static json_t *short_entry(const struct resource_kind *kind, const json_t *name)
{
	auto_free char *path =
		json_is_string(name)
			? xprintf("%s%s", kind->path, json_string_value(name))
			: xprintf("%s%jd", kind->path,
				  (intmax_t)json_integer_value(name));

	return json_make("{s:O, s:s}", kind->id, name, "uri", path);
}

/* Names and paths alone, in the order of names. */
static json_t *short_list(const struct resource_kind *kind, const json_t *rows)
{
	size_t n = json_array_size(rows);
	auto_free const json_t **sorted = xcalloc(n + 1, sizeof(*sorted));
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		sorted[i] = json_array_get(rows, i);
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			list, short_entry(kind, json_array_get(sorted[i], 0)));
	return list;
}

/* All objects with all fields: q->text. */
static json_t *full_list(struct request *q, struct error *err)
{
	const struct resource_kind *kind = q->route->kind;
	json_t *args = ask_args(q, NULL, kind->fields, err);
	auto_buf struct buf rows = {0}, text = {0};

	if (args == NULL ||
	    request_call_text(q, kind->call, args, &rows, err) < 0)
		return NULL;
	if (bulk_write(&text, kind, &rows) < 0) {
		error_set(err, ERR_LUXI, NULL,
			  "The master daemon's answer has not the fields that "
			  "were asked for");
		return NULL;
	}
	buf_addc(&text, '\n');
	q->text = buf_steal(&text);
	return json_null();
}

/* Names alone are few and short.  A plan may ask the allocator, which looks at
 * all. */
bool resource_is_long(const struct request *q)
{
	const struct route *route = q->route;
	struct error ignored;
	bool bulk;

	if (route->run != resource_list)
		return route->run == resource_history ||
		       route->run == resource_metrics ||
		       route->run == resource_job_plan ||
		       route->run == resource_query ||
		       route->run == resource_query_filtered;
	return resource_is_shaped(q) ||
	       (args_flag(&q->args, "bulk", &bulk, &ignored) == 0 && bulk);
}

json_t *resource_list(struct request *q, struct error *err)
{
	const struct resource_kind *kind = q->route->kind;
	const char *const names[] = {kind->name_field, NULL};
	auto_json json_t *rows = NULL;
	bool bulk;

	if (args_flag(&q->args, "bulk", &bulk, err) < 0)
		return NULL;
	if (resource_is_shaped(q))
		return resource_shaped_list(q, bulk, err);
	if (bulk)
		return full_list(q, err);
	rows = ask(q, NULL, names, err);
	return rows == NULL ? NULL : short_list(kind, rows);
}

/* --- one object --- */

static json_t *not_found(struct error *err)
{
	reply_bare(err, ECODE_NOENT);
	return NULL;
}

/* Ganeti's answer has no words where an object is looked at. */
static json_t *wordless(struct error *err)
{
	if (error_is(err, ECODE_NOENT))
		not_found(err);
	return NULL;
}

/* The only row of this object, to be freed. */
static json_t *ask_one(struct request *q, const char *const *fields,
		       struct error *err)
{
	auto_json json_t *rows = ask(q, q->items.items[0], fields, err);
	const json_t *row = json_array_get(rows, 0);

	if (rows == NULL)
		return wordless(err);
	return row == NULL || json_is_null(row) ? not_found(err)
						: json_ref(row);
}

json_t *resource_one(struct request *q, struct error *err)
{
	const struct resource_kind *kind = q->route->kind;
	auto_json json_t *row = ask_one(q, kind->fields, err);
	json_t *object;

	if (row == NULL)
		return NULL;
	object = object_of(kind, row);
	if (kind->same[0] != NULL)
		set_same(object, kind->same[0], kind->same[1]);
	return object;
}

json_t *resource_info(struct request *q, struct error *err)
{
	json_t *info = request_call(q, "QueryClusterInfo", json_array(), err);

	if (info == NULL)
		return NULL;
	set_same(info, "volume_group_name", "vg_name");
	set_same(info, "drbd_usermode_helper", "drbd_helper");
	return info;
}

json_t *resource_resources(struct request *q, struct error *err)
{
	return request_call(q, "QueryResources", json_array(), err);
}

json_t *resource_tags(struct request *q, struct error *err)
{
	json_t *tags = request_call(
		q, "QueryTags",
		json_make("[s, s]", q->route->tags,
			  q->items.n == 0 ? "" : q->items.items[0]),
		err);

	return tags == NULL ? wordless(err) : tags;
}

json_t *resource_console(struct request *q, struct error *err)
{
	auto_json json_t *rows =
		request_call(q, "QueryInstances",
			     json_make("[[s], [s, s], b]", q->items.items[0],
				       "console", "oper_state", 0),
			     err);
	const json_t *row = json_array_get(rows, 0);
	const json_t *console = json_array_get(row, 0);

	if (rows == NULL)
		return wordless(err);
	if (row == NULL)
		return not_found(err);
	if (json_is_true(json_array_get(row, 1)) && json_is_object(console))
		return json_ref(console);
	error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
		  "Instance console unavailable");
	return NULL;
}

json_t *resource_node_role(struct request *q, struct error *err)
{
	static const struct {
		const char *letter, *role;
	} roles[] = {
		{"M", "master"},  {"C", "master-candidate"}, {"R", "regular"},
		{"D", "drained"}, {"O", "offline"},
	};
	auto_json json_t *rows = request_call(
		q, "QueryNodes",
		json_make("[[s], [s], b]", q->items.items[0], "role", 0), err);
	const char *letter =
		json_string_value(json_array_get(json_array_get(rows, 0), 0));

	if (rows == NULL)
		return wordless(err);
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (str_eq(letter, roles[i].letter))
			return json_string(roles[i].role);
	return not_found(err);
}

/* --- queries --- */

static json_t *fields_argument(struct request *q, struct error *err)
{
	const char *text = args_get(&q->args, "fields");

	if (text != NULL)
		return request_words(text);
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Missing 'fields' query argument");
	return NULL;
}

static json_t *query(struct request *q, json_t *fields STEALS,
		     const json_t *qfilter, struct error *err)
{
	auto_json json_t *owned = fields;
	json_t *answer = NULL, *rows, *ordered;

	if (request_check_fields(q, fields, qfilter, err) == 0)
		answer = request_call(
			q, "Query",
			json_make("[s, O, o]", q->items.items[0], owned,
				  json_ref(qfilter) ?: json_null()),
			err);
	rows = json_incref(json_object_get(answer, "data"));
	if (rows == NULL)
		return answer;
	/* Ganeti has the rows first. */
	ordered = json_make("{s:o}", "data", rows);
	json_object_update_missing(ordered, answer);
	json_decref(answer);
	return ordered;
}

json_t *resource_query(struct request *q, struct error *err)
{
	json_t *fields = fields_argument(q, err);

	return fields == NULL ? NULL : query(q, fields, NULL, err);
}

json_t *resource_query_filtered(struct request *q, struct error *err)
{
	const json_t *qfilter;
	json_t *fields;

	if (request_check_dict(q->body, "Body contents", err) < 0)
		return NULL;
	fields = json_ref(json_object_get(q->body, "fields"))
			 ?: fields_argument(q, err);
	if (fields == NULL)
		return NULL;
	qfilter = json_get(q->body, "qfilter") ?: json_get(q->body, "filter");
	return query(q, fields, qfilter, err);
}

json_t *resource_query_fields(struct request *q, struct error *err)
{
	const char *text = args_get(&q->args, "fields");

	return request_call(
		q, "QueryFields",
		json_make("[s, o]", q->items.items[0],
			  text == NULL ? json_null() : request_words(text)),
		err);
}
