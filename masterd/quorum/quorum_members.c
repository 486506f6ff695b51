/* SPDX-License-Identifier: BSD-2-Clause */
/* The leader makes the log's membership follow the configuration: every master
 * candidate takes part, and an odd number of them votes (doc/design/log.md).
 *
 * A step at a time, looked at anew after each: take in who is missing, as a
 * learner; give votes; send away who is no candidate. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/rpc/rpc.h"
#include "masterd/quorum/quorum_private.h"

/* So often everything is looked at, also when nothing has changed; a candidate
 * that does not answer is asked again after this. */
#define LOOK_US 1000000
/* Sooner while somebody is being taken in. */
#define SOON_US 100000
#define ORDER_MS 10000u
/* A candidate that has not answered so often is not waited for. */
#define UNHEARD_MAX 3
/* Who could not be told that it is no candidate is told again after this. */
#define DISMISS_US 10000000
/* Who lacks no more entries than this is as good as up to date. */
#define BEHIND_MAX 1000

/* --- who it is to be --- */

/* Whether a candidate's node can have a part of the log. */
static bool serves_log(const struct quorum_candidate *c)
{
	return c->online && !c->ganetis;
}

static bool is_candidate(struct quorum *q, uint64_t id)
{
	const struct quorum_candidate *c = quorum_candidate_of(q, id);

	return id == q->me.id || (c != NULL && serves_log(c));
}

bool quorum_is_up_to_date(const struct quorum *q,
			  const struct consensus_status *now, uint64_t id)
{
	struct raft_progress progress;

	return id == q->me.id ||
	       (consensus_progress(q->log, id, &progress) && progress.active &&
		progress.match + BEHIND_MAX >= now->raft.commit &&
		progress.match > 0);
}

/* Whether a member that is no candidate any more could keep its vote: its node
 * is there, as far as the configuration says, and serves the log. */
static bool may_stay(struct quorum *q, uint64_t id)
{
	const struct quorum_candidate *c = quorum_candidate_of(q, id);
	auto_json json_t *node = quorum_configured(q, id);

	return node != NULL && !node_offline(node) &&
	       (c == NULL || !c->ganetis);
}

static size_t count_silent(const struct consensus_status *now,
			   const struct raft_ids *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < ids->n; i++)
		n += raft_ids_have(&now->silent, ids->ids[i]);
	return n;
}

/* Former candidates that are heard, or not, stay until there are n voters.  One
 * that is not heard may only be slow, and without it the master could be the
 * only voter: but those that are heard must be more, lest all wait for it. */
static void keep_some(struct quorum *q, const struct consensus_status *now,
		      bool silent, size_t n, struct raft_members *wanted,
		      struct raft_ids *able)
{
	const struct raft_ids *voters = &now->raft.members.voters;

	for (size_t i = 0; i < voters->n && able->n < n; i++) {
		uint64_t id = voters->ids[i];

		if (raft_ids_have(&now->silent, id) != silent ||
		    is_candidate(q, id) || !may_stay(q, id) ||
		    (silent && (count_silent(now, able) + 1) * 2 > able->n))
			continue;
		raft_ids_add(&wanted->learners, id);
		raft_ids_add(able, id);
	}
}

/* Of candidates that are away some have to join yet: until then, who has voted
 * goes on with that, in their place.  So that a change of all candidates at
 * once does not leave one copy of all that was acknowledged. */
static void keep_former(struct quorum *q, const struct consensus_status *now,
			struct raft_members *wanted, struct raft_ids *able)
{
	size_t n = 1;

	for (size_t i = 0; i < q->n_candidates; i++)
		n += serves_log(&q->candidates[i]) &&
		     q->candidates[i].hash != q->me.id >> QUORUM_LIFE_BITS;
	if (n >= RAFT_MEMBERS_MAX) /* or there were no room for who joins */
		n = RAFT_MEMBERS_MAX - 1;
	keep_some(q, now, false, n, wanted, able);
	keep_some(q, now, true, n, wanted, able);
}

/* Move members to the voters until there are enough, the ones first that have a
 * vote now. */
