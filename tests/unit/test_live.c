/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster from the answers of its master, and saved. */
#include <criterion/criterion.h>
#include <string.h>

#include "iallocators/input/text.h"
#include "iallocators/live/live_answers.h"
#include "iallocators/options/save.h"
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

/* --- what our master has recorded --- */

#define RECORD(flags, total, free, disk)                                       \
	"{" flags "\"vm_capable\": true, \"exclusive_storage\": false,"        \
	" \"memory\": {\"recorded\": true, \"total\": " #total                 \
	", \"node\": 50,"                                                      \
	" \"hypervisor\": 30, \"promise\": " #free "},"                        \
	" \"cpus\": {\"total\": 16, \"node\": 2}, \"storage\": [{\"type\": "   \
	"\"plain\", \"recorded\": true, \"total\": " #disk ", \"free\": 70}]}"

/* n2 does not answer; n3 is offline, n4 tells by itself */
static void record(void)
{
	static const char text_of_all[] =
		"{\"groups\": {\"g\": {\"ipolicy_extra\": "
		"{\"max-node-failures\": 2}}}, \"nodes\": {\"n1.x\": " RECORD(
			"\"offline\": false, \"drained\": true, ", 3000, 640,
			900) ", \"n2.x\": " RECORD("\"offline\": false, ", 2000,
						   -5,
						   800) ", "
							"\"n3.x\": " RECORD(
								"\"offline\": "
								"true, ",
								2000, 1,
								2) ", "
								   "\"n4.x\": "
								   "{\"offline"
								   "\": false, "
								   "\"exclusive"
								   "_storage\":"
								   " true,"
								   " \"memory\""
								   ": "
								   "{\"recorded"
								   "\": true, "
								   "\"total\": "
								   "9}}}}";
	struct error err;

	answers.resources = json_parse(text_of_all, strlen(text_of_all), &err);
	cr_assert_not_null(answers.resources, "%s", err.text);
	for (size_t column = 1; column < 8; column++)
		set(answers.nodes, 1, column, NULL);
}

Test(live, recorded_nodes_have_what_is_recorded_and_not_booked)
{
	struct error err;

	record();
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert_eq(c.nodes[0].total_mem, 3000);
	cr_assert_eq(c.nodes[0].own_mem, 50);
	cr_assert_eq(c.nodes[0].host_mem, 80);
	cr_assert_eq(c.nodes[0].free_mem, 640);
	cr_assert_eq(c.nodes[0].total_disk, 900);
	cr_assert_eq(c.nodes[0].s.free_disk, 70);
	cr_assert_eq(c.nodes[0].total_cpus, 16);
	cr_assert_eq(c.nodes[0].own_cpus, 2);
	cr_assert(c.nodes[0].drained);
	cr_assert_eq(c.nodes[3].total_mem, 1000, "spindles are not recorded");
	cr_assert_eq(c.nodes[2].total_mem, 0, "offline as ever");
}

Test(live, a_node_that_is_down_is_shown_with_its_record)
{
	auto_buf struct buf warning = {0};
	struct error err;

	record();
	set(answers.instances, 0, 6, json_make("[s]", "n2.x"));
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert(c.nodes[1].offline);
	cr_assert(c.nodes[1].silent);
	cr_assert_eq(c.nodes[1].total_mem, 2000);
	cr_assert_not(c.nodes[2].silent, "it is offline");
	cr_assert_not(c.instances[0].movable, "its secondary is down");
	cluster_check(&c, &warning);
	cr_assert_not_null(strstr(warning.data, "n2.x does not answer"));
}

Test(live, an_instance_that_is_to_come_counts_once)
{
	struct error err;

	record();
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert(c.instances[1].forthcoming);
	cr_assert_eq(c.nodes[1].s.free_mem_f, 0, "not below what is free");
}

Test(live, an_instance_that_is_down_keeps_its_memory)
{
	struct error err;

	record();
	set(answers.instances, 0, 4, json_string("ADMIN_down"));
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert(instance_uses_memory(&c.instances[0]));
	cr_assert_eq(c.nodes[0].s.inst_mem, 128);
	cr_assert_eq(c.nodes[0].s.free_mem_f, 640);
}

Test(live, max_node_failures_and_guarantees_are_the_masters)
{
	struct error err;

	record();
	answers.guarantees = rows("[[\"j.x\", 64], [\"i.x\", 100]]");
	cr_assert_eq(take(0, &err), 0, "%s", err.text);
	cr_assert_eq(c.groups[0].policy.max_node_failures, 2);
	cr_assert_eq(c.instances[0].spare_memory, 28);
	cr_assert_not(c.instances[0].stays);
	cr_assert(c.instances[1].stays);
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
