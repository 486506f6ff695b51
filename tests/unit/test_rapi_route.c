/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of resources, and the opcodes that are made by it. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"

TestSuite(rapi_route, .init = mem_init);

static const struct route *find(const char *method, const char *path,
				struct strv *items, int *ret_status)
{
	struct error err;
	const struct route *r = route_find(method, path, items, &err);

	*ret_status = r == NULL ? reply_status(&err) : 200;
	return r;
}

static int status_of(const char *method, const char *path)
{
	struct strv items = {0};
	int status;

	find(method, path, &items, &status);
	strv_done(&items);
	return status;
}

Test(rapi_route, names_in_paths_are_taken)
{
	struct strv items = {0};
	int status;
	const struct route *r = find(
		"POST", "/2/instances/a-b_c.d/disk/12/grow", &items, &status);

	cr_assert_not_null(r);
	cr_expect_str_eq(r->name, "instances_name_disk_grow");
	cr_expect_eq(items.n, 2);
	cr_expect_str_eq(items.items[0], "a-b_c.d");
	cr_expect_str_eq(items.items[1], "12");
	strv_done(&items);
}

Test(rapi_route, what_is_not_there)
{
	cr_expect_eq(status_of("GET", "/2/info"), 200);
	cr_expect_eq(status_of("GET", "/2/info/"), 404);
	cr_expect_eq(status_of("GET", "/2/nodes/"), 404);
	cr_expect_eq(status_of("GET", "/2/nodes/a%62"), 404);
	cr_expect_eq(status_of("GET", "/2/nodes/a/b"), 404);
	cr_expect_eq(status_of("GET", "/2/jobs/x"), 404);
	cr_expect_eq(status_of("GET", ""), 404);
	cr_expect_eq(status_of("GET", "*"), 404);
	cr_expect_eq(status_of("POST", "/2/info"), 501);
	cr_expect_eq(status_of("get", "/2/info"), 501);
	cr_expect_eq(status_of("HEAD", "/2/info"), 501);
}

/* What a row sets has to be a parameter of its opcode, and a path must have the
 * names that are taken from it. */
Test(rapi_route, probes_may_ask_for_the_head_alone)
{
	cr_expect_eq(status_of("HEAD", "/healthz"), 200);
	cr_expect_eq(status_of("HEAD", "/gantry/1/leader"), 200);
	cr_expect_eq(status_of("HEAD", "/2/info"), 501);
	cr_expect_eq(status_of("HEAD", "/"), 501);
	cr_expect_eq(status_of("HEAD", "/gantry/1/events"), 501);
	cr_expect_eq(status_of("HEAD", "/gantry/1/instances/a/console/ws"),
		     501);
	cr_expect_eq(status_of("HEAD", "/gantry/1/placement"), 501);
}

Test(rapi_route, each_row_fits_its_opcode)
{
	for (const struct route *r = routes(); r->method != NULL; r++) {
		const struct route_set *set = r->sets;

		cr_expect_not_null(r->run, "%s", r->path);
		cr_expect(strcmp(r->method, "GET") == 0 || r->rights != 0,
			  "%s %s", r->method, r->path);
		for (size_t i = 0; i < ROUTE_SETS_MAX && set[i].param; i++)
			cr_expect(op_is_common(set[i].param) ||
					  op_has_param(r->opcode, set[i].param),
				  "%s: %s", r->path, set[i].param);
		for (size_t i = 0; i < ROUTE_RENAMES_MAX && r->opcode; i++)
			cr_expect(r->renames[i].to == NULL ||
					  strstr(r->path, "multi-alloc") ||
					  op_has_param(r->opcode,
						       r->renames[i].to),
				  "%s: %s", r->path, r->renames[i].to);
	}
}

/* --- opcodes --- */

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

/* The opcode that this request submits, without its reason; or the error's
 * text.  To be freed. */
static char *opcode(const char *method, const char *target, const char *body)
{
	auto_free char *path = NULL;
	auto_json json_t *params = NULL, *set = NULL, *op = NULL;
	struct request q = {.body = body == NULL ? NULL : parse(body)};
	struct error err;

	args_read(&q.args, target, &path);
	q.route = route_find(method, path, &q.items, &err);
	cr_assert_not_null(q.route, "%s", target);
	if (q.route->input != NULL)
		params = q.route->input(&q, &err);
	else
		params = json_incref(q.body) ?: json_object();
	if (params != NULL && (set = fill_set(&q, &err)) != NULL)
		op = fill_opcode(q.route->opcode, q.route, params, set, &err);
	request_done(&q);
	if (op == NULL)
		return xstrdup(err.text);
	json_object_del(op, "reason");
	return json_text(op);
}

static void expect(const char *method, const char *target, const char *body,
		   const char *wanted)
{
	auto_free char *got = opcode(method, target, body);

	cr_expect_str_eq(got, wanted);
}