static void give_votes(const struct raft_members *now, struct raft_ids *able,
		       size_t n, struct raft_members *wanted)
{
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < able->n && wanted->voters.n < n; i++) {
			uint64_t id = able->ids[i];

			if (pass == 0 && !raft_ids_have(&now->voters, id))
				continue;
			raft_ids_add(&wanted->voters, id);
			raft_ids_remove(&wanted->learners, id);
		}
}

/* The members without those that are no candidates (unless they are needed
 * yet), an odd number of those who are able to vote as voters: with two, this
 * one alone, so that it can go on without the other. */
static void find_wanted(struct quorum *q, const struct consensus_status *now,
			struct raft_members *wanted)
{
	const struct raft_ids *lists[] = {&now->raft.members.voters,
					  &now->raft.members.learners};
	struct raft_ids able = {0};

	*wanted = (struct raft_members){0};
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			uint64_t id = lists[k]->ids[i];

			if (!is_candidate(q, id))
				continue;
			raft_ids_add(&wanted->learners, id);
			if (k == 0 || quorum_is_up_to_date(q, now, id))
				raft_ids_add(&able, id);
		}
	keep_former(q, now, wanted, &able);
	raft_ids_remove(&wanted->learners, q->me.id);
	raft_ids_add(&wanted->voters, q->me.id);
	give_votes(&now->raft.members, &able,
		   able.n % 2 == 1 ? able.n : able.n - 1, wanted);
}

static bool is_same(const struct raft_members *a, const struct raft_members *b)
{
	return raft_ids_equal(&a->voters, &b->voters) &&
	       raft_ids_equal(&a->learners, &b->learners);
}

/* A change that was begun is in force: until then, others have no say. */
static void log_members(struct quorum *q, const struct consensus_status *now)
{
	const struct raft_members *m = &now->raft.members;

	if (!q->exchanging || now->raft.changing)
		return;
	q->exchanging = false;
	log_info("The log of the cluster has %zu voters and %zu learners from "
		 "now on",
		 m->voters.n, m->learners.n);
}

/* --- who is missing --- */

static uint64_t member_of(const struct raft_members *m, uint64_t hash)
{
	const struct raft_ids *lists[] = {&m->voters, &m->learners};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (lists[k]->ids[i] >> QUORUM_LIFE_BITS == hash)
				return lists[k]->ids[i];
	return 0;
}

/* The number that a candidate's server has in this log; 0: none.  -1: it cannot
 * be asked, or Ganeti's node daemon answers. */
static WAITS int ask_number(struct quorum *q, const json_t *node, uint64_t *ret,
			    struct error *err)
{
	auto_json json_t *answer = quorum_give_order(
		q, node, json_make("[s]", "status"), ORDER_MS, err);
	auto_free char *cluster = xprintf("%016" PRIx64, q->me.cluster);

	*ret = 0;
	if (answer == NULL)
		return -1;
	if (str_eq(json_str(answer, "cluster", ""), cluster))
		*ret = strtoull(json_str(answer, "id", "0"), NULL, 16);
	return 0;
}

static WAITS int tell_number(struct quorum *q, const json_t *node, uint64_t id,
			     struct error *err)
{
	auto_free char *cluster = xprintf("%016" PRIx64, q->me.cluster);
	auto_free char *text = xprintf("%016" PRIx64, id);
	auto_free char *term = NULL, *last = NULL;
	auto_json json_t *answer = NULL;
	struct consensus_status now;

	consensus_status(q->log, &now);
	term = xprintf("%016" PRIx64, now.raft.last_term);
	last = xprintf("%016" PRIx64, now.raft.last);
	answer = quorum_give_order(
		q, node,
		json_make("[s, s, s, s, s]", "join", cluster, text, term, last),
		ORDER_MS, err);
	return answer == NULL ? -1 : 0;
}

/* The number that it is to be told, once: when it is told again, the server may
 * have had it and lost its disk, and with that what it has said. */
static uint64_t number_for(struct quorum_candidate *c)
{
	if (c->minted == 0)
		c->minted = c->hash << QUORUM_LIFE_BITS |
			    random_below(1u << QUORUM_LIFE_BITS);
	return c->minted;
}

static bool is_full(const struct raft_members *m)
{
	return m->voters.n + m->learners.n >= RAFT_MEMBERS_MAX;
}

bool quorum_is_left_out(const struct raft_members *m,
			const struct quorum_candidate *c)
{
	return is_full(m) && member_of(m, c->hash) == 0;
}

