/* SPDX-License-Identifier: BSD-2-Clause */
/* Long calls of a master that is replaced while they wait: what they had begun
 * is over, and they begin nothing more. */
#include "tests/lib/node.h"
#include "tests/lib/standin.h"

#include <unistd.h>

#include "noded/calls/calls.h"

#define STATE "/var/run/ganeti/fake-hypervisor/web1"

#define FENCED 412

/* Turns of the loop until something must have happened. */
#define TURNS_MAX 100000
#define TURN_US 500

static struct test_node node;

static void setup(void)
{
	mem_init();
	test_loop_start();
	test_node_create(&node);
}

static void teardown(void)
{
	test_node_loop_stop(&node);
	test_node_destroy(&node);
}

TestSuite(noded_fenced, .init = setup, .fini = teardown, .timeout = 60);

/* --- a call that goes on beside others --- */

static struct test_request begin(const char *path, const char *term,
				 const char *body)
{
	return (struct test_request){.node = &node,
				     .method = "POST",
				     .path = path,
				     .term = term,
				     .body = body};
}

static void run_until(bool (*done)(void))
{
	for (int i = 0; i < TURNS_MAX && !done(); i++)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_assert(done());
}

/* A master of this term calls for the first time. */
static void new_master(const char *term)
{
	struct test_request r = begin("/version", term, "[]");

	task_spawn("request", test_request_task, &r);
	while (r.answer == NULL)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_assert_eq(r.status, 200, "%s", r.answer);
	free(r.answer);
}

static void expect_fenced(struct test_request *r)
{
	test_run_tasks();
	cr_expect_eq(r->status, FENCED, "%s", r->answer);
	cr_expect_null(strstr(r->answer, RPC_NOT_BEGUN));
	free(r->answer);
}

static void expect_done(struct test_request *r)
{
	test_run_tasks();
	cr_expect_eq(r->status, 200);
	cr_expect_str_eq(r->answer, "[true,null]");
	free(r->answer);
}

/* --- programs of storage --- */

static bool has_begun(void)
{
	auto_free char *text =
		test_node_read(&node, STANDIN_FOLDER "vgreduce.began");

	return text != NULL;
}

/* A volume group that misses something, and a vgreduce that takes its time and
 * does not help: the call then runs it once more. */
static void make_slow_lvm(void)
{
	standin_make(&node, "vgs");
	standin_say(&node, "vgs.out",
		    "{\"report\":[{\"vg\":[{\"vg_name\":\"xenvg\", "
		    "\"vg_size\":\"8\", \"vg_free\":\"4\", "
		    "\"vg_attr\":\"wz-pn-\"}]}]}");
	test_node_write(&node, STANDIN_FOLDER "vgreduce",
			"#!/bin/sh\n"
			"dir=${0%/*}\n"
			"echo \"vgreduce $*\" >>\"$dir/log\"\n"
			"echo >\"$dir/vgreduce.began\"\n"
			"for i in 1 2 3 4 5 6 7 8 9 10; do\n"
			"    while [ ! -f \"$dir/go\" ]; do sleep 0.01; done\n"
			"done\n",
			0755);
}

Test(noded_fenced, between_two_programs_of_storage_the_master_is_looked_at)
{
	struct test_request r =
		begin("/storage_execute", "5",
		      "[\"lvm-vg\", [], \"xenvg\", \"fix-consistency\"]");

	make_slow_lvm();
	task_spawn("request", test_request_task, &r);
	/* Nothing of the loop happens while the program runs. */
	for (int i = 0; i < TURNS_MAX && !has_begun(); i++) {
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
		usleep(TURN_US);
	}
	new_master("6");
	standin_say(&node, "go", "");
	expect_fenced(&r);
	standin_did(&node, "vgreduce --removemissing xenvg");
}

/* --- instances --- */

/* Its guest does not listen. */
static void make_deaf(void)
{
	test_node_write(&node, STATE, "0\n64\n2\ndeaf\n", 0644);
}

static bool runs(void)
{
	auto_free char *text = test_node_read(&node, STATE);

	return text != NULL;
}

static bool was_asked(void)
{
	auto_free char *text = test_node_read(&node, STATE);

	return text != NULL && strstr(text, "asked") != NULL;
}

/* The guest ends, as if by itself. */
static void end_guest(void)
{
	auto_free char *file = paths_local(node.root.paths, STATE);

	cr_assert_eq(unlink(file), 0);
}

/* The call's first argument is the instance, the others are `rest`. */
static struct test_request ask(const char *path, const char *term,
			       const char *rest)
{
	static char body[2000];
	auto_json json_t *instance = test_instance("web1", 64);
	auto_free char *text = json_text(instance);
	struct test_request r = begin(path, term, body);

	snprintf(body, sizeof(body), "[%s, %s]", text, rest);
	return r;
}

