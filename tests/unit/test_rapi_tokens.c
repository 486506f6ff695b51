/* SPDX-License-Identifier: BSD-2-Clause */
/* What tokens allow, tags of answers, and what is left out of a plan's name. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "rapi/access/auth.h"
#include "rapi/access/users.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/route.h"
#include "rapi/frame/tag.h"
#include "rapi/frame/token.h"

TestSuite(rapi_tokens, .init = mem_init);

static const struct route *find(const char *method, const char *path,
				struct strv *ret_items)
{
	struct error err;
	const struct route *route = route_find(method, path, ret_items, &err);

	cr_assert_not_null(route, "%s %s: %s", method, path, err.text);
	return route;
}

Test(rapi_tokens, each_request_needs_one_right)
{
	static const struct {
		const char *method, *path, *right;
	} cases[] = {
		{"GET", "/2/instances", "read"},
		{"GET", "/gantry/1/events", "read"},
		{"GET", "/2/query/node", "read"},
		{"PUT", "/2/query/node", "read"},
		{"POST", "/gantry/1/placement", "read"},
		{"PUT", "/gantry/1/instances/a", "read"},
		{"POST", "/gantry/1/instances/a/console", "console"},
		{"GET", "/2/instances/a/tags", "read"},
		{"GET", "/2/instances/a/info", "read"},
		{"GET", "/2/instances/a/console", "console"},
		{"PUT", "/2/instances/a/startup", "power"},
		{"PUT", "/2/instances/a/shutdown", "power"},
		{"POST", "/2/instances/a/reboot", "power"},
		{"POST", "/2/instances", "create"},
		{"POST", "/2/instances-multi-alloc", "create"},
		{"DELETE", "/2/instances/a", "destroy"},
		{"PUT", "/2/instances/a/migrate", "migrate"},
		{"PUT", "/2/instances/a/failover", "migrate"},
		{"POST", "/2/instances/a/replace-disks", "migrate"},
		{"PUT", "/2/instances/a/modify", "modify"},
		{"PUT", "/2/instances/a/tags", "modify"},
		{"POST", "/2/instances/a/reinstall", "modify"},
		{"PUT", "/2/instances/a/export", "modify"},
		{"PUT", "/2/nodes/a/role", "node"},
		{"PUT", "/2/nodes/a/tags", "node"},
		{"PUT", "/2/tags", "cluster"},
		{"POST", "/2/groups", "cluster"},
		{"PUT", "/2/modify", "cluster"},
		{"POST", "/2/filters", "cluster"},
		{"DELETE", "/2/jobs/1", "cluster"},
		{"POST", "/gantry/1/cluster/failover", "cluster"},
		{"GET", "/gantry/1/tokens", "tokens"},
		{"POST", "/gantry/1/tokens", "tokens"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strv struct strv items = {0};
		const struct route *route =
			find(cases[i].method, cases[i].path, &items);

		cr_expect_str_eq(token_right_of(route), cases[i].right, "%s %s",
				 cases[i].method, cases[i].path);
	}
}

/* Whatever the table has: a right that exists, and no write by reading. */
Test(rapi_tokens, no_route_is_forgotten)
{
	for (const struct route *r = routes(); r->method != NULL; r++) {
		const char *right = token_right_of(r);

		cr_expect(token_is_right(right), "%s", r->path);
		if (strcmp(r->method, "GET") != 0 &&
		    !str_starts(r->path, "/2/query") &&
		    strcmp(r->path, "/gantry/1/placement") != 0 &&
		    /* Its opcodes are checked. */
		    strcmp(r->path, "/gantry/1/instances/{instance}") != 0)
			cr_expect_str_neq(right, "read", "%s %s", r->method,
					  r->path);
	}
	cr_expect_not(token_is_right("all"));
	cr_expect_not(token_is_right(""));
}