/* Whether there is room for one more member; if not, it is said once. */
static bool has_room(const struct raft_members *m, struct quorum_candidate *c)
{
	if (!is_full(m)) {
		c->turned_away = false;
		return true;
	}
	if (!c->turned_away)
		log_warning("Master candidate %s takes no part in the log of "
			    "the cluster, which has %d members, the most there "
			    "can be: gnt-cluster modify --candidate-pool-size "
			    "makes fewer nodes candidates",
			    quorum_candidate_name(c), RAFT_MEMBERS_MAX);
	c->turned_away = true;
	return false;
}

/* Let the node take part with a number, as a learner. */
static WAITS void take_in(struct quorum *q, const struct consensus_status *now,
			  struct quorum_candidate *c, const json_t *node)
{
	uint64_t hash = c->hash, id = number_for(c);
	struct raft_members wanted = now->raft.members;
	uint64_t member = member_of(&wanted, hash);
	struct error err;

	if (member == id) {
		c->minted = 0;
		if (tell_number(q, node, id, &err) < 0)
			log_debug("%s", err.text);
		return;
	}
	if (member == 0 && !has_room(&wanted, c))
		return;
	raft_ids_remove(&wanted.voters, member);
	raft_ids_remove(&wanted.learners, member);
	if (wanted.voters.n > 0)
		raft_ids_add(&wanted.learners, id);
	if (consensus_change_members(q->log, &wanted) == 0)
		c->asked_us = 0; /* it is to be told its number at once */
}

/* One that is not heard. */
struct seeing {
	struct quorum *q;
	uint64_t hash;
	json_t *node;
};

/* Whether a candidate that did not answer as a server runs Ganeti's node
 * daemon, which may have been started in place of ours: then it is no member,
 * so that nothing waits for it.  One that says nothing at all is what it was.
 */
static WAITS void ask_whose(struct quorum *q, uint64_t hash, const json_t *node)
{
	bool ganetis = noderpc_is_ganetis(q->rpc, node);
	struct quorum_candidate *c =
		quorum_candidate_of(q, hash << QUORUM_LIFE_BITS);

	if (c == NULL || c->ganetis || !ganetis)
		return;
	c->ganetis = true;
	log_warning("Node %s runs Ganeti's node daemon: it takes no part in "
		    "the log of the cluster until gantry-noded runs there",
		    quorum_candidate_name(c));
}

/* Does it have the number by which it is known?  While it is asked, its master
 * daemon may be started. */
static WAITS void see_to(struct quorum *q, uint64_t hash, const json_t *node)
{
	struct consensus_status now;
	struct quorum_candidate *c;
	struct error err;
	uint64_t id, term;
	bool answers = ask_number(q, node, &id, &err) == 0;

	if (!answers)
		ask_whose(q, hash, node);
	c = quorum_candidate_of(q, hash << QUORUM_LIFE_BITS);
	if (c != NULL) {
		c->unheard = answers ? 0 : c->unheard + 1;
		c->ganetis &= !answers;
	}
	if (!answers)
		log_debug("%s", err.text);
	if (!answers || c == NULL || q->stopping || !quorum_leads(q, &term))
		return;
	consensus_status(q->log, &now);
	if (id != 0 && id == member_of(&now.raft.members, hash)) {
		c->minted = 0;
		return;
	}
	take_in(q, &now, c, node);
}

static WAITS void see_task(void *arg)
{
	auto_free struct seeing *seeing = arg;
	auto_json json_t *node = seeing->node;
	struct quorum *q = seeing->q;
	struct quorum_candidate *c;

	see_to(q, seeing->hash, node);
	c = quorum_candidate_of(q, seeing->hash << QUORUM_LIFE_BITS);
	if (c != NULL)
		c->asked = false;
	q->n_seeing--;
	cond_signal(&q->kick);
	cond_signal(&q->ended);
}

static void begin_to_see(struct quorum *q, struct quorum_candidate *c)
{
	struct seeing *seeing = xalloc(sizeof(*seeing));

	*seeing = (struct seeing){
		.q = q, .hash = c->hash, .node = json_incref(c->node)};
	c->asked = true;
	c->asked_us = clock_mono_us();
	q->n_seeing++;
	task_spawn("candidate", see_task, seeing);
}

