/* SPDX-License-Identifier: BSD-2-Clause */
/* The resources as OpenAPI 3.1 describes them, from the same table by which
 * requests are answered, and from that of opcodes. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"
#include "rapi/frame/token.h"

#define REF_ERROR "#/components/responses/error"
#define NUMBER_PATTERN "^[0-9]+$"
#define NAME_PATTERN "^[A-Za-z0-9._-]+$"

/* --- parameters --- */

static bool is_number(const char *name)
{
	return strcmp(name, "job") == 0 || strcmp(name, "disk") == 0;
}

static void add_path(json_t *list, const char *path)
{
	for (const char *s = strchr(path, '{'); s != NULL;
	     s = strchr(s + 1, '{')) {
		auto_free char *name = xstrndup(s + 1, strcspn(s + 1, "}"));

		json_array_append_new(
			list, json_make("{s:s, s:s, s:b, s:{s:s, s:s}}", "name",
					name, "in", "path", "required", 1,
					"schema", "type", "string", "pattern",
					is_number(name) ? NUMBER_PATTERN
							: NAME_PATTERN));
	}
}

static void add_query(json_t *list, const char *name, json_t *schema STEALS,
		      bool needed)
{
	json_array_append_new(list, json_make("{s:s, s:s, s:b, s:o}", "name",
					      name, "in", "query", "required",
					      (int)needed, "schema", schema));
}

static json_t *flag_schema(void)
{
	return json_make("{s:s, s:[i, i], s:i}", "type", "integer", "enum", 0,
			 1, "default", 0);
}

static void add_set(json_t *list, const struct route_set *set)
{
	switch (set->from) {
	case SOURCE_FLAG:
		add_query(list, set->arg, flag_schema(), false);
		break;
	case SOURCE_TEXT:
	case SOURCE_WORDS:
		add_query(list, set->arg, json_make("{s:s}", "type", "string"),
			  set->needed);
		break;
	case SOURCE_EVERY:
		add_query(list, set->arg,
			  json_make("{s:s, s:{s:s}}", "type", "array", "items",
				    "type", "string"),
			  false);
		break;
	case SOURCE_ITEM:
	case SOURCE_ITEM_LIST:
	case SOURCE_DISK:
	case SOURCE_JSON:
		break;
	}
}

/* Arguments that are texts. */
static void add_texts(json_t *list, const char *names)
{
	auto_strv struct strv all = {0};

	str_split(&all, names, ',');
	for (size_t i = 0; i < all.n; i++)
		add_query(list, all.items[i],
			  json_make("{s:s}", "type", "string"), false);
}

/* What lists take. */
static void add_shape(json_t *list)
{
	static const char *const texts[] = {"filter", "fields", "sort",
					    "after"};

	add_query(list, "bulk", flag_schema(), false);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_query(list, texts[i], json_make("{s:s}", "type", "string"),
			  false);
	add_query(list, "limit",
		  json_make("{s:s, s:i}", "type", "integer", "minimum", 1),
		  false);
}

static bool sets_dry_run(const struct route *r)
{
	for (size_t i = 0; i < ROUTE_SETS_MAX && r->sets[i].param; i++)
		if (str_eq(r->sets[i].arg, "dry-run"))
			return true;
	return false;
}

static json_t *parameters(const struct route *r)
{
	json_t *list = json_array();

	add_path(list, r->path);
	for (size_t i = 0; i < ROUTE_SETS_MAX && r->sets[i].param; i++)
		add_set(list, &r->sets[i]);
	if (r->run == resource_list || r->run == resource_history)
		add_shape(list);
	if (r->takes != NULL)
		add_texts(list, r->takes);
	if (r->run == resource_query)
		add_query(list, "fields", json_make("{s:s}", "type", "string"),
			  true);
	if (r->run == resource_query_fields)
		add_query(list, "fields", json_make("{s:s}", "type", "string"),
			  false);
	if (r->run == resource_job_log) {
		add_query(list, "follow", flag_schema(), false);
		add_query(list, "since",
			  json_make("{s:s, s:i}", "type", "integer", "minimum",
				    0),
			  false);
	}
	if (r->run == resource_job_cancel)
		add_query(list, "kill", flag_schema(), false);
	if (r->run == resource_events) {
		add_query(list, "topic", json_make("{s:s}", "type", "string"),
			  false);
		add_query(list, "since",
			  json_make("{s:s, s:i}", "type", "integer", "minimum",
				    0),
			  false);
	}
	if (!r->jobs)
		return list;
	if (!sets_dry_run(r))
		add_query(list, "dry-run", flag_schema(), false);
	add_query(list, "reason", json_make("{s:s}", "type", "string"), false);
	add_query(list, "plan", flag_schema(), false);
	return list;
}