Test(rapi_tokens, opcodes_need_the_rights_of_their_requests)
{
	static const struct {
		const char *opcode, *right;
	} cases[] = {
		{"OP_INSTANCE_CREATE", "create"},
		{"OP_INSTANCE_STARTUP", "power"},
		{"OP_INSTANCE_SET_PARAMS", "modify"},
		{"OP_INSTANCE_REMOVE", "destroy"},
		{"OP_TAGS_SET", "modify"},
		{"OP_TAGS_DEL", "modify"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *ops = json_make("[{s:s}, {s:s}]", "OP_ID",
						  "OP_INSTANCE_REBOOT", "OP_ID",
						  cases[i].opcode);
		auto_json json_t *both = json_make("{s:[s, s]}", "rights",
						   "power", cases[i].right);
		auto_json json_t *other =
			json_make("{s:[s, s]}", "rights", "read", "power");
		struct error err;

		cr_expect_eq(token_check_ops(both, ops, &err), 0);
		cr_expect_eq(token_check_ops(other, ops, &err),
			     strcmp(cases[i].right, "power") == 0 ? 0 : -1);
	}
}

static int status_with(const char *method, const char *path, json_t *token)
{
	auto_json json_t *owned = token;
	struct request q = {0};
	struct error err;
	int rc;

	q.route = find(method, path, &q.items);
	rc = token_check(&q, owned, &err);
	request_done(&q);
	return rc == 0 ? 200 : reply_status(&err);
}

Test(rapi_tokens, a_scope_keeps_from_the_rest)
{
	cr_expect_eq(status_with("GET", "/2/nodes",
				 json_make("{s:[s]}", "rights", "read")),
		     200);
	cr_expect_eq(status_with("PUT", "/2/tags",
				 json_make("{s:[s]}", "rights", "read")),
		     403);
	cr_expect_eq(status_with("PUT", "/2/tags",
				 json_make("{s:[s]}", "rights", "cluster")),
		     200);
	cr_expect_eq(status_with("PUT", "/2/tags",
				 json_make("{s:[s], s:{s:[s]}}", "rights",
					   "cluster", "scope", "names", "*")),
		     403);
	cr_expect_eq(status_with("GET", "/2/nodes",
				 json_make("{s:[s], s:{s:[s]}}", "rights",
					   "read", "scope", "names", "x")),
		     200);
	cr_expect_eq(status_with("POST", "/2/instances",
				 json_make("{s:[s], s:{}}", "rights", "create",
					   "scope")),
		     403);
	cr_expect_eq(status_with("GET", "/2/nodes", json_object()), 403);
}

Test(rapi_tokens, each_is_another)
{
	char one[HASH_HEX], two[HASH_HEX], again[HASH_HEX], word[HASH_HEX];
	auto_free char *a = token_new(one), *b = token_new(two);

	cr_expect(str_starts(a, TOKEN_PREFIX));
	cr_expect_eq(strlen(a), strlen(TOKEN_PREFIX) + 64);
	cr_expect_str_neq(a, b);
	cr_expect_str_neq(one, two);
	hash_hex(a, strlen(a), again);
	cr_expect_str_eq(one, again);
	token_csrf(one, word);
	cr_expect_str_neq(word, one);
	hash_hex("abc", 3, again);
	cr_expect(str_starts(again, "ba7816bf8f01cfea414140de5dae2223"));
}

Test(rapi_tokens, a_token_lives_as_long_as_its_user)
{
	auto_json json_t *token =
		json_make("{s:s, s:s}", "id", "1", "user", "joe");
	struct users users;
	struct error err;
	struct auth a;

	users_init(&users, "users");
	users_parse(&users, "joe x read\n");
	cr_assert_eq(auth_read(&a, &users, "bearer  gnt_1", true, &err), 0);
	cr_expect_not_null(a.hash);
	cr_assert_eq(auth_take_token(&a, &users, token, &err), 0);
	cr_expect_str_eq(a.user, "joe");
	cr_expect_eq(auth_check(&a, ROUTE_READ, &err), 0);
	cr_expect_eq(auth_check(&a, ROUTE_WRITE, &err), -1);
	cr_expect_eq(reply_status(&err), 403);
	cr_expect(auth_holds(&a, &users, false));
	users_parse(&users, "joe y read\n");
	cr_expect_not(auth_holds(&a, &users, false), "another password");
	users_parse(&users, "");
	cr_expect_not(auth_holds(&a, &users, false));
	auth_done(&a);
	cr_assert_eq(auth_read(&a, &users, "Bearer x", true, &err), 0);
	cr_expect_eq(auth_take_token(&a, &users, token, &err), -1);
	cr_expect_eq(reply_status(&err), 401);
	auth_done(&a);
	cr_assert_eq(auth_read(&a, &users, "Bearer x", true, &err), 0);
	cr_expect_eq(auth_take_token(&a, &users, NULL, &err), -1);
	auth_done(&a);
	users_done(&users);
}

Test(rapi_tokens, a_tag_says_its_serial_number)
{
	auto_json json_t *object = json_make("{s:i}", "serial_no", 12);
	auto_json json_t *list = json_array();
	auto_free char *one = tag_of(object, "a"), *two = tag_of(object, "b");
	auto_free char *plain = tag_of(list, "a");

	cr_expect(str_starts(one, "\"12-"));
	cr_expect_str_neq(one, two);
	cr_expect_eq(strlen(plain), 18);
	cr_expect(tag_is_among(one, one));
	cr_expect(tag_is_among(one, "*"));
	cr_expect_not(tag_is_among(one, two));
}
