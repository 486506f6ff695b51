/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster from the answers of its master, and saved. */
#include <criterion/criterion.h>
#include <string.h>

#include "iallocators/live_answers.h"
#include "iallocators/save.h"
#include "iallocators/text.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

static struct cluster c;
static struct buf text;
static struct live_answers answers;

/* Rows as a list of values; null for what the master does not know. */
static json_t *rows(const char *json)
{
	struct error err;
	json_t *list = json_parse(json, strlen(json), &err), *row, *value;
	size_t i, k;

	cr_assert_not_null(list, "%s", err.text);
	json_array_foreach (list, i, row)
		json_array_foreach (row, k, value)
			json_array_set_new(
				row, k,
				json_is_null(value)
					? json_make("[i, n]", RS_NODATA)
					: json_make("[i, O]", RS_NORMAL,
						    value));
	return list;
}

#define POLICY                                                                 \
	"{\"minmax\": [], \"std\": {}, \"disk-templates\": [\"drbd\"],"        \
	" \"vcpu-ratio\": 4, \"spindle-ratio\": 32}"

static void setup(void)
{
	answers.groups =
		rows("[[\"u\", \"g\", \"preferred\", " POLICY ", [\"t\"]]]");
	/* n1 is the master and drained; n2 has no storage to report; n3 is
	 * offline; n4 has exclusive storage */
	answers.nodes = rows(
		"[[\"n1.x\", 1000, 100, 800, 5000, 4000, 8, 1, false, true,"
		"  true, 3, \"u\", [], false, null, null, 1.5],"
		" [\"n2.x\", 1000, 100, 800, null, null, 8, 1, false, false,"
		"  true, 1, \"u\", [\"a\", \"b\"], false, null, null, 1],"
		" [\"n3.x\", null, null, null, null, null, null, null, true,"
		"  false, true, 2, \"u\", [], false, null, null, 1],"
		" [\"n4.x\", 1000, 100, 800, 5000, 4000, 8, 1, false, false,"
		"  true, 1, \"u\", [], true, 9, 7, 1]]");
	answers.instances = rows(
		"[[\"i.x\", 300, 128, 2, \"running\", \"n1.x\", [\"n4.x\"],"
		"  [\"svc:a\"], true, \"drbd\", 2, [100, 200], [1, null],"
		"  false],"
		" [\"j.x\", 0, 64, 1, \"ADMIN_down\", \"n2.x\", [], [], false,"
		"  \"diskless\", 1, [], [], true]]");
	answers.info = json_make("{s: s, s: [s], s: o, s: s}", "master", "n1.x",
				 "tags", "htools:iextags:svc", "ipolicy",
				 json_parse(POLICY, strlen(POLICY), NULL),
				 "default_hypervisor", "xen-pvm");
}

static void done(void)
{
	live_answers_done(&answers);
	answers = (struct live_answers){0};
	cluster_done(&c);
	c = (struct cluster){0};
	buf_done(&text);
}

TestSuite(live, .init = setup, .fini = done);

static int take(int64_t kvm, struct error *err)
{
	static const struct load_options o = {.max_cpu_ratio = -1};
	int rc = live_take(&c, &answers, kvm, &text, err);

	if (rc == 0)
		cluster_finish(&c, &o);
	return rc;
}

/* Put a value into a row. */
static void set(json_t *list, size_t row, size_t column, json_t *value)
{
	json_array_set_new(json_array_get(list, row), column,
			   value != NULL ? json_make("[i, o]", RS_NORMAL, value)
					 : json_make("[i, n]", RS_NODATA));
}

Test(live, nodes_are_as_the_master_says)
{
	struct error err;

	cr_assert_eq(take(4096, &err), 0, "%s", err.text);
	cr_assert_eq(c.n_nodes, 4);
	cr_assert_eq(c.nodes[0].total_mem, 1000);
	cr_assert_eq(c.nodes[0].own_mem, 100);
	cr_assert_eq(c.nodes[0].s.free_disk, 4000);
	cr_assert_eq(c.nodes[0].cpu_speed, 1.5);
	cr_assert_eq(c.nodes[0].total_spindles, 3);
	cr_assert_eq(c.nodes[1].n_tags, 2);
	cr_assert_eq(c.nodes[3].total_spindles, 9);
	cr_assert(c.nodes[3].exclusive_storage);
}

