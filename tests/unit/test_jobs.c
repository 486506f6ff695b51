/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps as opcodes, as sets of jobs, and as a script; execution without a
 * master. */
#include "iallocators/tools/jobs.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "iallocators/input/text.h"
#include "iallocators/tools/execute.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

static struct cluster c;
static char *text;

enum { A, B, D, F };

static void setup(void)
{
	static const struct load_options o = {.max_cpu_ratio = -1};
	auto_buf struct buf b = {0};
	struct error err;

	buf_adds(&b, "g|u|preferred||\n\n");
	for (int i = 0; i < 6; i++)
		buf_addf(&b, "n%d.x|65536|0|60000|99999|90000|8|N|u|1\n", i);
	buf_adds(&b, "\na.x|1024|1024|1|running|Y|n0.x|n1.x|drbd||1\n"
		     "b.x|1024|1024|1|ADMIN_down|Y|n2.x|n3.x|drbd||1\n"
		     "d.x|1024|1024|1|running|Y|n4.x||ext||1\n"
		     "f.x|1024|1024|1|running|Y|n4.x||ext||1|-|Y\n\n\n");
	text = xstrdup(b.data);
	cr_assert_eq(text_read(&c, text, &err), 0, "%s", err.text);
	cluster_finish(&c, &o);
}

static void done(void)
{
	cluster_done(&c);
	free(text);
}

TestSuite(jobs, .init = setup, .fini = done);

/* A step from the pair 0:1 to the pair p:s. */
static struct balance_step step(int instance, enum balance_move move,
				int target, int p, int s)
{
	return (struct balance_step){
		.instance = instance,
		.move = move,
		.target = target,
		.old_primary = c.instances[instance].primary,
		.old_secondary = c.instances[instance].secondary,
		.new_primary = p,
		.new_secondary = s};
}

/* "MIGRATE a.x n5.x, ..." */
static char *opcodes(const struct balance_step *s)
{
	auto_buf struct buf json = {0}, out = {0};
	auto_json json_t *ops = NULL;
	const json_t *op;
	struct error err;
	size_t i;

	jobs_opcodes(&c, s, &json);
	ops = json_parse(json.data, json.len, &err);
	cr_assert_not_null(ops, "%s", err.text);
	json_array_foreach (ops, i, op) {
		const char *target = json_str(op, "target_node",
					      json_str(op, "remote_node", ""));

		buf_addf(&out, "%s%s %s %s", i > 0 ? ", " : "",
			 json_str(op, "OP_ID", "?") + strlen("OP_INSTANCE_"),
			 json_str(op, "instance_name", "?"), target);
	}
	return xstrdup(out.data);
}