/* Those that are no members, or are and do not answer. */
static bool is_missing(const struct quorum *q,
		       const struct consensus_status *now,
		       const struct quorum_candidate *c)
{
	uint64_t id = member_of(&now->raft.members, c->hash);

	return c->online && id != q->me.id &&
	       (id == 0 || raft_ids_have(&now->silent, id));
}

static void see_to_missing(struct quorum *q, const struct consensus_status *now)
{
	int64_t since_us = clock_mono_us() - LOOK_US;

	for (size_t i = 0; i < q->n_candidates; i++) {
		struct quorum_candidate *c = &q->candidates[i];

		if (!c->asked && c->asked_us < since_us &&
		    is_missing(q, now, c))
			begin_to_see(q, c);
	}
}

/* --- who leaves --- */

struct leaver {
	struct quorum *q;
	json_t *node;
};

static void forget_name(struct strv *v, const char *name)
{
	auto_strv struct strv old = *v;

	*v = (struct strv){0};
	for (size_t i = 0; i < old.n; i++)
		if (!str_eq(old.items[i], name))
			strv_add(v, old.items[i]);
}

/* An end of this server waits for it, so not for long. */
static WAITS void dismiss_task(void *arg)
{
	auto_free struct leaver *leaver = arg;
	auto_json json_t *node = leaver->node;
	struct quorum *q = leaver->q;
	struct error err;
	auto_json json_t *done = noderpc_call(
		q->rpc, node, rpc_within(rpc_node_demote_from_mc(), ORDER_MS),
		&err);

	forget_name(&q->dismissed, node_name(node));
	if (done == NULL) {
		log_warning("Node %s failed to demote itself: %s",
			    node_name(node), err.text);
		strv_add_unique(&q->untold, node_name(node));
		q->untold_us = clock_mono_us();
	}
	q->n_seeing--;
	cond_signal(&q->ended);
}

static void begin_to_dismiss(struct quorum *q, const char *name)
{
	uint64_t id = quorum_node_hash(name) << QUORUM_LIFE_BITS;
	json_t *node = quorum_configured(q, id);
	struct leaver *leaver;

	if (q->config.left != NULL)
		q->config.left(q->config.arg);
	if (node == NULL || node_master_candidate(node) || node_offline(node)) {
		json_decref(node);
		return;
	}
	leaver = xalloc(sizeof(*leaver));
	*leaver = (struct leaver){.q = q, .node = node};
	strv_add(&q->dismissed, name);
	q->n_seeing++;
	task_spawn("dismiss", dismiss_task, leaver);
}

static void try_untold_again(struct quorum *q)
{
	auto_strv struct strv untold = {0};

	if (clock_mono_us() < q->untold_us + DISMISS_US)
		return;
	untold = q->untold;
	q->untold = (struct strv){0};
	for (size_t i = 0; i < untold.n; i++)
		strv_add_unique(&q->leaving, untold.items[i]);
}

/* Who is no member any more, and will not be called back. */
static void dismiss_leavers(struct quorum *q,
			    const struct consensus_status *now)
{
	auto_strv struct strv leaving = q->leaving;

	q->leaving = (struct strv){0};
	for (size_t i = 0; i < leaving.n; i++)
		if (now->raft.changing ||
		    member_of(&now->raft.members,
			      quorum_node_hash(leaving.items[i])) != 0)
			strv_add(&q->leaving, leaving.items[i]);
		else
			begin_to_dismiss(q, leaving.items[i]);
}

/* Also when nobody has asked for it, as a former master had, for example. */
static void note_leavers(struct quorum *q, const struct raft_members *now,
			 const struct raft_members *wanted)
{
	const struct raft_ids *lists[] = {&now->voters, &now->learners};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			uint64_t id = lists[k]->ids[i];
			auto_json json_t *node = NULL;

			if (raft_members_have(wanted, id) ||
			    is_candidate(q, id))
				continue;
			node = quorum_configured(q, id);
			if (node != NULL)
				strv_add_unique(&q->leaving, node_name(node));
		}
}

bool quorum_has_member(const struct quorum *q, const char *name)
{
	struct consensus_status now;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &now);
	return now.raft.changing ||
	       member_of(&now.raft.members, quorum_node_hash(name)) != 0;
}