Test(noded_fenced, a_reboot_of_a_replaced_master_starts_nothing)
{
	struct test_request r = ask("/instance_reboot", "5", "\"hard\", 3600");

	make_deaf();
	task_spawn("request", test_request_task, &r);
	run_until(was_asked);
	new_master("6");
	end_guest();
	expect_fenced(&r);
	cr_expect_not(runs());
}

Test(noded_fenced, a_reboot_of_the_master_starts_it_again)
{
	struct test_request r = ask("/instance_reboot", "5", "\"hard\", 3600");

	make_deaf();
	task_spawn("request", test_request_task, &r);
	run_until(was_asked);
	new_master("5");
	end_guest();
	expect_done(&r);
	cr_expect(runs());
}

Test(noded_fenced, a_shutdown_of_a_replaced_master_forces_nothing)
{
	struct test_request r = ask("/instance_shutdown", "5", "1");

	make_deaf();
	task_spawn("request", test_request_task, &r);
	run_until(was_asked);
	new_master("6");
	expect_fenced(&r);
	cr_expect(runs());
}

/* Tools on the node have no term: nobody can replace them. */
Test(noded_fenced, who_has_no_term_is_served_to_the_end)
{
	struct test_request r = ask("/instance_shutdown", NULL, "1");

	make_deaf();
	task_spawn("request", test_request_task, &r);
	run_until(was_asked);
	new_master("6");
	expect_done(&r);
	cr_expect_not(runs());
}

/* --- calls_running --- */

/* What runs besides, to be freed. */
static json_t *running(void)
{
	struct test_request r = begin("/calls_running", NULL, "[]");
	auto_free char *answer = NULL;
	auto_json json_t *value = NULL;
	struct error err;

	task_spawn("request", test_request_task, &r);
	while (r.answer == NULL)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	answer = r.answer;
	value = json_parse(answer, strlen(answer), &err);
	cr_assert(json_is_true(json_array_get(value, 0)), "%s", answer);
	return json_incref(json_array_get(value, 1));
}

Test(noded_fenced, a_node_tells_what_it_still_does)
{
	struct test_request r = ask("/instance_shutdown", "5", "3600");
	auto_json json_t *none = NULL, *rows = NULL, *after = NULL;
	const json_t *row;

	none = test_node_ok(&node, "calls_running", json_array());
	cr_expect_eq(json_array_size(none), 0);
	make_deaf();
	task_spawn("request", test_request_task, &r);
	run_until(was_asked);
	rows = running();
	cr_assert_eq(json_array_size(rows), 1);
	row = json_array_get(rows, 0);
	cr_expect_str_eq(json_str(row, "procedure", ""), "instance_shutdown");
	cr_expect_str_eq(json_str(row, "instance", ""), "web1");
	cr_expect_eq(json_int(row, "term", -1), 5);
	cr_expect_geq(json_number_value(json_get(row, "seconds")), 0);
	cr_expect_null(json_get(row, "disks"));
	end_guest();
	expect_done(&r);
	after = test_node_ok(&node, "calls_running", json_array());
	cr_expect_eq(json_array_size(after), 0);
}

/* What calls are about, with JSON of their arguments. */
static const struct {
	const char *procedure, *args, *wanted;
} calls[] = {
	{"blockdev_assemble", "[{\"uuid\":\"d1\"},{\"name\":\"web1\"},true,0]",
	 "{\"disks\":[\"d1\"],\"instance\":\"web1\"}"},
	{"blockdev_create", "[{\"uuid\":\"d1\"},4,\"web1\",true,null,false]",
	 "{\"disks\":[\"d1\"],\"instance\":\"web1\"}"},
	{"blockdev_rename", "[[[{\"uuid\":\"d1\"},[]],[{\"uuid\":\"d2\"},[]]]]",
	 "{\"disks\":[\"d1\",\"d2\"]}"},
	{"finalize_export", "[{\"name\":\"web1\"},[false,{\"uuid\":\"d2\"}]]",
	 "{\"instance\":\"web1\",\"disks\":[\"d2\"]}"},
	{"upload_file_single", "[\"/etc/hosts\",[0,\"\"],420]",
	 "{\"file\":\"/etc/hosts\"}"},
	{"file_storage_dir_rename", "[\"/a\",\"/b\"]", "{\"file\":\"/a\"}"},
	{"node_change_master_netmask", "[24,32,\"127.0.0.1\",\"lo\"]", "{}"},
	{"instance_start", "[null]", "{}"},
	{"version", "[]", "{}"},
};

Test(noded_fenced, it_tells_what_they_are_about)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct error err;
		auto_json json_t *args =
			json_parse(calls[i].args, strlen(calls[i].args), &err);
		struct call c = {.n = &node.n, .procedure = calls[i].procedure};
		auto_json json_t *rows = NULL;
		auto_free char *text = NULL;
		json_t *row;

		calls_begin(&c, args);
		rows = running();
		calls_end(&c);
		row = json_array_get(rows, 0);
		json_object_del(row, "procedure");
		json_object_del(row, "seconds");
		json_object_del(row, "term");
		text = json_text(row);
		cr_expect_str_eq(text, calls[i].wanted);
	}
}
