/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/jobs/job_filters.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "queue/queue.h"

static void setup(void)
{
	mem_init();
}

TestSuite(job_filters, .init = setup);

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

static json_t *make(int priority, const char *predicates, const char *action,
		    struct error *err)
{
	auto_json json_t *when = parse(predicates), *what = parse(action);

	return job_filters_make("00000000-0000-0000-0000-000000000001", 7,
				priority, when, what, NULL, err);
}

static void refused(int priority, const char *predicates, const char *action,
		    const char *why)
{
	struct error err = {.text = ""};

	cr_expect_null(make(priority, predicates, action, &err));
	cr_expect_eq(err.kind, ERR_PREREQ);
	cr_expect_not_null(strstr(err.text, why), "%s", err.text);
}

Test(job_filters, rules_that_make_no_sense_are_refused)
{
	refused(-1, "[]", "\"PAUSE\"", "negative");
	refused(0, "{}", "\"PAUSE\"", "list");
	refused(0, "[]", "\"WAIT\"", "The action is");
	refused(0, "[]", "[\"RATE_LIMIT\", 0]", "The action is");
	refused(0, "[]", "[\"RATE_LIMIT\", \"2\"]", "The action is");
	refused(0, "[[\"owner\", [\"==\", \"x\", 1]]]", "\"PAUSE\"", "owner");
	refused(0, "[\"jobid\"]", "\"PAUSE\"", "predicate");
	refused(0, "[[\"jobid\", [\"==\", \"status\", 1]]]", "\"PAUSE\"",
		"jobid");
	refused(0, "[[\"opcode\", [\"~\", \"OP_ID\", 1]]]", "\"PAUSE\"",
		"opcode");
}

Test(job_filters, a_rule_has_the_members_of_ganetis)
{
	struct error err;
	auto_json json_t *rule =
		make(3, "[[\"jobid\", [\"=\", \"id\", \"watermark\"]]]",
		     "[\"RATE_LIMIT\", 2]", &err);
	auto_free char *text = NULL;

	cr_assert_not_null(rule, "%s", err.text);
	cr_assert_str_eq(
		json_string_value(json_array_get(
			json_array_get(json_get(rule, "reason_trail"), 0), 0)),
		"luxid");
	json_object_del(rule, "reason_trail");
	text = json_text(rule);
	cr_assert_str_eq(text,
			 "{\"uuid\":\"00000000-0000-0000-0000-000000000001\","
			 "\"watermark\":7,\"priority\":3,\"predicates\":"
			 "[[\"jobid\",[\"==\",\"id\",\"watermark\"]]],"
			 "\"action\":[\"RATE_LIMIT\",2]}");
}

/* --- which rule decides --- */

struct case_ {
	const char *predicates;
	uint64_t id;
	const char *ops[2];
	bool applies;
};

#define START "{\"OP_ID\":\"OP_INSTANCE_STARTUP\",\"instance_name\":\"web1\","
#define NO_REASON "\"reason\":[]}"
#define PINK "\"reason\":[[\"gnt:user\",\"pink bunny\",5]]}"
#define DELAY "{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1.5," NO_REASON

static const struct case_ cases[] = {
	{"[]", 1, {DELAY}, true},
	{"[[\"jobid\", [\">\", \"id\", \"watermark\"]]]", 8, {DELAY}, true},
	{"[[\"jobid\", [\">\", \"id\", \"watermark\"]]]", 7, {DELAY}, false},
	{"[[\"jobid\", [\"|\", [\"<\", \"id\", 3], [\"==\", \"id\", "
	 "\"watermark\"]]]]",
	 7,
	 {DELAY},
	 true},
	{"[[\"opcode\", [\"=\", \"OP_ID\", \"OP_TEST_DELAY\"]]]",
	 1,
	 {START NO_REASON, DELAY},
	 true},
	{"[[\"opcode\", [\"=\", \"OP_ID\", \"OP_TEST_DELAY\"]]]",
	 1,
	 {START NO_REASON},
	 false},
	/* One opcode has to satisfy the whole expression. */
	{"[[\"opcode\", [\"&\", [\"=\", \"OP_ID\", \"OP_TEST_DELAY\"],"
	 " [\"=\", \"instance_name\", \"web1\"]]]]",
	 1,
	 {START NO_REASON, DELAY},
	 false},
	/* What an opcode does not have matches nothing, and harms nothing. */
	{"[[\"opcode\", [\"|\", [\"=\", \"node_name\", \"n1\"],"
	 " [\"=\", \"instance_name\", \"web1\"]]]]",
	 1,
	 {START NO_REASON},
	 true},
	{"[[\"opcode\", [\"=~\", \"instance_name\", \"^web\"]]]",
	 1,
	 {START NO_REASON},
	 true},
	{"[[\"opcode\", [\">\", \"instance_name\", 4]]]",
	 1,
	 {START NO_REASON},
	 false},
	{"[[\"reason\", [\"=~\", \"reason\", \"bunny\"]]]",
	 1,
	 {DELAY, START PINK},
	 true},
	{"[[\"reason\", [\"=~\", \"reason\", \"bunny\"]]]", 1, {DELAY}, false},
	{"[[\"reason\", [\"&\", [\"=\", \"source\", \"gnt:user\"],"
	 " [\"<\", \"timestamp\", 6]]]]",
	 1,
	 {START PINK},
	 true},
	/* All predicates have to hold. */
	{"[[\"jobid\", [\"=\", \"id\", 1]], [\"reason\", [\"=\", \"source\", "
	 "\"x\"]]]",
	 1,
	 {START PINK},
	 false},
};

