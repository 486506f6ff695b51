/* SPDX-License-Identifier: BSD-2-Clause */
/* The resources' functions are called as for a request that came over the
 * network.  What only looks is asked first, so that the jobs which the others
 * submit are not among its answers. */
#include "rapi/resources/fixtures.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"

/* Beyond it the folder is of no use to anybody; a cluster of 1,000 instances
 * has so many answers. */
#define FIXTURES_MAX 10000

struct fixtures {
	struct request_way way;
	const char *folder;
	struct luxi *luxi;
	json_t *index;
};

/* The names that stand for {what} in paths: of a list's entries, or these. */
static const struct {
	const char *what, *list, *key;
	const char *const *names;
} items[] = {
	{"node", "/2/nodes", "id", NULL},
	{"instance", "/2/instances", "id", NULL},
	{"group", "/2/groups", "name", NULL},
	{"network", "/2/networks", "name", NULL},
	{"job", "/2/jobs", "id", NULL},
	{"filter", "/2/filters", "uuid", NULL},
	{"resource", NULL, NULL,
	 (const char *const[]){"export", "group", "instance", "job", "lock",
			       "network", "node", NULL}},
};

/* What a path needs besides itself. */
static const struct {
	const char *path, *args;
} needs[] = {
	{"/2/query/{resource}", "fields=%s"},
	{"/2/nodes/{node}/storage",
	 "storage_type=file&output_fields=name,used,size,free"},
};

/* The body of a GET that asks for one. */
#define WAIT_BODY                                                              \
	"{\"fields\": [\"status\"], \"previous_job_info\": null, "             \
	"\"previous_log_serial\": null}"

/* --- one answer --- */

/* What one request gives. */
struct answer {
	int status;
	char *text;
	const char *type;
	json_t *value; /* NULL: an error, or no JSON */
};

static void answer_done(struct answer *a)
{
	free(a->text);
	json_decref(a->value);
}

static void run(struct request *q, struct answer *ret)
{
	struct error err;

	ret->type = REPLY_TYPE;
	ret->value = q->route->run(q, &err);
	if (ret->value == NULL) {
		ret->status = reply_status(&err);
		ret->text = reply_error_text(ret->status, err.text);
		return;
	}
	ret->status = q->status == 0 ? 200 : q->status;
	ret->text = q->text != NULL ? steal(&q->text) : reply_text(ret->value);
	if (q->type != NULL)
		ret->type = q->type;
}

static void ask(struct fixtures *f, const char *target, struct answer *ret)
{
	struct request q = {.target = target,
			    .way = &f->way,
			    .luxi = f->luxi,
			    .may_console = true};
	auto_free char *path = NULL;
	struct error err;

	*ret = (struct answer){0};
	args_read(&q.args, target, &path);
	q.route = route_find("GET", path, &q.items, &err);
	if (q.route != NULL && q.route->run == resource_job_wait)
		request_read_body(&q, REPLY_TYPE, WAIT_BODY, strlen(WAIT_BODY),
				  &err);
	if (q.route != NULL) {
		run(&q, ret);
	} else {
		ret->status = reply_status(&err);
		ret->text = reply_error_text(ret->status, err.text);
		ret->type = REPLY_TYPE;
	}
	f->luxi = steal(&q.luxi);
	request_done(&q);
}

/* "/2/nodes?bulk=1" becomes "2/nodes.bulk". */
static char *file_of(const char *target, const char *type)
{
	size_t n = strcspn(target, "?");
	const char *dot = strcmp(type, REPLY_TYPE) == 0 ? ".json" : ".txt";
	const char *bulk = strstr(target + n, "bulk=1") ? ".bulk" : "";
	bool named = n > 1 && memchr(target, '.', n) != NULL &&
		     str_starts(target, "/openapi");

	if (n <= 1)
		return xprintf("root%s", dot);
	return xprintf("%.*s%s%s", (int)(n - 1), target + 1, bulk,
		       named ? "" : dot);
}

static int write_file(const struct fixtures *f, const char *name,
		      const char *text, struct error *err)
{
	auto_free char *file = xprintf("%s/%s", f->folder, name);
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	return fs_write_atomic(file, text, strlen(text), 0644, err);
}

static int keep(struct fixtures *f, const char *target, struct error *err)
{
	__attribute__((cleanup(answer_done))) struct answer a;
	auto_free char *name = NULL;

	if (json_array_size(f->index) >= FIXTURES_MAX)
		return error_set(err, ERR_PREREQ, ECODE_NORES,
				 "There are more than %d answers",
				 FIXTURES_MAX);
	ask(f, target, &a);
	name = file_of(target, a.type);
	json_array_append_new(f->index,
			      json_make("{s:s, s:s, s:i, s:s}", "path", target,
					"file", name, "status", a.status,
					"type", a.type));
	return write_file(f, name, a.text, err);
}

