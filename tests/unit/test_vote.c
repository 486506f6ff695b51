/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/failover/vote.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"

#define NODES_MAX 7

/* Nodes from a line of one letter each, the first is the one that asks: '+'
 * answered and names it as master, '-' names node2, '.' is silent.  Lower case
 * letters instead: 'm' and 's' are offline nodes that name it, or are silent.
 * 'g' has Ganeti's node daemon.  All but the offline ones are candidates. */
static struct vote_node nodes[NODES_MAX];
static struct error err;

static struct vote vote_of(const char *line)
{
	static const char *const names[NODES_MAX] = {
		"node1", "node2", "node3", "node4", "node5", "node6", "node7"};
	size_t n = strlen(line);

	memset(nodes, 0, sizeof(nodes));
	for (size_t i = 0; i < n; i++) {
		bool offline = line[i] == 'm' || line[i] == 's';

		nodes[i] = (struct vote_node){
			.name = names[i],
			.offline = offline,
			.candidate = !offline,
			.answered = strchr(".sg", line[i]) == NULL,
			.ganetis = line[i] == 'g',
			.master = line[i] == '-' ? "node2" : "node1",
			.promised = "",
		};
	}
	return (struct vote){.nodes = nodes, .n = n};
}

static void promise(const char *line, uint64_t term)
{
	for (size_t i = 0; line[i] != '\0'; i++) {
		nodes[i].term = line[i] == '.' ? term - 1 : term;
		nodes[i].promised = line[i] == '2' ? "node2" : "node1";
	}
}

/* --- start --- */

Test(vote, half_plus_one_is_a_majority)
{
	static const size_t wanted[] = {1, 1, 2, 2, 3, 3, 4, 4};

	for (size_t n = 1; n <= 7; n++)
		cr_expect_eq(vote_majority(n), wanted[n], "%zu nodes", n);
}

Test(vote, a_start_needs_half_plus_one)
{
	static const struct {
		const char *nodes;
		enum vote_outcome outcome;
	} cases[] = {
		{"+", VOTE_WON},	{"++", VOTE_WON},
		{"+.", VOTE_OPEN},	{"+-", VOTE_LOST},
		{"++.", VOTE_WON},	{"++-", VOTE_WON},
		{"+..", VOTE_OPEN},	{"+-.", VOTE_OPEN},
		{"+--", VOTE_LOST},	{"++--", VOTE_LOST},
		{"++-.", VOTE_OPEN},	{"+++-", VOTE_WON},
		{"+++--", VOTE_WON},	{"++---", VOTE_LOST},
		{"++--.", VOTE_OPEN},	{"+++---", VOTE_LOST},
		{"++++..", VOTE_WON},	{"+---..", VOTE_LOST},
		{"++++---", VOTE_WON},	{"+++---.", VOTE_OPEN},
		{"+++----", VOTE_LOST},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct vote v = vote_of(cases[i].nodes);

		cr_expect_eq(vote_for_start(&v, &err), cases[i].outcome, "%s",
			     cases[i].nodes);
	}
}

Test(vote, offline_nodes_count_unless_they_are_ignored)
{
	struct vote v = vote_of("+ss");

	cr_assert_eq(vote_for_start(&v, &err), VOTE_OPEN);
	v.ignore_offline = true;
	cr_assert_eq(vote_for_start(&v, &err), VOTE_WON);
	v = vote_of("+m-");
	cr_assert_eq(vote_for_start(&v, &err), VOTE_WON);
}

Test(vote, nodes_of_ganetis_daemon_have_no_vote)
{
	struct vote v = vote_of("+gg");

	cr_assert_eq(vote_for_start(&v, &err), VOTE_WON);
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON);
	promise("1..", 8);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_WON);
	v = vote_of("+.gg");
	cr_assert_eq(vote_for_start(&v, &err), VOTE_OPEN);
	cr_assert_not_null(strstr(err.text, "no answer from node2;"), "%s",
			   err.text);
	cr_assert_not_null(strstr(err.text, "no vote, runs on node3, node4"),
			   "%s", err.text);
	v = vote_of("+-g");
	cr_assert_eq(vote_for_start(&v, &err), VOTE_LOST);
}

Test(vote, a_lost_start_names_the_master)
{
	struct vote v = vote_of("+--");

	vote_for_start(&v, &err);
	cr_assert_str_eq(err.text, "node1 is not the master: 2 of 3 nodes say "
				   "that it is node2");
}

Test(vote, an_open_start_names_the_silent)
{
	struct vote v = vote_of("+-.");

	vote_for_start(&v, &err);
	cr_assert_not_null(strstr(err.text, "no answer from node3"), "%s",
			   err.text);
}

/* --- failover --- */

Test(vote, a_failover_needs_answers_of_nodes_and_candidates)
{
	struct vote v = vote_of("--.");

	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON);
	v = vote_of("-..");
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_LOST);
	cr_assert_not_null(strstr(err.text, "1 of 3 nodes answer"), "%s",
			   err.text);
	v = vote_of("--..-");
	nodes[1].candidate = nodes[4].candidate = false;
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_LOST);
	cr_assert_not_null(strstr(err.text, "1 of 3 master candidates answer"),
			   "%s", err.text);
}

/* --- promises --- */

Test(vote, a_term_needs_half_plus_one)
{
	struct vote v = vote_of("+++++");

	promise("111..", 8);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_WON);
	promise("11...", 8);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_LOST);
	promise("11122", 8);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_WON);
	promise("11222", 8);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_LOST);
	cr_assert_not_null(strstr(err.text, "node3 has promised it to node2"),
			   "%s", err.text);
}