/* As in the configuration: by UUID. */
static struct job_filters *filters(const json_t *rules)
{
	auto_json json_t *all = json_object();
	json_t *rule;
	size_t i;

	json_array_foreach (rules, i, rule)
		json_object_set(all, json_str(rule, "uuid", ""), rule);
	return job_filters_create(all);
}

static struct job *job_with(const struct case_ *c)
{
	size_t n = c->ops[1] == NULL ? 1 : 2;
	struct job *j = job_new(c->id, n);

	for (size_t i = 0; i < n; i++) {
		auto_json json_t *input = parse(c->ops[i]);

		job_op_init(&j->ops[i], input, "TEST");
	}
	return j;
}

Test(job_filters, predicates_look_at_id_opcodes_and_reasons)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err;
		json_t *rule = make(0, cases[i].predicates, "\"PAUSE\"", &err);
		auto_json json_t *rules = json_make("[o]", rule);
		struct job_filters *f = filters(rules);
		struct job *j = job_with(&cases[i]);

		cr_assert_not_null(rule, "%s", err.text);
		cr_expect_eq(job_filters_gate(f, j) != NULL, cases[i].applies,
			     "%zu: %s", i, cases[i].predicates);
		job_free(j);
		job_filters_destroy(f);
	}
}

/* Taking an instance out of service, stopping it and changing it are other
 * things to allow. */
Test(job_filters, offline_stop_and_change_are_told_apart)
{
	static const char *const ops[] = {
		"{\"OP_ID\": \"OP_INSTANCE_SET_PARAMS\", "
		"\"instance_name\": \"web1\", \"offline\": true}",
		"{\"OP_ID\": \"OP_INSTANCE_SHUTDOWN\", "
		"\"instance_name\": \"web1\"}",
		"{\"OP_ID\": \"OP_INSTANCE_SET_PARAMS\", "
		"\"instance_name\": \"web1\", \"offline\": null, "
		"\"beparams\": {\"vcpus\": 2}}",
	};
	static const char *const rules[] = {
		"[[\"opcode\", [\"&\", [\"=\", \"OP_ID\", "
		"\"OP_INSTANCE_SET_PARAMS\"], [\"?\", \"offline\"]]]]",
		"[[\"opcode\", [\"=\", \"OP_ID\", "
		"\"OP_INSTANCE_SHUTDOWN\"]]]",
		"[[\"opcode\", [\"&\", [\"=\", \"OP_ID\", "
		"\"OP_INSTANCE_SET_PARAMS\"], [\"!\", [\"?\", "
		"\"offline\"]]]]]",
	};

	for (size_t r = 0; r < 3; r++)
		for (size_t o = 0; o < 3; o++) {
			struct case_ c = {.id = 7, .ops = {ops[o]}};
			struct error err;
			json_t *rule = make(0, rules[r], "\"REJECT\"", &err);
			auto_json json_t *all = json_make("[o]", rule);
			struct job_filters *f = filters(all);
			struct job *j = job_with(&c);

			cr_expect_eq(job_filters_gate(f, j) != NULL, r == o,
				     "%s: %s", rules[r], ops[o]);
			job_free(j);
			job_filters_destroy(f);
		}
}

/* uuid and watermark are one digit here. */
static json_t *rule(char uuid, int watermark, int priority, const char *action)
{
	auto_free char *id = xprintf("%c", uuid);
	auto_json json_t *what = parse(action);

	return json_make("{s:s, s:i, s:i, s:[], s:O}", "uuid", id, "watermark",
			 watermark, "priority", priority, "predicates",
			 "action", what);
}

