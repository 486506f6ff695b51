/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls that only look.  A query about a few names that are known here is
 * answered in the callback.  All other queries run in a task and work in
 * slices; their answers go out in pieces.  So no client holds up the others. */
#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "masterd/query/query.h"

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
	json_array_foreach (list, i, item)
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

	json_array_foreach (list, i, item)
		if (luxi_job_id(item, &id, err) < 0)
			return -1;
	return 0;
}

static const char *arg_str(const json_t *args, size_t i)
{
	const char *text = json_string_value(json_array_get(args, i));

	return text == NULL ? "" : text;
}

/* --- answers in pieces --- */

struct answer {
	struct query_out out;
	struct luxi_request *request;
	struct luxi_place *place;
};

/* While waiting for a slow client, give the place to another call. */
static WAITS int answer_piece(struct query_out *out, struct buf *text)
{
	struct answer *a = container_of(out, struct answer, out);
	bool slow = luxi_sending(a->request);
	int rc;

	if (slow)
		luxi_place_leave(a->place);
	rc = luxi_answer_piece(a->request, text);
	if (slow)
		luxi_place_take(a->place);
	return rc;
}

static bool answer_gone(struct query_out *out)
{
	return luxi_client_gone(container_of(out, struct answer, out)->request);
}

#define SUCCESS "{\"success\":true,\"result\":"

/* Send what write() has put into text, or the error. */
static WAITS void answer_end(struct answer *a, int rc, struct buf *text,
			     struct error *err)
{
	if (rc == 0) {
		buf_addc(text, '}');
		luxi_place_leave(a->place);
		luxi_answer_end(a->request, text);
		luxi_place_take(a->place);
	} else if (a->out.sent) {
		if (!luxi_client_gone(a->request))
			log_warning("A query failed after a part of its answer "
				    "was sent: %s; its client is closed",
				    err->text);
		luxi_answer_cut(a->request);
	} else {
		luxi_fail_call(a->place, a->request, err);
	}
}

/* --- Query and QueryFields --- */

static WAITS json_t *query(struct master *m, const json_t *args,
			   struct error *err)
{
	const json_t *fields = json_array_get(args, 1);

	if (check_strings(fields, false, "fields", err) < 0)
		return NULL;
	return query_run(m, arg_str(args, 0), fields, json_array_get(args, 2),
			 err);
}

static bool query_waits(struct master *m, const json_t *args)
{
	return !query_is_short(m, arg_str(args, 0), json_array_get(args, 1),
			       json_array_get(args, 2));
}

