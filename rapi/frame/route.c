/* SPDX-License-Identifier: BSD-2-Clause */
/* The table, and a comparison of paths, one character after the other. */
#include "rapi/frame/route.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/resource.h"

/* Short names for routes.def. */
#define RUN(what) .run = resource_##what
#define LIST(what) .run = resource_list, .kind = &resource_kind_##what
#define ONE(what) .run = resource_one, .kind = &resource_kind_##what
#define JOB(op) .run = resource_submit, .jobs = true, .opcode = &op_class_##op
#define INPUT(what) .input = input_##what
#define SETS(...) .sets = {__VA_ARGS__}
#define RENAMES(...) .renames = {__VA_ARGS__}
#define ITEM(param)                                                            \
	{                                                                      \
#param, SOURCE_ITEM                                            \
	}
#define ITEM_LIST(param)                                                       \
	{                                                                      \
#param, SOURCE_ITEM_LIST                                       \
	}
#define FLAG_AS(param, name)                                                   \
	{                                                                      \
#param, SOURCE_FLAG, .arg = name                               \
	}
#define FLAG(param) FLAG_AS(param, #param)
#define TEXT(param)                                                            \
	{                                                                      \
#param, SOURCE_TEXT, .arg = #param                             \
	}
#define DRY_RUN FLAG_AS(dry_run, "dry-run")
#define BALANCE                                                                \
	"group,max_steps,evac_mode,no_disk_moves,no_instance_moves,"           \
	"ignore_soft_errors"
#define ROUTE(how, where, called, needs, ...)                                  \
	{.method = #how,                                                       \
	 .path = where,                                                        \
	 .name = called,                                                       \
	 .rights = ROUTE_##needs,                                              \
	 __VA_ARGS__},
#define TAG_SETS(what, ...)                                                    \
	SETS({"kind", SOURCE_JSON, .arg = "\"" what "\""},                     \
	     {"tags", SOURCE_EVERY, .arg = "tag"}, DRY_RUN, ##__VA_ARGS__)
#define TAGS(where, called, what, ...)                                         \
	ROUTE(GET, where, called, NONE, RUN(tags), .tags = what)               \
	ROUTE(PUT, where, called, WRITE, JOB(tags_set),                        \
	      TAG_SETS(what, ##__VA_ARGS__))                                   \
	ROUTE(DELETE, where, called, WRITE, JOB(tags_del),                     \
	      TAG_SETS(what, ##__VA_ARGS__))

static const struct route table[] = {
#include "rapi/frame/routes.def"
	{.method = NULL},
};

const struct route *routes(void)
{
	return table;
}

enum route_lasts route_lasts(const struct route *r)
{
	static json_t *(*const last[])(struct request * q,
				       struct error * err) = {
		resource_null,	      resource_version,	   resource_features,
		resource_tags,	      resource_job_status, resource_node_role,
		resource_query_fields};

	if (strcmp(r->method, "GET") != 0 || r->jobs || r->stream)
		return ROUTE_LASTS_NOT;
	if (r->kind == &resource_kind_instance ||
	    r->kind == &resource_kind_node || r->run == resource_info)
		return ROUTE_LASTS_BRIEFLY;
	for (size_t i = 0; i < ARRAY_SIZE(last); i++)
		if (r->run == last[i])
			return ROUTE_LASTS;
	return r->kind == &resource_kind_group ||
			       r->kind == &resource_kind_network ||
			       r->kind == &resource_kind_filter ||
			       r->kind == &resource_kind_job
		       ? ROUTE_LASTS
		       : ROUTE_LASTS_NOT;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

static bool in_number(char c)
{
	return isdigit((unsigned char)c);
}

/* The length of the name at s that {what} stands for; 0: there is none. */
static size_t measure(const char *what, const char *s)
{
	bool number = str_starts(what, "{job}") || str_starts(what, "{disk}");
	size_t n = 0;

	while (number ? in_number(s[n]) : in_name(s[n]))
		n++;
	return n;
}

static bool match(const char *pattern, const char *path, struct strv *ret)
{
	while (*pattern != '\0') {
		size_t n;

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		n = measure(pattern, path);
		if (n == 0)
			return false;
		strv_add(ret, "");
		free(ret->items[ret->n - 1]);
		ret->items[ret->n - 1] = xstrndup(path, n);
		path += n;
		pattern = strchr(pattern, '}') + 1;
	}
	return *path == '\0';
}

/* HEAD is GET without the body (the server leaves it out), for probes.  Ganeti
 * has none, so its paths have none either. */
static bool serves(const struct route *r, const char *method)
{
	bool own = str_starts(r->path, "/gantry/") ||
		   r->run == resource_alive || r->run == resource_ready ||
		   r->run == resource_metrics || r->run == resource_openapi;

	if (strcmp(method, "HEAD") == 0 && own && r->stream == STREAM_NEVER &&
	    !r->ticket)
		method = "GET";
	return strcmp(r->method, method) == 0;
}

const struct route *route_find(const char *method, const char *path,
			       struct strv *ret_items, struct error *err)
{
	bool found = false;

	for (const struct route *r = table; r->method != NULL; r++) {
		struct strv items = {0};

		if (match(r->path, path, &items)) {
			found = true;
			if (serves(r, method)) {
				*ret_items = items;
				return r;
			}
		}
		strv_done(&items);
	}
	if (found)
		error_set(err, ERR_PREREQ, REPLY_METHOD,
			  "Method %.20s is unsupported for path %s", method,
			  path);
	else
		reply_bare(err, ECODE_NOENT);
	return NULL;
}