/* Of a gate: "none", "reject", or its limit. */
static char *decision(json_t *rules STEALS)
{
	auto_json json_t *own = rules;
	struct job_filters *f = filters(own);
	struct job *j = job_with(&cases[0]);
	const struct queue_gate *g = job_filters_gate(f, j);
	char *text = g == NULL	 ? xstrdup("none")
		     : g->reject ? xstrdup("reject")
				 : xprintf("%u", g->limit);

	job_free(j);
	job_filters_destroy(f);
	return text;
}

#define expect_decision(rules, expected)                                       \
	do {                                                                   \
		auto_free char *got = decision(rules);                         \
		cr_expect_str_eq(got, expected, "%s", got);                    \
	} while (0)

#define LIMIT(n) "[\"RATE_LIMIT\", " #n "]"

Test(job_filters, the_first_rule_by_priority_watermark_and_uuid_decides)
{
	expect_decision(json_array(), "none");
	expect_decision(json_make("[o, o]", rule('a', 1, 5, LIMIT(5)),
				  rule('b', 9, 2, LIMIT(2))),
			"2");
	expect_decision(json_make("[o, o]", rule('a', 9, 5, LIMIT(5)),
				  rule('b', 1, 5, LIMIT(2))),
			"2");
	expect_decision(json_make("[o, o]", rule('b', 1, 5, LIMIT(5)),
				  rule('a', 1, 5, LIMIT(2))),
			"2");
	expect_decision(json_make("[o, o, o]", rule('a', 1, 0, "\"CONTINUE\""),
				  rule('b', 1, 1, "\"REJECT\""),
				  rule('c', 1, 2, "\"PAUSE\"")),
			"reject");
	expect_decision(json_make("[o, o]", rule('a', 1, 0, "\"ACCEPT\""),
				  rule('b', 1, 1, "\"REJECT\"")),
			"none");
	expect_decision(json_make("[o]", rule('a', 1, 0, "\"PAUSE\"")), "0");
	/* One that cannot be understood hides no other. */
	expect_decision(json_make("[o, o]", rule('a', 1, 0, "\"JUMP\""),
				  rule('b', 1, 1, "\"PAUSE\"")),
			"0");
}

Test(job_filters, a_rejecting_rule_says_which_it_is_and_why)
{
	auto_json json_t *rules =
		json_make("[o]", rule('a', 1, 0, "\"REJECT\""));
	json_t *one = json_array_get(rules, 0);
	struct job *j = job_with(&cases[0]);
	struct job_filters *f = filters(rules);

	cr_assert_str_eq(job_filters_gate(f, j)->why,
			 "Rejected by the filter rule a (gnt-filter info)");
	job_filters_destroy(f);
	json_object_set_new(one, "reason_trail",
			    json_make("[[s, s, i], [s, s, i]]", "gnt:user",
				      "no delays", 1, "luxid", "", 2));
	f = filters(rules);
	cr_assert_str_eq(job_filters_gate(f, j)->why,
			 "Rejected by the filter rule a: no delays");
	job_filters_destroy(f);
	job_free(j);
}

/* As soon as the rules for one job have made some ten thousand steps. */
Test(job_filters, a_rule_that_takes_too_much_work_does_not_hold)
{
	static const char *const patterns[] = {"(.?){3}[yz]|EL", "(.?){9}[yz]"};
	struct error err;
	struct job *j = job_new(1, 1);

	j->ops[0].input = xstrdup("{\"OP_ID\":\"OP_TEST_DELAY\"}");
	for (size_t i = 0; i < 2; i++) {
		auto_json json_t *rules = json_object();
		auto_free char *when =
			xprintf("[[\"opcode\", [\"|\", [\"=~\", \"OP_ID\", "
				"\"%s\"], [\"==\", \"OP_ID\", "
				"\"OP_TEST_DELAY\"]]]]",
				patterns[i]);
		struct job_filters *f;

		json_object_set_new(rules, "a",
				    make(0, when, "\"PAUSE\"", &err));
		f = job_filters_create(rules);
		cr_assert_eq(job_filters_gate(f, j) != NULL, i == 0);
		cr_assert_eq(job_filters_gate(f, j) != NULL, i == 0);
		job_filters_destroy(f);
	}
	job_free(j);
}

Test(job_filters, long_rules_are_refused)
{
	auto_free char *name = xalloc(70001);
	auto_free char *when = NULL;

	memset(name, 'x', 70000);
	when = xprintf("[[\"opcode\", [\"==\", \"OP_ID\", \"%s\"]]]", name);
	refused(0, when, "\"PAUSE\"", "64 KiB");
}