Test(vote, a_higher_promise_ends_it)
{
	struct vote v = vote_of("+++");

	promise("111", 8);
	nodes[2].term = 9;
	nodes[2].promised = "node2";
	cr_assert_eq(vote_highest_term(&v), 9);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_LOST);
	cr_assert_not_null(strstr(err.text, "node3 has promised term 9"), "%s",
			   err.text);
}

Test(vote, a_rival_has_most_promises_and_runs)
{
	struct vote v = vote_of("+++");

	promise("122", 8);
	cr_assert_null(vote_rival(&v), "it does not run");
	nodes[1].running = true;
	cr_assert_eq(vote_rival(&v), &nodes[1]);
	nodes[0].master = "node2";
	cr_assert_null(vote_rival(&v), "that is the master to be replaced");
	nodes[0].master = "node1";
	promise("112", 8);
	cr_assert_null(vote_rival(&v), "one promise is no majority");
}

/* --- who has newer data --- */

Test(vote, the_term_of_a_copy_counts_before_its_number)
{
	struct vote v = vote_of("+++");

	nodes[0].config = (struct vote_position){3, 10};
	nodes[1].config = (struct vote_position){2, 99};
	cr_assert_null(vote_newer_config(&v));
	nodes[2].config = (struct vote_position){3, 11};
	cr_assert_eq(vote_newer_config(&v), &nodes[2]);
	nodes[1].config = (struct vote_position){4, 1};
	cr_assert_eq(vote_newer_config(&v), &nodes[1]);
	nodes[1].answered = false;
	cr_assert_eq(vote_newer_config(&v), &nodes[2]);
}

/* Its copy is being made anew, and was (term, number) before. */
static void halve(size_t i, uint64_t term, uint64_t number)
{
	nodes[i].half = nodes[i].had_known = true;
	nodes[i].had = (struct vote_position){term, number};
	nodes[i].queue = (struct vote_position){0};
}

Test(vote, half_a_copy_counts_when_somebody_has_all_that_it_had)
{
	struct vote v = vote_of("+-.");

	nodes[0].queue = (struct vote_position){4, 7};
	halve(1, 4, 7);
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON);
	halve(1, 3, 99);
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON);
	halve(1, 4, 8);
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_LOST);
	cr_assert_not_null(strstr(err.text, "half replaced: the job queue of "
					    "node2"),
			   "%s", err.text);
	nodes[2].answered = true;
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON,
		     "two others are enough");
	nodes[2].queue = (struct vote_position){4, 8};
	nodes[0].answered = false;
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON);
	halve(2, 4, 8);
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_LOST,
		     "none of them is whole");
}

Test(vote, half_a_copy_that_does_not_say_what_it_had_does_not_count)
{
	struct vote v = vote_of("+-.");

	nodes[0].queue = (struct vote_position){4, 7};
	halve(1, 0, 0);
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_WON, "it had nothing");
	nodes[1].had_known = false;
	cr_assert_eq(vote_for_failover(&v, &err), VOTE_LOST);
}

/* The same for the term that a start asks for. */
Test(vote, a_promise_of_a_lost_copy_does_not_count)
{
	struct vote v = vote_of("+++");

	promise("11.", 8);
	nodes[0].queue = (struct vote_position){4, 7};
	halve(1, 4, 7);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_WON);
	halve(1, 4, 8);
	cr_assert_eq(vote_for_term(&v, 8, &err), VOTE_LOST);
}

Test(vote, any_whole_queue_is_newer_than_half_a_one)
{
	struct vote v = vote_of("+++");

	nodes[0].job_id = nodes[1].job_id = 9;
	halve(0, 4, 8);
	halve(1, 4, 9);
	cr_assert_eq(vote_newer_queue(&v), &nodes[2]);
	halve(2, 4, 9);
	cr_assert_null(vote_newer_queue(&v));
}

Test(vote, ids_of_jobs_count_where_positions_are_equal)
{
	struct vote v = vote_of("++");

	nodes[0].job_id = 5;
	nodes[1].job_id = 6;
	cr_assert_eq(vote_newer_queue(&v), &nodes[1]);
	nodes[0].queue = (struct vote_position){1, 1};
	cr_assert_null(vote_newer_queue(&v));
	nodes[1].queue = (struct vote_position){1, 2};
	cr_assert_eq(vote_newer_queue(&v), &nodes[1]);
}

/* --- answers --- */

Test(vote, a_strange_answer_is_none)
{
	static const char *const answers[] = {
		"null",
		"{}",
		"{\"term\": -1, \"job_id\": 1}",
		"{\"term\": 1, \"job_id\": 1, \"config\": [1]}",
		"{\"term\": 1, \"job_id\": 1, \"queue\": [1, -2]}",
		"{\"term\": 1, \"job_id\": 1, \"queue\": [\"1\", 2]}",
		"{\"term\": 1, \"job_id\": 1, \"queue_had\": [1]}",
		"{\"term\": 9223372036854775807, \"job_id\": 1}",
		"{\"term\": 1, \"job_id\": 9223372036854775806}",
		"{\"term\": 1, \"job_id\": 1, \"config\": "
		"[9223372036854775807, 1]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct vote_node node = {.name = "node1", .answered = true};
		json_t *state = json_loads(answers[i], JSON_DECODE_ANY, NULL);

		cr_expect_lt(vote_read(&node, state, &err), 0, "%s",
			     answers[i]);
		cr_expect_not(node.answered);
		json_decref(state);
	}
}