static WAITS void query_serve(struct master *m, struct luxi_request *r,
			      const json_t *args, struct luxi_place *place)
{
	struct answer a = {
		.out = {.piece = answer_piece, .gone = answer_gone},
		.request = r,
		.place = place,
	};
	const json_t *fields = json_array_get(args, 1);
	auto_buf struct buf text = {0};
	struct error err;
	int rc;

	buf_adds(&text, SUCCESS);
	rc = check_strings(fields, false, "fields", &err);
	if (rc == 0)
		rc = query_write(m, arg_str(args, 0), fields,
				 json_array_get(args, 2), &a.out, &text, &err);
	answer_end(&a, rc, &text, &err);
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

const struct luxi_method luxi_Query = {
	.run = query,
	.waits = query_waits,
	.serve = query_serve,
};
const struct luxi_method luxi_QueryFields = {.run = fields_of};

/* --- the calls of one kind each: [names, fields, use_locking] --- */

static int check_old(const char *what, const json_t *args, struct error *err)
{
	const json_t *names = json_array_get(args, 0);
	const json_t *fields = json_array_get(args, 1);

	if ((str_eq(what, "job")
		     ? check_ids(names, err)
		     : check_strings(names, true, "names", err)) < 0 ||
	    check_strings(fields, false, "fields", err) < 0)
		return -1;
	if (json_array_size(args) > 2 &&
	    !json_is_boolean(json_array_get(args, 2)))
		return error_set(err, ERR_REQUEST, NULL,
				 "use_locking is a boolean");
	if (json_is_true(json_array_get(args, 2)))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Queries do not take locks any more");
	return 0;
}

static WAITS json_t *old_query(struct master *m, const char *what,
			       const json_t *args, struct error *err)
{
	return check_old(what, args, err) < 0
		       ? NULL
		       : query_old(m, what, json_array_get(args, 0),
				   json_array_get(args, 1), err);
}

static bool old_waits(struct master *m, const char *what, const json_t *args)
{
	return !query_old_is_short(m, what, json_array_get(args, 0),
				   json_array_get(args, 1));
}

static WAITS void old_serve(struct master *m, const char *what,
			    struct luxi_request *r, const json_t *args,
			    struct luxi_place *place)
{
	struct answer a = {
		.out = {.piece = answer_piece, .gone = answer_gone},
		.request = r,
		.place = place,
	};
	auto_buf struct buf text = {0};
	struct error err;
	int rc;

	buf_adds(&text, SUCCESS);
	rc = check_old(what, args, &err);
	if (rc == 0)
		rc = query_write_old(m, what, json_array_get(args, 0),
				     json_array_get(args, 1), &a.out, &text,
				     &err);
	answer_end(&a, rc, &text, &err);
}

#define OLD_QUERY(method, what)                                                \
	static WAITS json_t *run_##method(                                     \
		struct master *m, const json_t *args, struct error *err)       \
	{                                                                      \
		return old_query(m, what, args, err);                          \
	}                                                                      \
	static bool waits_##method(struct master *m, const json_t *args)       \
	{                                                                      \
		return old_waits(m, what, args);                               \
	}                                                                      \
	static WAITS void serve_##method(                                      \
		struct master *m, struct luxi_request *r, const json_t *args,  \
		struct luxi_place *place)                                      \
	{                                                                      \
		old_serve(m, what, r, args, place);                            \
	}                                                                      \
	const struct luxi_method luxi_##method = {                             \
		.run = run_##method,                                           \
		.waits = waits_##method,                                       \
		.serve = serve_##method,                                       \
	}

WAITS OLD_QUERY(QueryJobs, "job");
WAITS OLD_QUERY(QueryInstances, "instance");
WAITS OLD_QUERY(QueryNodes, "node");
WAITS OLD_QUERY(QueryGroups, "group");
WAITS OLD_QUERY(QueryNetworks, "network");
WAITS OLD_QUERY(QueryFilters, "filter");

/* [nodes, use_locking]: rows of node and export. */
static json_t *export_args(const json_t *args)
{
	return json_make("[O, [s, s], O]", json_array_get(args, 0), "node",
			 "export", json_array_get(args, 1));
}

static WAITS void query_exports(struct master *m, struct luxi_request *r,
				const json_t *args, struct luxi_place *place)
{
	auto_json json_t *full = export_args(args);

	old_serve(m, "export", r, full, place);
}

const struct luxi_method luxi_QueryExports = {
	.waits = luxi_always,
	.serve = query_exports,
};

/* --- of the cluster --- */

static json_t *config_values(struct master *m, const json_t *args,
			     struct error *err)
{
	const json_t *fields = json_array_get(args, 0);

	if (json_array_size(fields) > QUERY_FIELDS_MAX) {
		error_set(err, ERR_REQUEST, NULL, "at most %d values",
			  QUERY_FIELDS_MAX);
		return NULL;
	}
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

static WAITS json_t *resources(struct master *m, const json_t *args,
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
	for (size_t i = 0; i < ARRAY_SIZE(tag_kinds); i++)
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
	const json_t *tags = object_tags(object);

	if (object == NULL)
		return NULL;
	return json_is_array(tags) ? json_ref(tags) : json_array();
}

const struct luxi_method luxi_QueryTags = {.run = query_tags};