/* --- all paths --- */

/* The names of all fields that a query of this kind knows, with commas
 * between; to be freed. */
static char *all_fields(struct fixtures *f, const char *what)
{
	auto_free char *target = xprintf("/2/query/%s/fields", what);
	__attribute__((cleanup(answer_done))) struct answer a;
	struct buf b = {0};
	const json_t *fields;

	ask(f, target, &a);
	fields = json_get(a.value, "fields");
	for (size_t i = 0; i < json_array_size(fields); i++)
		buf_addf(&b, "%s%s", i == 0 ? "" : ",",
			 json_str(json_array_get(fields, i), "name", ""));
	return b.data == NULL ? xstrdup("name") : buf_steal(&b);
}

/* The arguments that a path needs, to be freed; NULL: none. */
static char *args_of(struct fixtures *f, const struct route *r,
		     const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		auto_free char *fields = NULL;

		if (strcmp(needs[i].path, r->path) != 0)
			continue;
		if (strstr(needs[i].args, "%s") == NULL)
			return xstrdup(needs[i].args);
		fields = all_fields(f, strrchr(path, '/') + 1);
		return xprintf("fields=%s", fields);
	}
	return NULL;
}

/* The answers of one path without braces. */
static int keep_path(struct fixtures *f, const struct route *r,
		     const char *path, struct error *err)
{
	auto_free char *args = args_of(f, r, path);
	auto_free char *target =
		args == NULL ? xstrdup(path) : xprintf("%s?%s", path, args);
	auto_free char *bulk = xprintf("%s?bulk=1", path);

	if (keep(f, target, err) < 0)
		return -1;
	return r->run == resource_list ? keep(f, bulk, err) : 0;
}

/* What stands for {what}, to be freed. */
static json_t *names_of(struct fixtures *f, const char *what, size_t len)
{
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		__attribute__((cleanup(answer_done))) struct answer a = {0};

		if (strlen(items[i].what) != len ||
		    strncmp(items[i].what, what, len) != 0)
			continue;
		for (const char *const *s = items[i].names;
		     s != NULL && *s != NULL; s++)
			json_array_append_new(names, json_string(*s));
		if (items[i].list == NULL)
			continue;
		ask(f, items[i].list, &a);
		for (size_t k = 0; k < json_array_size(a.value); k++)
			json_array_append_new(
				names,
				json_ref(json_get(json_array_get(a.value, k),
						  items[i].key))
					?: json_null());
	}
	return names;
}

/* All paths of a row: the only name in it may be that of each object. */
static int keep_route(struct fixtures *f, const struct route *r,
		      struct error *err)
{
	const char *open = strchr(r->path, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');
	auto_json json_t *names = NULL;

	if (open == NULL)
		return keep_path(f, r, r->path, err);
	if (strchr(close, '{') != NULL)
		return 0;
	names = names_of(f, open + 1, (size_t)(close - open - 1));
	for (size_t i = 0; i < json_array_size(names); i++) {
		json_t *name = json_array_get(names, i);
		auto_free char *word =
			json_is_string(name)
				? xstrdup(json_string_value(name))
				: xprintf("%jd",
					  (intmax_t)json_integer_value(name));
		auto_free char *path =
			xprintf("%.*s%s%s", (int)(open - r->path), r->path,
				word, close + 1);

		if (keep_path(f, r, path, err) < 0)
			return -1;
	}
	return 0;
}

static bool submits(const struct route *r)
{
	return r->jobs || r->run == resource_os;
}

/* Not kept: what goes on without end, wants a ticket, or is known to a running
 * daemon alone. */
static bool is_kept(const struct route *r)
{
	return strcmp(r->method, "GET") == 0 && r->stream != STREAM_ALWAYS &&
	       !r->ticket && r->run != resource_samples;
}

static int keep_all(struct fixtures *f, bool jobs, struct error *err)
{
	for (const struct route *r = routes(); r->method != NULL; r++)
		if (is_kept(r) && submits(r) == jobs &&
		    keep_route(f, r, err) < 0)
			return -1;
	return 0;
}

int fixtures_write(const struct paths *p, const char *folder, size_t *ret_n,
		   struct error *err)
{
	auto_json json_t *index = json_array();
	struct fixtures f = {
		.way = {.luxi_socket = path(p, PATH_QUERY_SOCKET),
			.relay_socket = path(p, PATH_RELAY_SOCKET)},
		.folder = folder,
		.index = index};
	auto_free char *text = NULL;
	int rc = fs_mkdirs(folder, 0755, err) < 0 ||
				 keep_all(&f, false, err) < 0 ||
				 keep_all(&f, true, err) < 0
			 ? -1
			 : 0;

	luxi_close(f.luxi);
	if (rc < 0)
		return -1;
	text = json_text(index);
	*ret_n = json_array_size(index);
	return write_file(&f, "index.json", text, err);
}
