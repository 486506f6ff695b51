/* SPDX-License-Identifier: BSD-2-Clause */
/* Parcels, and what servers know of each other's disks.
 *
 * Each parcel says what its sender has made durable (wal_mark()), and everybody
 * keeps the newest that each other one has said, and passes it on.  A server
 * that starts asks all whom it knows (HELLO).  If one of them has heard more of
 * it than its disk has (WELCOME), the disk is an older image, and what it has
 * voted or acknowledged since may be forgotten.  It votes when a majority has
 * answered, and all others have, or cannot be reached, or take too long; what a
 * leader sends it takes at once.  Nobody takes a parcel whose sender says less
 * than it once said: it is told so. */
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/consensus/consensus_private.h"
#include "lib/consensus/wire.h"

/* The question is repeated after this, */
#define HELLO_US 1000000
/* and those who are not needed for a majority have so long to answer. */
#define HELLO_WAIT_US 5000000
/* The number of an answer that was not asked for. */
#define UNASKED 1

/* --- out --- */

void consensus_post(struct consensus *c, uint64_t to, const struct buf *bytes)
{
	struct peer *p = consensus_peer(c, to);

	if (p != NULL && p->outbox.len + bytes->len <= CONSENSUS_OUTBOX_MAX)
		buf_add(&p->outbox, bytes->data, bytes->len);
}

static bool receive(struct consensus *c, const void *data, size_t len,
		    struct consensus_question *question);

static void on_sent(void *arg, bool arrived, const void *answer, size_t len)
{
	struct peer *p = arg;
	struct consensus *c = p->c;

	p->sending = false;
	p->away |= p->asked && !arrived;
	p->asked = false;
	c->n_sending--;
	cond_signal(&c->ended);
	if (c->stopping || c->failed)
		return;
	if (!arrived) {
		buf_done(&p->outbox);
		raft_unreachable(c->raft, p->id);
	}
	if (answer != NULL)
		receive(c, answer, len, NULL);
	consensus_pump(c);
	consensus_send(c);
}

/* Tell of another server, the next in the row. */
static void tell_about(struct consensus *c, struct wire_head *head)
{
	const struct peer *p;
	bool next = c->about == NULL;

	list_each (p, &c->peers, link) {
		if (next && p->id != head->to && p->known.term != 0) {
			head->about = p->id;
			head->known = p->known;
			c->about = p;
			return;
		}
		next |= p == c->about;
	}
	c->about = NULL;
}

/* What is in the outbox of messages goes into it. */
static void make_parcel(struct consensus *c, struct peer *p,
			struct wire_head head, struct buf *ret)
{
	head.cluster = c->me.cluster;
	head.from = c->me.id;
	head.to = p->id;
	head.mark = wal_mark(c->wal);
	head.format = c->config.format;
	if (head.about == 0)
		tell_about(c, &head);
	head.takes_answer = head.kind == WIRE_MESSAGES;
	wire_begin(ret, &head);
	if (head.kind == WIRE_MESSAGES) {
		buf_add(ret, p->outbox.data, p->outbox.len);
		buf_done(&p->outbox);
	}
	if (head.kind == WIRE_WELCOME) {
		struct raft_status s;

		raft_status(c->raft, &s);
		wire_add_members(ret, &s.members, s.commit);
	}
}

static void send_parcel(struct consensus *c, struct peer *p,
			struct wire_head head)
{
	struct consensus_hooks *hooks = &c->config.hooks;
	struct buf b = {0};
	size_t len;

	make_parcel(c, p, head, &b);
	p->asked = head.kind == WIRE_HELLO;
	p->sending = true;
	c->n_sending++;
	len = b.len;
	hooks->send(hooks->arg, p->id, buf_steal(&b), len, on_sent, p);
}

/* What is in the outbox is the answer to the parcel that waits for one. */
static void answer_question(struct consensus *c, struct peer *p)
{
	struct consensus_question *question = p->question;
	auto_buf struct buf b = {0};

	if (question == NULL)
		return;
	p->question = NULL;
	if (p->outbox.len == 0) {
		question->answered(question, NULL, 0);
		return;
	}
	make_parcel(c, p, (struct wire_head){.kind = WIRE_MESSAGES}, &b);
	question->answered(question, b.data, b.len);
}

static void on_questions(struct timer *t)
{
	struct consensus *c = container_of(t, struct consensus, questions);
	int64_t now_us = clock_mono_us(), next_us = 0;
	struct peer *p;

	list_each (p, &c->peers, link) {
		if (p->question != NULL && p->question_until_us <= now_us)
			answer_question(c, p);
		if (p->question != NULL &&
		    (next_us == 0 || p->question_until_us < next_us))
			next_us = p->question_until_us;
	}
	if (next_us != 0)
		timer_start(t, next_us);
}