Test(rapi_route, arguments_become_parameters)
{
	expect("PUT", "/2/instances/i/startup?force=1&dry-run=1", NULL,
	       "{\"instance_name\":\"i\",\"force\":true,\"dry_run\":true,"
	       "\"no_remember\":false,\"OP_ID\":\"OP_INSTANCE_STARTUP\"}");
	expect("POST", "/2/instances/i/reboot", NULL,
	       "{\"instance_name\":\"i\",\"reboot_type\":\"hard\","
	       "\"ignore_secondaries\":false,\"dry_run\":false,"
	       "\"OP_ID\":\"OP_INSTANCE_REBOOT\"}");
	expect("PUT", "/2/nodes/n/tags?tag=a&tag=b", NULL,
	       "{\"kind\":\"node\",\"tags\":[\"a\",\"b\"],\"dry_run\":false,"
	       "\"name\":\"n\",\"OP_ID\":\"OP_TAGS_SET\"}");
	expect("GET", "/2/nodes/n/storage?storage_type=file&output_fields=a,b",
	       NULL,
	       "{\"nodes\":[\"n\"],\"storage_type\":\"file\","
	       "\"output_fields\":[\"a\",\"b\"],"
	       "\"OP_ID\":\"OP_NODE_QUERY_STORAGE\"}");
	expect("GET", "/2/nodes/n/storage?storage_type=file", NULL,
	       "Missing the required 'output_fields' parameter");
}

Test(rapi_route, bodies_become_parameters)
{
	expect("POST", "/2/groups", "{\"name\":\"g\"}",
	       "{\"group_name\":\"g\",\"dry_run\":false,"
	       "\"OP_ID\":\"OP_GROUP_ADD\"}");
	expect("POST", "/2/groups", "{\"name\":\"g\",\"group_name\":\"h\"}",
	       "Parameter 'name' was renamed to 'group_name', but both are "
	       "specified");
	expect("PUT", "/2/groups/g/rename", "{\"group_name\":\"h\"}",
	       "Can't overwrite static parameters {'group_name'}");
	expect("PUT", "/2/groups/g/modify", "{\"x\":1}",
	       "Invalid body parameters: Object OpGroupSetParams doesn't "
	       "support the parameter 'x'");
	expect("PUT", "/2/groups/g/modify", "[]",
	       "Body contents: Type is 'list', but 'dict' is expected");
	expect("POST", "/2/instances/i/disk/3/grow", "{\"amount\":10}",
	       "{\"amount\":10,\"instance_name\":\"i\",\"disk\":3,"
	       "\"OP_ID\":\"OP_INSTANCE_GROW_DISK\"}");
}

Test(rapi_route, old_forms_are_read)
{
	expect("PUT", "/2/nodes/n/role?force=1", "\"drained\"",
	       "{\"drained\":true,\"node_name\":\"n\",\"force\":true,"
	       "\"auto_promote\":false,\"OP_ID\":\"OP_NODE_SET_PARAMS\"}");
	expect("PUT", "/2/nodes/n/role", "\"master\"",
	       "Can't set 'master' role");
	expect("POST", "/2/nodes/n/migrate?live=0", NULL,
	       "{\"mode\":\"non-live\",\"node_name\":\"n\","
	       "\"OP_ID\":\"OP_NODE_MIGRATE\"}");
	expect("POST",
	       "/2/instances/i/replace-disks?mode=replace_auto&disks=0,1", NULL,
	       "{\"remote_node\":null,\"mode\":\"replace_auto\","
	       "\"iallocator\":null,\"disks\":[0,1],\"instance_name\":\"i\","
	       "\"OP_ID\":\"OP_INSTANCE_REPLACE_DISKS\"}");
	expect("POST", "/2/instances", "{\"__version__\":0}",
	       "Instance creation request version 0 is no longer supported");
	expect("PUT", "/2/instances/i/modify",
	       "{\"custom_hvparams\":{},\"hvparams\":{}}",
	       "Parameter 'custom_hvparams' was renamed to 'hvparams', but "
	       "both "
	       "are specified");
}

Test(rapi_route, the_reason_says_who_asked)
{
	struct request q = {0};
	auto_free char *path = NULL;
	auto_json json_t *set = NULL;
	const json_t *reason;
	struct error err;

	args_read(&q.args, "/2/redistribute-config?reason=be+cause", &path);
	q.route = route_find("PUT", path, &q.items, &err);
	set = fill_set(&q, &err);
	reason = json_get(set, "reason");
	cr_assert_eq(json_array_size(reason), 2);
	cr_expect_str_eq(
		json_string_value(json_array_get(json_array_get(reason, 0), 0)),
		"gnt:user");
	cr_expect_str_eq(
		json_string_value(json_array_get(json_array_get(reason, 0), 1)),
		"be cause");
	cr_expect_str_eq(
		json_string_value(json_array_get(json_array_get(reason, 1), 0)),
		"gnt:library:rlib2:redist_config");
	request_done(&q);
}
