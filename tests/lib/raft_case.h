/* SPDX-License-Identifier: BSD-2-Clause */
/* For the unit tests of lib/raft/: a cluster (raft_net.h) that is ended, and
 * asked what the judge found, after each test. */
#ifndef TESTS_LIB_RAFT_CASE_H
#define TESTS_LIB_RAFT_CASE_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "tests/lib/raft_net.h"

/* The longest time without a leader that a follower bears, in ticks. */
#define CASE_ELECTION 10
#define CASE_LONG (2 * CASE_ELECTION)

static struct raft_net *net;
/* Off for what makes a server see things that no server can have said. */
static bool case_judged;

static inline void case_begin(void)
{
	case_judged = true;
}

static inline void case_done(void)
{
	if (net == NULL)
		return;
	if (case_judged)
		cr_assert_str_empty(net->judge.problem, "%s",
				    net->judge.problem);
	raft_net_destroy(net);
	net = NULL;
}

/* n servers that are down, in place of those before. */
static inline void case_make(size_t n, const char *members)
{
	case_done();
	net = raft_net_create(n, members);
}

/* Entries on the disk of a server that is down, one of each term: "1123".  The
 * same index and term is always the same entry. */
static inline void case_log(uint64_t id, const char *terms)
{
	for (const char *c = terms; *c != '\0'; c++) {
		char data[2] = {*c, '.'};

		raft_host_put(net->hosts[id], (uint64_t)(*c - '0'),
			      RAFT_ENTRY_DATA, data, sizeof(data));
	}
}

static inline void case_hard(uint64_t id, uint64_t term, uint64_t vote)
{
	net->hosts[id]->disk.hard =
		(struct raft_hard){.term = term, .vote = vote};
}

/* The terms of what it has in its log, as case_log() wants them. */
static inline const char *case_terms(uint64_t id)
{
	static char text[200];
	const struct raft_log *log = &net->hosts[id]->seen.log;
	size_t n = 0;

	for (; n < log->n && n + 1 < sizeof(text); n++)
		text[n] = (char)('0' + log->items[n]->entry.term);
	text[n] = '\0';
	return text;
}

static inline struct raft_status case_status(uint64_t id)
{
	return raft_host_status(net->hosts[id]);
}

static inline const char *case_members(uint64_t id)
{
	struct raft_status status = case_status(id);

	return raft_disk_members_text(&status.members);
}

static inline bool case_leads(uint64_t id)
{
	return raft_host_leads(net->hosts[id]);
}

/* n servers that are up, all voters, and the first leads. */
static inline void case_led(size_t n, const char *members)
{
	case_make(n, members);
	raft_net_start_all(net);
	cr_assert(raft_net_elect(net, 1), "1 is not elected");
	raft_net_run(net, 3); /* all know what is committed */
	cr_assert(case_status(1).ready);
}

/* One server of three, alone: what it says stays in the mail. */
static inline struct raft_host *case_alone(const char *terms, uint64_t term,
					   uint64_t vote)
{
	case_make(3, "1 2 3");
	case_log(1, terms);
	case_hard(1, term, vote);
	net->paused = true;
	raft_net_start(net, 1);
	return net->hosts[1];
}

/* --- the mail, while net->paused --- */

static inline struct raft_letter **case_mail(void)
{
	return &net->mail[net->now % (RAFT_NET_DELAY_MAX + 1)];
}

/* The last message of this type to that server (0: any); NULL: none. */
static inline const struct raft_message *case_sent(enum raft_message_type type,
						   uint64_t to)
{
	const struct raft_message *found = NULL;

	for (const struct raft_letter *l = *case_mail(); l != NULL; l = l->next)
		if (l->m.type == type && (to == 0 || l->m.to == to))
			found = &l->m;
	return found;
}

static inline size_t case_count(enum raft_message_type type, uint64_t to)
{
	size_t n = 0;

	for (const struct raft_letter *l = *case_mail(); l != NULL; l = l->next)
		n += l->m.type == type && (to == 0 || l->m.to == to);
	return n;
}

/* Throw all of it away. */
static inline void case_clear(void)
{
	while (*case_mail() != NULL) {
		struct raft_letter *l = *case_mail();

		*case_mail() = l->next;
		free(l);
	}
	net->mail_end[net->now % (RAFT_NET_DELAY_MAX + 1)] = case_mail();
}

static inline void case_deliver(void)
{
	net->paused = false;
	raft_net_settle(net);
}

/* A message arrives that nobody sent. */
static inline void case_step(uint64_t id, struct raft_message m)
{
	m.to = id;
	raft_host_step(net->hosts[id], &m);
}

/* An append of entries with these terms behind (index, log_term). */
static inline struct raft_message case_append(uint64_t from, uint64_t term,
					      uint64_t index, uint64_t log_term,
					      const char *terms,
					      uint64_t commit)
{
	static struct raft_entry entries[20];
	size_t n = strlen(terms);

	for (size_t i = 0; i < n; i++)
		entries[i] = (struct raft_entry){
			.index = index + 1 + i,
			.term = (uint64_t)(terms[i] - '0'),
			.data = &"0.1.2.3.4.5.6.7.8.9."[2 * (terms[i] - '0')],
			.len = 2};
	return (struct raft_message){
		.type = RAFT_APPEND,
		.from = from,
		.term = term,
		.index = index,
		.log_term = log_term,
		.commit = commit,
		.entries = n == 0 ? NULL : entries,
		.n_entries = n,
	};
}

/* --- shorter --- */

static inline int case_change(uint64_t id, const char *members)
{
	struct raft_members m = raft_disk_members(members);

	return raft_host_change(net->hosts[id], &m);
}

/* Propose at a server, settle, and say whether it was acknowledged. */
static inline bool case_commits(uint64_t id)
{
	uint64_t before = net->n_acknowledged;

	if (raft_net_propose(net, id, 8) != RAFT_OK)
		return false;
	raft_net_settle(net);
	return net->n_acknowledged > before;
}

#endif
