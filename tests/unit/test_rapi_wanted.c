/* SPDX-License-Identifier: BSD-2-Clause */
/* An instance as it shall be, beside the one that there is. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "rapi/wanted/wanted.h"

TestSuite(rapi_wanted, .init = mem_init);

/* A row with the fields of wanted_fields. */
#define ROW(admin, oper)                                                       \
	"[\"web1.example.com\", \"" admin "\", " oper                          \
	", \"noop\", \"fake\", \"plain\","                                     \
	" {\"vcpus\": 1, \"maxmem\": 128, \"minmem\": 128,"                    \
	"  \"auto_balance\": true}, {}, {}, {\"vcpus\": 1}, {}, {}, [\"a\"],"  \
	" [64, 32], [null, \"data\"], [\"aa:00:00:00:00:01\"],"                \
	" [\"192.0.2.1\"], [\"bridged\"], [\"br0\"], [\"net1\"], [null],"      \
	" [\"uuid-of-net1\"]]"

static json_t *read_json(const char *text)
{
	struct error err = {0};
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

struct outcome {
	int rc;
	char *changes, *ops;
	struct error err;
};

static struct outcome compare(const char *row, const char *body)
{
	auto_json json_t *columns = row == NULL ? NULL : read_json(row);
	auto_json json_t *now = row == NULL ? NULL : wanted_now(columns);
	auto_json json_t *wanted = read_json(body);
	auto_json json_t *changes = json_array(), *ops = json_array();
	struct wanted w = {.changes = changes, .ops = ops};
	struct outcome o = {0};

	o.rc = wanted_compare("web1.example.com", now, wanted, &w, &o.err);
	o.changes = json_text(changes);
	o.ops = json_text(ops);
	return o;
}

static void same(const char *row, const char *body)
{
	struct outcome o = compare(row, body);

	cr_assert_eq(o.rc, 0, "%s: %s", body, o.err.text);
	cr_assert_str_eq(o.changes, "[]", "%s: %s", body, o.changes);
	cr_assert_str_eq(o.ops, "[]");
	free(o.changes);
	free(o.ops);
}

static void expect(const char *row, const char *body, const char *ops)
{
	struct outcome o = compare(row, body);

	cr_assert_eq(o.rc, 0, "%s: %s", body, o.err.text);
	cr_assert_str_eq(o.ops, ops, "%s: %s", body, o.ops);
	cr_assert_str_neq(o.changes, "[]");
	free(o.changes);
	free(o.ops);
}

static void refused(const char *row, const char *body)
{
	struct outcome o = compare(row, body);

	cr_assert_eq(o.rc, -1, "%s: %s", body, o.ops);
	cr_assert_str_eq(o.err.ecode, ECODE_INVAL);
	free(o.changes);
	free(o.ops);
}

#define UP ROW("up", "true")
#define DOWN ROW("down", "false")

Test(rapi_wanted, what_is_so_already_is_no_change)
{
	static const char *const bodies[] = {
		"{}",
		"{\"state\": \"present\"}",
		"{\"state\": \"running\", \"os\": \"noop\"}",
		"{\"beparams\": {\"memory\": 128, \"vcpus\": \"1\"}}",
		"{\"beparams\": {\"memory\": \"128M\"}}",
		"{\"beparams\": {\"auto_balance\": \"True\"}}",
		"{\"beparams\": {\"maxmem\": \"default\"}}",
		"{\"tags\": [\"a\"], \"hypervisor\": \"fake\"}",
		"{\"disks\": [{\"size\": \"64m\"}, {\"name\": \"data\"}]}",
		"{\"disks\": [{}, {\"size\": 32, \"vg\": \"xenvg\"}]}",
		"{\"nics\": [{\"mac\": \"auto\", \"network\": \"net1\"}]}",
		"{\"nics\": [{\"network\": \"uuid-of-net1\"}]}",
		"{\"nics\": [{\"network\": \"net1\", \"ip\": \"pool\"}]}",
		"{\"pnode\": \"elsewhere\", \"iallocator\": \"hail\"}",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		same(UP, bodies[i]);
	same(DOWN, "{\"state\": \"stopped\"}");
	same(ROW("offline", "false"), "{\"state\": \"offline\"}");
	same(NULL, "{\"state\": \"absent\"}");
}

#define OP(id) "{\"OP_ID\":\"" id "\",\"instance_name\":\"web1.example.com\"}"

Test(rapi_wanted, states_are_reached)
{
	expect(DOWN, "{\"state\": \"running\"}",
	       "[" OP("OP_INSTANCE_STARTUP") "]");
	expect(UP, "{\"state\": \"stopped\"}",
	       "[" OP("OP_INSTANCE_SHUTDOWN") "]");
	expect(ROW("up", "false"), "{\"state\": \"running\"}",
	       "[" OP("OP_INSTANCE_STARTUP") "]");
	expect(ROW("up", "false"), "{\"state\": \"stopped\"}",
	       "[" OP("OP_INSTANCE_SHUTDOWN") "]");
	expect(ROW("down", "true"), "{\"state\": \"stopped\"}",
	       "[" OP("OP_INSTANCE_SHUTDOWN") "]");
	same(ROW("up", "null"), "{\"state\": \"running\"}");
}

/* It stops before it is changed, and starts after it. */
Test(rapi_wanted, opcodes_come_in_order)
{
	expect(UP,
	       "{\"state\": \"offline\", \"tags\": [],"
	       " \"disks\": [{\"size\": 65}, {}]}",
	       "[" OP("OP_INSTANCE_SHUTDOWN") ","
					      "{\"OP_ID\":\"OP_INSTANCE_SET_"
					      "PARAMS\","
					      "\"instance_name\":\"web1."
					      "example.com\","
					      "\"hotplug_if_possible\":true,"
					      "\"offline\":true},"
					      "{\"OP_ID\":\"OP_INSTANCE_GROW_"
					      "DISK\","
					      "\"instance_name\":\"web1."
					      "example.com\",\"disk\":0,"
					      "\"amount\":65,\"absolute\":true}"
					      ","
					      "{\"OP_ID\":\"OP_TAGS_DEL\","
					      "\"kind\":\"instance\","
					      "\"name\":\"web1.example.com\","
					      "\"tags\":[\"a\"]}]");
	expect(ROW("offline", "false"), "{\"state\": \"running\"}",
	       "[{\"OP_ID\":\"OP_INSTANCE_SET_PARAMS\","
	       "\"instance_name\":\"web1.example.com\","
	       "\"hotplug_if_possible\":true,\"offline\":false}," OP(
		       "OP_INSTANCE_STARTUP") "]");
}

Test(rapi_wanted, devices_go_from_the_end)
{
	expect(DOWN, "{\"disks\": [], \"remove\": true, \"nics\": []}",
	       "[{\"OP_ID\":\"OP_INSTANCE_SET_PARAMS\","
	       "\"instance_name\":\"web1.example.com\","
	       "\"hotplug_if_possible\":true,"
	       "\"disks\":[[\"remove\",1,{}],[\"remove\",0,{}]],"
	       "\"nics\":[[\"remove\",0,{}]]}]");
}

Test(rapi_wanted, what_cannot_be_is_refused)
{
	static const char *const bodies[] = {
		"[]",
		"1",
		"{\"nosuch\": 1}",
		"{\"state\": \"asleep\"}",
		"{\"state\": null}",
		"{\"hypervisor\": \"kvm\"}",
		"{\"disks\": [{\"size\": 63}]}",
		"{\"disks\": [{}]}",
		"{\"disks\": []}",
		"{\"disks\": [1]}",
		"{\"disks\": [{\"size\": true}, {}]}",
		"{\"disks\": [{\"size\": \"-1\"}, {}]}",
		"{\"nics\": {}}",
		"{\"tags\": [null]}",
		"{\"beparams\": {\"memory\": \"x\"}}",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		refused(UP, bodies[i]);
}

Test(rapi_wanted, a_new_one_is_created)
{
	struct outcome o = compare(
		NULL, "{\"os\": \"noop\", \"state\": \"stopped\","
		      " \"disks\": [{\"size\": \"1G\"}], \"remove\": true}");

	cr_assert_eq(o.rc, 0);
	cr_assert_not_null(strstr(o.ops, "\"OP_INSTANCE_CREATE\""));
	cr_assert_not_null(strstr(o.ops, "\"start\":false"));
	cr_assert_not_null(strstr(o.ops, "\"os_type\":\"noop\""));
	cr_assert_not_null(strstr(o.ops, "\"size\":1024"));
	cr_assert_null(strstr(o.ops, "remove"));
	cr_assert_null(strstr(o.ops, "state"));
	free(o.changes);
	free(o.ops);
}

Test(rapi_wanted, a_new_one_without_an_os_is_started_by_itself)
{
	struct outcome o =
		compare(NULL, "{\"os\": \"noop\", \"state\": \"running\","
			      " \"no_install\": true, \"disks\": []}");

	cr_assert_eq(o.rc, 0);
	cr_assert_not_null(strstr(o.ops, "\"start\":false"));
	cr_assert_not_null(strstr(o.ops, "\"OP_INSTANCE_STARTUP\""));
	free(o.changes);
	free(o.ops);
}