bool quorum_may_have_member(struct quorum *q, const char *name)
{
	return quorum_has_member(q, name) ||
	       (q->log != NULL &&
		quorum_candidate_of(q, quorum_node_hash(name)
					       << QUORUM_LIFE_BITS) != NULL);
}

bool quorum_dismiss(struct quorum *q, const char *name)
{
	if (q->log == NULL || !q->members_run)
		return false;
	if (strv_has(&q->dismissed, name))
		return true;
	if (!quorum_has_member(q, name)) {
		if (q->config.left != NULL)
			q->config.left(q->config.arg);
		return false;
	}
	strv_add_unique(&q->leaving, name);
	cond_signal(&q->kick);
	return true;
}

/* --- the task --- */

/* Tell that somebody is back. */
static void tell_heard(struct quorum *q, const struct consensus_status *now)
{
	const struct raft_ids was = q->silent;
	bool heard = false;

	for (size_t i = 0; i < was.n; i++)
		heard |= !raft_ids_have(&now->silent, was.ids[i]);
	q->silent = now->silent;
	if (heard && q->config.heard != NULL)
		q->config.heard(q->config.arg);
}

static void step(struct quorum *q)
{
	struct consensus_status now;
	struct raft_members wanted;
	uint64_t term;

	if (!quorum_leads(q, &term))
		return;
	consensus_status(q->log, &now);
	tell_heard(q, &now);
	quorum_nodes_refresh(q);
	log_members(q, &now);
	if (!now.raft.changing && now.raft.transfer_to == 0 && !q->turning) {
		find_wanted(q, &now, &wanted);
		if (!is_same(&wanted, &now.raft.members) &&
		    consensus_change_members(q->log, &wanted) == 0) {
			note_leavers(q, &now.raft.members, &wanted);
			q->exchanging = true;
		}
	}
	see_to_missing(q, &now);
	consensus_status(q->log, &now);
	try_untold_again(q);
	dismiss_leavers(q, &now);
}

/* Whether a learner that answers still lacks much. */
static bool is_catching_up(const struct quorum *q,
			   const struct consensus_status *now)
{
	const struct raft_ids *learners = &now->raft.members.learners;

	for (size_t i = 0; i < learners->n; i++)
		if (!raft_ids_have(&now->silent, learners->ids[i]) &&
		    !quorum_is_up_to_date(q, now, learners->ids[i]))
			return true;
	return false;
}

/* Whether a candidate that answers does not take part as it is to. */
static bool is_settling(struct quorum *q)
{
	struct consensus_status now;
	struct raft_members wanted;
	uint64_t term;

	if (!quorum_leads(q, &term))
		return false;
	consensus_status(q->log, &now);
	quorum_nodes_refresh(q);
	find_wanted(q, &now, &wanted);
	if (now.raft.changing || !is_same(&wanted, &now.raft.members) ||
	    q->dismissed.n > 0)
		return true;
	for (size_t i = 0; i < q->n_candidates; i++) {
		const struct quorum_candidate *c = &q->candidates[i];

		if (is_missing(q, &now, c) &&
		    !quorum_is_left_out(&now.raft.members, c) &&
		    (c->asked || c->unheard < UNHEARD_MAX))
			return true;
	}
	return is_catching_up(q, &now);
}

static WAITS void members_task(void *arg)
{
	struct quorum *q = arg;

	while (!q->stopping) {
		step(q);
		cond_wait_until(&q->kick,
				clock_mono_us() +
					(is_settling(q) ? SOON_US : LOOK_US));
	}
	while (q->n_seeing > 0)
		cond_wait(&q->ended);
	q->members_run = false;
	cond_signal(&q->ended);
}

void quorum_settle(struct quorum *q, unsigned timeout_ms)
{
	int64_t until_us = clock_mono_us() + (int64_t)timeout_ms * 1000;

	while (q->members_run && !q->stopping && is_settling(q) &&
	       clock_mono_us() < until_us)
		cond_wait_until(&q->kick, clock_mono_us() + SOON_US);
}

void quorum_members_begin(struct quorum *q)
{
	if (q->members_run)
		return;
	q->members_run = true;
	task_spawn("members", members_task, q);
}