static void keep_question(struct consensus *c, struct peer *p,
			  struct consensus_question *question)
{
	/* The one before has been given up by its sender: what there is to be
	 * said to that goes with this one. */
	if (p->question != NULL)
		p->question->answered(p->question, NULL, 0);
	p->question = question;
	p->question_until_us =
		clock_mono_us() + CONSENSUS_ANSWER_MS * INT64_C(1000);
	c->questions.fired = on_questions;
	if (!timer_running(&c->questions))
		timer_start(&c->questions, p->question_until_us);
}

/* One parcel at a time is on its way to a server; what is said meanwhile
 * gathers in the outbox. */
void consensus_send(struct consensus *c)
{
	struct peer *p;

	list_each (p, &c->peers, link) {
		if (p->outbox.len > 0)
			answer_question(c, p);
		if (p->sending)
			continue;
		if (p->answer != 0)
			send_parcel(c, p,
				    (struct wire_head){.kind = WIRE_WELCOME,
						       .number = p->answer,
						       .about = p->id,
						       .known = p->known});
		else if (p->outbox.len > 0)
			send_parcel(c, p,
				    (struct wire_head){.kind = WIRE_MESSAGES});
		else
			continue;
		p->answer = 0;
	}
}

/* --- may this server take part? --- */

static size_t count_welcomes(const struct consensus *c,
			     const struct raft_ids *ids)
{
	const struct peer *p;
	size_t n = 0;

	list_each (p, &c->peers, link)
		n += p->welcomed && raft_ids_have(ids, p->id);
	return n;
}

/* As many as a majority has besides this server. */
static bool enough(const struct consensus *c, const struct raft_ids *voters)
{
	size_t need = voters->n / 2 + 1;

	if (raft_ids_have(voters, c->me.id))
		need--;
	return voters->n == 0 || count_welcomes(c, voters) >= need;
}

/* Whether everybody who may know something has had the time to say it.  A
 * number that is no member's is not waited for: a node that was taken in anew
 * has another one, and nobody answers to the old one any more. */
static bool all_asked(const struct consensus *c, const struct raft_members *own)
{
	const struct peer *p;

	if (c->hello_until_us != 0 && clock_mono_us() > c->hello_until_us)
		return true;
	list_each (p, &c->peers, link)
		if (!p->welcomed && !p->away &&
		    (raft_members_have(own, p->id) ||
		     raft_members_have(&c->heard_members, p->id)))
			return false;
	return true;
}

/* What counts is a majority by the newest membership that is known: by the own
 * one, servers may be needed that are no more. */
static void look_whether_joined(struct consensus *c)
{
	const struct raft_members *m = &c->heard_members;
	struct raft_status s;

	raft_status(c->raft, &s);
	if (s.commit >= c->heard_commit)
		m = &s.members;
	c->joined = enough(c, &m->voters) && enough(c, &m->outgoing) &&
		    all_asked(c, &s.members);
	if (c->joined)
		log_debug("This server takes part in the log");
}

static void know_all(struct consensus *c, const struct raft_ids *ids)
{
	for (size_t i = 0; i < ids->n; i++)
		consensus_peer(c, ids->ids[i]);
}

static void ask_all(struct consensus *c)
{
	struct peer *p;

	list_each (p, &c->peers, link)
		if (!p->welcomed && !p->sending)
			send_parcel(c, p,
				    (struct wire_head){.kind = WIRE_HELLO,
						       .number = c->hello});
}

static void ask(struct consensus *c, int64_t now_us)
{
	struct raft_status s;

	raft_status(c->raft, &s);
	know_all(c, &s.members.voters);
	know_all(c, &s.members.outgoing);
	know_all(c, &s.members.learners);
	look_whether_joined(c);
	if (c->joined || (c->hello_us != 0 && now_us - c->hello_us < HELLO_US))
		return;
	while (c->hello <= UNASKED)
		random_bytes(&c->hello, sizeof(c->hello));
	if (c->hello_until_us == 0)
		c->hello_until_us = now_us + HELLO_WAIT_US;
	c->hello_us = now_us;
	ask_all(c);
}

static void take_welcome(struct consensus *c, struct peer *p,
			 struct wire_parcel *parcel)
{
	const struct wire_head *head = &parcel->head;
	struct wal_mark mine = wal_mark(c->wal);
	struct raft_members members;
	uint64_t commit;
	struct error err;

	if (wal_mark_is_older(&mine, &head->known)) {
		error_set(&err, ERR_QUEUE, ECODE_FENCED,
			  "The disk of this node was put back to an older "
			  "image: others have heard more from it than it has");
		consensus_fail(c, &err);
		return;
	}
	if (head->number != c->hello || c->joined)
		return;
	p->welcomed = true;
	if (wire_members(parcel, &members, &commit) &&
	    commit > c->heard_commit) {
		c->heard_members = members;
		c->heard_commit = commit;
		know_all(c, &members.voters);
		know_all(c, &members.outgoing);
		know_all(c, &members.learners);
	}
	look_whether_joined(c);
}