Test(jobs, opcodes_of_each_move)
{
	const struct {
		struct balance_step step;
		const char *ops;
	} cases[] = {
		{step(A, MOVE_FAILOVER, 1, 1, 0), "MIGRATE a.x "},
		{step(A, MOVE_R, 5, 0, 5), "REPLACE_DISKS a.x n5.x"},
		{step(A, MOVE_RF, 5, 5, 0),
		 "REPLACE_DISKS a.x n5.x, MIGRATE a.x "},
		{step(A, MOVE_FR, 5, 1, 5),
		 "MIGRATE a.x , REPLACE_DISKS a.x n5.x"},
		{step(A, MOVE_FRF, 5, 5, 1),
		 "MIGRATE a.x , REPLACE_DISKS a.x n5.x, MIGRATE a.x "},
		{step(D, MOVE_FAILOVER_TO, 5, 5, NO_INDEX), "MIGRATE d.x n5.x"},
		/* there is nothing to migrate yet */
		{step(F, MOVE_FAILOVER_TO, 5, 5, NO_INDEX),
		 "FAILOVER f.x n5.x"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *ops = opcodes(&cases[i].step);

		cr_assert_str_eq(ops, cases[i].ops);
	}
}

/* a: 0 1 5, b: 2 3, d: 4, then a again */
static void four_steps(struct balance_step ret[4])
{
	ret[0] = step(A, MOVE_R, 5, 0, 5);
	ret[1] = step(B, MOVE_FAILOVER, 3, 3, 2);
	ret[2] = step(D, MOVE_FAILOVER_TO, 5, 5, NO_INDEX);
	ret[3] = step(A, MOVE_FAILOVER, 5, 5, 0);
}

Test(jobs, steps_with_a_node_in_common_are_in_different_sets)
{
	struct balance_step steps[4];

	four_steps(steps);
	/* 0, then 1 and 2, then 3: node 5 is used by 0, 2 and 3 */
	cr_assert_eq(jobs_set_size(&c, steps, 4, 0), 1);
	cr_assert_eq(jobs_set_size(&c, steps, 4, 1), 2);
	cr_assert_eq(jobs_set_size(&c, steps, 4, 3), 1);
}

Test(jobs, sets_for_the_master_are_the_same)
{
	struct balance_step steps[4];
	auto_json json_t *sets = NULL;

	four_steps(steps);
	sets = execute_moves(&c, steps, 4);
	cr_assert_eq(json_array_size(sets), 3);
	cr_assert_eq(json_array_size(json_array_get(sets, 0)), 1);
	cr_assert_eq(json_array_size(json_array_get(sets, 1)), 2);
	cr_assert_str_eq(
		json_str(json_array_get(
				 json_array_get(json_array_get(sets, 1), 0), 0),
			 "instance_name", ""),
		"b.x");
}

/* The script for some steps. */
static char *write_script(bool first_only)
{
	char path[] = "/tmp/test_jobs.XXXXXX";
	int fd = mkstemp(path);
	struct jobs_style style = jobs_style(true);
	struct balance_step steps[4];
	auto_buf struct buf commands = {0};
	char *script;
	struct error err;

	close(fd);
	four_steps(steps);
	style.first_only = first_only;
	jobs_add(&c, steps, 4, &style, &commands);
	cr_assert_eq(jobs_write(&commands, path, &err), 0);
	script = fs_read(path, 65536, NULL, &err);
	unlink(path);
	cr_assert_not_null(script);
	return script;
}

Test(jobs, a_script_has_a_check_before_each_job)
{
	auto_free char *script = write_script(false);
	int checks = 0;

	for (const char *at = script; (at = strstr(at, "\n  check\n")) != NULL;
	     at++)
		checks++;
	cr_assert_eq(checks, 4, "%s", script);
	cr_assert_not_null(strstr(script, "gnt-instance migrate -f a\n"));
	cr_assert_not_null(
		strstr(script, "gnt-instance replace-disks -n n5 a\n"));
	cr_assert_not_null(strstr(script, "gnt-instance failover -f b\n"),
			   "what is down is failed over: %s", script);
	cr_assert_not_null(strstr(script, "gnt-instance migrate -f -n n5 d\n"));
}

Test(jobs, only_the_first_set_when_asked)
{
	auto_free char *script = write_script(true);

	cr_assert_not_null(strstr(script, "echo jobset 1, 1 jobs"));
	cr_assert_null(strstr(script, "jobset 2"));
}

/* Execute four steps as hbal does with this option, in vain. */
static void execute_in_vain(const char *option, const char *why)
{
	static const struct jobs_opts usual = {0};
	char *argv[] = {(char *)"hbal", mem_unconst(option), NULL};
	struct balance_step steps[4];
	struct error err;
	int code;
	struct tool *t = tool_parse(&hbal_program, 2, argv, &code);

	cr_assert_not_null(t);
	four_steps(steps);
	cr_assert_lt(execute_sets(execute_moves(&c, steps, 4), "trying", t,
				  &usual, &err),
		     0);
	cr_assert_not_null(strstr(err.text, why), "%s", err.text);
	tool_free(t);
}

Test(jobs, execution_needs_a_master)
{
	execute_in_vain("-X", "hbal: Execution of commands possible only on "
			      "LUXI");
	execute_in_vain("-L/nonexistent/socket", "/nonexistent/socket");
}