/* --- bodies --- */

/* What the route sets itself cannot be given, and what is renamed has two
 * names. */
static json_t *body_schema(const struct route *r)
{
	json_t *schema = op_schema(r->opcode);
	json_t *properties = json_object_get(schema, "properties");

	json_object_del(schema, "required");
	for (size_t i = 0; i < ROUTE_SETS_MAX && r->sets[i].param; i++)
		json_object_del(properties, r->sets[i].param);
	json_object_del(properties, "reason");
	for (size_t i = 0; i < ROUTE_RENAMES_MAX && r->renames[i].from; i++)
		json_object_set_new(
			properties, r->renames[i].from,
			json_ref(json_object_get(properties, r->renames[i].to))
				?: json_object());
	if (r->forbidden != NULL)
		json_object_del(properties, r->forbidden);
	return schema;
}

static bool takes_body(const struct route *r)
{
	return r->opcode == NULL ? strcmp(r->method, "GET") != 0 &&
					   strcmp(r->method, "DELETE") != 0
				 : r->body != BODY_IGNORED || r->input != NULL;
}

/* Forms of its own are described no closer than as JSON. */
static json_t *body_of(const struct route *r)
{
	json_t *schema = r->opcode != NULL && r->input == NULL ? body_schema(r)
							       : json_object();

	return json_make("{s:b, s:{s:{s:o}}}", "required",
			 (int)(r->body == BODY_NEEDED), "content",
			 "application/json", "schema", schema);
}

/* --- operations --- */

static json_t *answers(const struct route *r)
{
	json_t *schema = !r->jobs ? json_object()
				  : json_make("{s:s, s:s}", "type", "integer",
					      "description", "The job's id");
	const char *type = r->run == resource_metrics  ? "text/plain"
			   : r->run == resource_events ? "text/event-stream"
						       : "application/json";

	return json_make("{s:{s:s, s:{s:{s:o}}}, s:{s:s}}", "200",
			 "description", "Done", "content", type, "schema",
			 schema, "default", "$ref", REF_ERROR);
}

static char *operation_id(const struct route *r)
{
	auto_free char *method = str_lower(r->method);

	return xprintf("%s_%s", method, r->name);
}

static json_t *operation(const struct route *r)
{
	auto_free char *id = operation_id(r);
	json_t *result =
		json_make("{s:s, s:o, s:o}", "operationId", id, "parameters",
			  parameters(r), "responses", answers(r));

	if (r->opcode != NULL)
		json_set_str(result, "summary", r->opcode->id);
	if (takes_body(r))
		json_object_set_new(result, "requestBody", body_of(r));
	if (r->rights != 0 || r->ticket)
		json_object_set_new(
			result, "security",
			r->ticket ? json_make("[{s:[]}]", "ticket")
				  : json_make("[{s:[]}, {s:[]}, {s:[]}]",
					      "basic", "token", "session"));
	return result;
}

static json_t *all_paths(void)
{
	json_t *paths = json_object();

	for (const struct route *r = routes(); r->method != NULL; r++) {
		auto_free char *method = str_lower(r->method);
		json_t *item = json_object_get(paths, r->path);

		if (item == NULL) {
			item = json_object();
			json_object_set_new(paths, r->path, item);
		}
		json_object_set_new(item, method, operation(r));
	}
	return paths;
}

static json_t *components(void)
{
	json_t *error = json_make(
		"{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}}, s:[s, s, s]}", "type",
		"object", "properties", "code", "type", "integer", "message",
		"type", "string", "explain", "type", "string", "required",
		"code", "message", "explain");

	return json_make("{s:{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:s, s:s, s:s},"
			 " s:{s:s, s:s, s:s}},"
			 " s:{s:{s:s, s:{s:{s:o}}}}}",
			 "securitySchemes", "basic", "type", "http", "scheme",
			 "basic", "token", "type", "http", "scheme", "bearer",
			 "session", "type", "apiKey", "in", "cookie", "name",
			 TOKEN_COOKIE, "ticket", "type", "apiKey", "in",
			 "query", "name", "ticket", "responses", "error",
			 "description", "An error", "content",
			 "application/json", "schema", error);
}

json_t *resource_openapi(struct request *q, struct error *err)
{
	(void)q;
	(void)err;
	return json_make("{s:s, s:{s:s, s:s}, s:o, s:o}", "openapi", "3.1.0",
			 "info", "title", "Gantry remote API", "version",
			 GANETI_RELEASE, "paths", all_paths(), "components",
			 components());
}