/* --- in --- */

static bool is_of_leader(enum raft_message_type type)
{
	return type == RAFT_APPEND || type == RAFT_HEARTBEAT ||
	       type == RAFT_SNAPSHOT;
}

/* What a leader sends does no harm to one who may have forgotten something. */
static bool may_hear(const struct consensus *c, enum raft_message_type type)
{
	return c->joined || is_of_leader(type);
}

/* To which the core has something to say, in general. */
static bool is_question(enum raft_message_type type)
{
	return is_of_leader(type) || type == RAFT_ASK_VOTE || type == RAFT_READ;
}

/* Whether something is to be said to them. */
static bool take_messages(struct consensus *c, struct wire_parcel *parcel)
{
	struct raft_message m;
	bool questions = false;

	while (wire_next(parcel, &m)) {
		questions |= is_question(m.type);
		if (may_hear(c, m.type))
			raft_step(c->raft, &m);
		/* The leader that was known when this one was told to lead is
		 * there. */
		if (is_of_leader(m.type) && m.term == c->told_term)
			c->told_term = 0;
	}
	return questions;
}

/* True: it is to be answered. */
static bool take_parcel(struct consensus *c, struct wire_parcel *parcel)
{
	const struct wire_head *head = &parcel->head;
	struct peer *p, *about;

	if (head->cluster != c->me.cluster || head->to != c->me.id)
		return false;
	p = consensus_peer(c, head->from);
	if (p == NULL)
		return false;
	if (head->kind == WIRE_HELLO) {
		p->answer = head->number;
		return false;
	}
	if (wal_mark_is_older(&head->mark, &p->known)) {
		p->answer = UNASKED;
		return false;
	}
	consensus_note_mark(c, p, &head->mark);
	p->heard_us = clock_mono_us();
	p->format = head->format;
	if (head->kind == WIRE_WELCOME) {
		take_welcome(c, p, parcel);
		return false;
	}
	about = consensus_peer(c, head->about);
	if (about != NULL)
		consensus_note_mark(c, about, &head->known);
	return take_messages(c, parcel) && head->takes_answer;
}

static bool receive(struct consensus *c, const void *data, size_t len,
		    struct consensus_question *question)
{
	struct wire_parcel parcel;
	bool kept;

	kept = wire_open(&parcel, data, len) && take_parcel(c, &parcel) &&
	       question != NULL;
	if (kept)
		keep_question(c, consensus_peer(c, parcel.head.from), question);
	wire_done(&parcel);
	return kept;
}

bool consensus_receive(struct consensus *c, const void *data, size_t len,
		       struct consensus_question *question)
{
	bool kept;

	if (!c->started || c->stopping || c->failed)
		return false;
	kept = receive(c, data, len, question);
	consensus_pump(c);
	return kept;
}

/* --- time --- */

void consensus_lead(struct consensus *c)
{
	struct raft_status s;

	raft_status(c->raft, &s);
	c->told = true;
	c->told_term = s.leader == 0 ? 0 : s.term;
	c->ticks = c->config.election_ticks;
	consensus_net_tick(c);
	consensus_pump(c);
}

void consensus_lead_no_more(struct consensus *c)
{
	c->told = false;
	consensus_pump(c);
}

/* Who was told to lead asks once in an election's time: two that were told do
 * not disturb each other for ever, as each asks at a time of its own. */
static void campaign(struct consensus *c)
{
	struct raft_status s;

	raft_status(c->raft, &s);
	if (!c->told || !c->joined || s.leader != 0 ||
	    s.role != RAFT_FOLLOWER || ++c->ticks < c->config.election_ticks)
		return;
	c->ticks = (unsigned)random_below(c->config.election_ticks / 2 + 1);
	if (raft_campaign(c->raft) == RAFT_NOT_A_MEMBER)
		c->told = false;
}

void consensus_net_tick(struct consensus *c)
{
	int64_t now_us = clock_mono_us();

	if (c->stopping || c->failed || !c->started)
		return;
	if (!c->joined)
		ask(c, now_us);
	campaign(c);
	consensus_peers_save(c, now_us);
}

void consensus_net_stop(struct consensus *c)
{
	struct peer *p;

	timer_stop(&c->questions);
	list_each (p, &c->peers, link) {
		struct consensus_question *question = steal(&p->question);

		if (question != NULL)
			question->answered(question, NULL, 0);
	}
}

void consensus_net_free(struct consensus *c)
{
	consensus_net_stop(c);
	while (!list_empty(&c->peers)) {
		struct peer *p = list_first(&c->peers, struct peer, link);

		list_remove(&p->link);
		buf_done(&p->outbox);
		free(p);
	}
}