Test(live, a_master_that_is_drained_is_both)
{
	struct error err;

	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert(c.nodes[0].master);
	cr_assert(c.nodes[0].offline);
	cr_assert_not(c.nodes[1].master);
}

Test(live, without_storage_there_is_no_disk)
{
	struct error err;

	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert_eq(c.nodes[1].total_disk, 0);
	cr_assert_eq(c.nodes[1].s.free_disk, 0);
	cr_assert_not(c.nodes[1].offline);
}

Test(live, an_offline_node_has_its_spindles_only)
{
	struct error err;

	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert(c.nodes[2].offline);
	cr_assert_eq(c.nodes[2].total_mem, 0);
	cr_assert_eq(c.nodes[2].total_spindles, 2);
}

Test(live, instances_have_their_disks_one_by_one)
{
	struct error err;

	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert_eq(c.n_instances, 2);
	cr_assert_eq(c.instances[0].n_disks, 2);
	cr_assert_eq(c.instances[0].disks[1].size, 200);
	cr_assert_eq(c.instances[0].disks[0].spindles, 1);
	cr_assert_eq(c.instances[0].spindles, SPINDLES_UNKNOWN);
	cr_assert_eq(c.instances[0].secondary, 3);
	cr_assert_eq(c.instances[0].exclusion.n, 1);
	cr_assert(c.instances[1].forthcoming);
	cr_assert_not(c.instances[1].auto_balance);
	cr_assert_eq(c.instances[1].secondary, NO_INDEX);
}

Test(live, nodes_with_kvm_need_what_the_option_says)
{
	struct error err;

	json_object_set_new(answers.info, "default_hypervisor",
			    json_string("kvm"));
	cr_assert_eq(take(512, &err), 0, "%s", err.text);
	cr_assert_eq(c.nodes[0].own_mem, 512);
	cr_assert_eq(c.nodes[2].own_mem, 512);
}

Test(live, and_with_0_what_they_report)
{
	struct error err;

	json_object_set_new(answers.info, "default_hypervisor",
			    json_string("kvm"));
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert_eq(c.nodes[0].own_mem, 100);
}

static void refuses(const char *word)
{
	struct error err = {0};

	cr_assert_lt(take(0, &err), 0);
	cr_assert_not_null(strstr(err.text, word), "%s", err.text);
}

Test(live, an_unknown_master_is_refused)
{
	json_object_set_new(answers.info, "master", json_string("zz"));
	refuses("zz");
}

Test(live, a_node_without_memory_is_refused)
{
	set(answers.nodes, 1, 1, NULL);
	refuses("n2.x");
}

Test(live, text_in_place_of_a_number_is_refused)
{
	set(answers.nodes, 3, 3, json_string("800"));
	refuses("mfree");
}

Test(live, an_instance_on_no_node_is_refused)
{
	set(answers.instances, 0, 5, json_string("zz"));
	refuses("zz");
}

Test(live, an_instance_without_its_disks_is_refused)
{
	set(answers.instances, 0, 11, NULL);
	refuses("i.x");
}

Test(live, a_name_with_the_separator_breaks_no_line)
{
	struct error err;

	set(answers.instances, 0, 0, json_string("i|x\nj"));
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert_eq(c.n_instances, 2);
	cr_assert_str_eq(c.instances[0].name, "i_x_j");
}

/* What is saved is read again, and saved the same. */
Test(live, a_saved_cluster_is_the_same_again)
{
	static const struct load_options o = {.max_cpu_ratio = -1};
	auto_buf struct buf once = {0}, twice = {0};
	auto_free char *copy = NULL;
	struct cluster again = {0};
	struct error err;

	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	save_text(&c, &once);
	copy = xstrdup(once.data);
	cr_assert_eq(text_read(&again, copy, &err), 0, "%s", err.text);
	cluster_finish(&again, &o);
	save_text(&again, &twice);
	cluster_done(&again);
	cr_assert_str_eq(once.data, twice.data);
	cr_assert_not_null(strstr(once.data,
				  "n4.x|1000|100|800|5000|4000|8|N|u|9||Y|7|1|"
				  "1.0\n"),
			   "%s", once.data);
	cr_assert_not_null(strstr(once.data, "i.x|128|300|2|running|Y|n1.x|"
					     "n4.x|drbd|svc:a|2|-|N\n"),
			   "%s", once.data);
}
