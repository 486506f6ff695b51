/* SPDX-License-Identifier: BSD-2-Clause */
/* OS images on new disks, and on those of instances that are installed again:
 * which calls nodes get, in which order, and what becomes of failures. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

#define IMAGE "/srv/images/debian"
#define NODE1 "node1.example.com"

static struct strv calls;

/* Nodes with volume groups. */
static void setup_volumes(void)
{
	sim_init_big(&s, 3, 1, 1);
	s.calls = &calls;
}

static void teardown_calls(void)
{
	strv_done(&calls);
	teardown();
}

TestSuite(images, .init = setup_volumes, .fini = teardown_calls, .timeout = 60);

static json_t *with_image(json_t *op STEALS, const char *image)
{
	json_object_set_new(op, "osparams",
			    json_make("{s:s}", "os-image", image));
	return op;
}

static json_t *op_image(const char *image)
{
	json_t *op = with_image(op_add("web1", NODE2, true), image);

	json_object_del(op, "os_type");
	return op;
}

static json_t *op_mirrored(void)
{
	json_t *op = op_image(IMAGE);

	json_set_str(op, "disk_template", "drbd");
	json_set_str(op, "snode", NODE3);
	return op;
}

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

/* How often a node got a call. */
static size_t count(const char *call)
{
	size_t n = 0;

	for (size_t i = 0; i < calls.n; i++)
		n += strcmp(calls.items[i], call) == 0;
	return n;
}

/* The calls to the node that are about installing, in their order. */
static void expect_calls(const char *node, const char *wanted)
{
	static const char *const about[] = {
		"blockdev_image ", "blockdev_pause_resume_sync ",
		"instance_os_add ", "instance_start "};
	auto_buf struct buf got = {0};

	for (size_t i = 0; i < calls.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(about); k++)
			if (str_starts(calls.items[i], about[k]) &&
			    strstr(calls.items[i], node) != NULL)
				buf_adds(&got, about[k]);
	cr_expect_str_eq(got.data == NULL ? "" : got.data, wanted);
	strv_done(&calls);
	calls = (struct strv){0};
}

Test(images, an_image_comes_in_place_of_the_scripts)
{
	const json_t *args;

	expect(op_image(IMAGE), "success");
	expect_calls(NODE2, "blockdev_image instance_start ");
	args = s.nodes[1].image;
	cr_assert_eq(json_array_size(args), 3);
	cr_assert_str_eq(json_str(json_array_get(args, 0), "dev_type", ""),
			 "sharedfile");
	cr_assert_str_eq(json_string_value(json_array_get(args, 1)), IMAGE);
	cr_assert_eq(json_integer_value(json_array_get(args, 2)), 64);
	cr_assert_str_eq(json_str(json_get(instance("web1"), "osparams"),
				  "os-image", ""),
			 IMAGE);
}

Test(images, mirrors_are_paused_meanwhile)
{
	expect(op_mirrored(), "success");
	expect_calls(NODE2, "blockdev_pause_resume_sync blockdev_image "
			    "blockdev_pause_resume_sync instance_start ");
	cr_assert_eq(count("blockdev_image " NODE3), 0);
}

Test(images, a_failing_one_leaves_no_instance)
{
	s.nodes[1].fail_on = "blockdev_image";
	expect(op_mirrored(), "Could not image disk '0' for instance 'web1'");
	expect_calls(NODE2, "blockdev_pause_resume_sync blockdev_image "
			    "blockdev_pause_resume_sync ");
	cr_assert_null(instance("web1"));
	cr_assert_eq(s.files.n, 0);
}

Test(images, what_is_none_is_refused)
{
	static const char *const wrong[] = {"",		"x/y",	   "default",
					    "HTTP://x", "http:/x", "file:///x"};
	json_t *op = with_image(op_add("web1", NODE2, false), IMAGE);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		expect(op_image(wrong[i]), "absolute path or a URL");
	expect(op, "needs a new disk");
	expect_calls(NODE2, "");
	cr_assert_null(instance("web1"));
}

static json_t *op_reinstall(const char *os)
{
	json_t *op = op_named("OP_INSTANCE_REINSTALL", "web1");

	if (os != NULL)
		json_set_str(op, "os_type", os);
	return op;
}

Test(images, a_reinstallation_puts_it_there_again)
{
	json_t *down = op_image(IMAGE);

	json_set_bool(down, "start", false);
	expect(down, "success");
	expect_calls(NODE2, "blockdev_image ");
	expect(op_reinstall(NULL), "success");
	expect_calls(NODE2, "blockdev_image ");
	expect(with_image(op_reinstall("noop"), "http://host/image"),
	       "success");
	expect_calls(NODE2, "blockdev_image instance_os_add ");
	cr_assert_str_eq(json_string_value(json_array_get(s.nodes[1].image, 1)),
			 "http://host/image");
	expect(with_image(op_reinstall(NULL), "x"), "absolute path or a URL");
	s.nodes[1].fail_on = "blockdev_image";
	expect(op_reinstall(NULL), "Could not image disk '0'");
	expect_calls(NODE2, "blockdev_image ");
	cr_assert_not_null(instance("web1"));
}

Test(images, a_long_one_tells_how_far_it_is)
{
	auto_free char *text = NULL;
	uint64_t id;

	s.nodes[1].image_ms = 10 * 60 * 1000;
	id = sim_submit(&s, op_image(IMAGE), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	text = sim_job_log(&s, id);
	cr_assert_not_null(strstr(text, "* imaging: 50% done"), "%s", text);
	cr_assert_gt(count("impexp_status " NODE2), 200);
}
