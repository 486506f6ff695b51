/* SPDX-License-Identifier: BSD-2-Clause */
/* When a change is safe (doc/design/failover.md): when no half plus one of the
 * candidates could come together without anybody who has it.  A candidate whose
 * host refuses connections has no daemon that could come. */
#include "lib/base/log.h"
#include "masterd/core/master.h"
#include "masterd/replicate/distribute_private.h"
#include "masterd/rpc/noderpc.h"

enum { LEVEL_WELL, LEVEL_SOME, LEVEL_MANY };

/* Whether it may ever have a say in who is master. */
static bool counts(const struct peer *p)
{
	return !p->gone && !p->ganetis;
}

/* The candidates of a set, this node included. */
static size_t count_candidates(const struct distribute *d,
			       enum candidate_set set)
{
	const struct peer *p;
	size_t n = 1;

	list_each (p, &d->peers, link)
		n += p->in[set] && counts(p);
	return n;
}

bool distribute_alone(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->candidate && !p->gone)
			return false;
	return true;
}

static bool is_safe_in(const struct distribute *d, enum candidate_set set,
		       const struct lane *(*lane)(const struct peer *p),
		       uint64_t number, uint64_t stamp)
{
	bool no_voting = d->m->role.no_voting;
	const struct peer *p;
	size_t lacking = 0, refusing = 0;

	list_each (p, &d->peers, link) {
		const struct lane *l = lane(p);

		if (!p->in[set] || !counts(p))
			continue;
		if (l->has >= number || (no_voting && l->failing))
			continue;
		/* An older refusal says nothing: it may have started since, and
		 * be what answers now. */
		if (l->refused && !l->asking && l->tried >= stamp)
			refusing++;
		else
			lacking++;
	}
	/* A daemon that is down now may be there for the next master: it counts
	 * as lacking, unless all that could come now have the change. */
	return lacking == 0 ||
	       lacking + refusing <= count_candidates(d, set) / 2;
}

static bool is_safe(const struct distribute *d,
		    const struct lane *(*lane)(const struct peer *p),
		    uint64_t number, uint64_t stamp)
{
	return is_safe_in(d, SET_SAFE, lane, number, stamp) &&
	       is_safe_in(d, SET_NOW, lane, number, stamp);
}

static bool too_many_fail(const struct distribute *d, enum candidate_set set)
{
	const struct peer *p;
	size_t failing = 0;

	list_each (p, &d->peers, link)
		failing += p->in[set] && counts(p) &&
			   (p->files.failing || p->queue.failing);
	return failing > count_candidates(d, set) / 2;
}

static const char *what_it_said(const struct peer *p)
{
	return p->files.said != NULL ? p->files.said : p->queue.said;
}

/* The candidates that fail without refusing connections, each with what it said
 * of it, and whether these and those that refuse are too many. */
static bool name_silent(const struct distribute *d, struct strv *ret)
{
	const struct peer *p;

	list_each (p, &d->peers, link) {
		if (!p->candidate || !counts(p))
			continue;
		if (!(p->files.failing && !p->files.refused) &&
		    !(p->queue.failing && !p->queue.refused))
			continue;
		if (what_it_said(p) == NULL)
			strv_add(ret, peer_name(p));
		else
			strv_addf(ret, "%s: %s", peer_name(p), what_it_said(p));
	}
	strv_sort_nice(ret);
	return ret->n > 0 && !d->m->role.no_voting &&
	       (too_many_fail(d, SET_NOW) || too_many_fail(d, SET_SAFE));
}

/* Whether somebody is silent, or all say why they fail. */
static bool any_silent(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->candidate && counts(p) && what_it_said(p) == NULL &&
		    (p->files.failing || p->queue.failing))
			return true;
	return false;
}

static int set_unsafe(struct error *err, const struct distribute *d,
		      const struct strv *silent)
{
	auto_free char *names = strv_join(silent, ", ");

	if (!any_silent(d))
		return error_set(err, ERR_QUEUE, ECODE_STATE,
				 "Nothing can be changed now: more than half "
				 "of the %zu master candidates fail to keep "
				 "the cluster's state. Mend what they say, or "
				 "set them offline: %s",
				 count_candidates(d, SET_NOW), names);
	return error_set(err, ERR_QUEUE, ECODE_STATE,
			 "Nothing can be changed now: more than half of the "
			 "%zu master candidates do not answer (%s), they may "
			 "have another master",
			 count_candidates(d, SET_NOW), names);
}

int distribute_safe(const struct distribute *d, struct error *err)
{
	auto_strv struct strv silent = {0};

	return name_silent(d, &silent) ? set_unsafe(err, d, &silent) : 0;
}

/* -1: it is over, whatever comes. */
static int check_over(const struct distribute *d, struct error *err)
{
	auto_strv struct strv silent = {0};

	if (noderpc_is_fenced(d->m->rpc))
		return error_set(err, ERR_QUEUE, ECODE_FENCED,
				 "Another master has taken over; whether this "
				 "change counts is not known");
	if (d->stopping)
		return error_set(err, ERR_QUEUE, ECODE_STATE,
				 "The master daemon ends");
	if (d->ending && name_silent(d, &silent))
		return set_unsafe(err, d, &silent);
	return 0;
}

WAITS int safe_wait(struct distribute *d,
		    const struct lane *(*lane)(const struct peer *p),
		    uint64_t number, struct error *err)
{
	uint64_t stamp = ++d->stamp;

	d->asked = stamp;
	distribute_wake(d); /* also those that refused: do they still? */
	while (!is_safe(d, lane, number, stamp)) {
		if (check_over(d, err) < 0)
			return -1;
		cond_wait(&d->changed);
	}
	return noderpc_is_fenced(d->m->rpc) ? check_over(d, err) : 0;
}

/* --- who has to know --- */

bool distribute_failing(const struct distribute *d, struct strv *ret_candidates,
			struct strv *ret_others)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (counts(p) && (p->files.failing || p->queue.failing))
			strv_add(p->candidate ? ret_candidates : ret_others,
				 peer_name(p));
	strv_sort_nice(ret_candidates);
	strv_sort_nice(ret_others);
	return ret_candidates->n > count_candidates(d, SET_NOW) / 2;
}

void distribute_ganetis(const struct distribute *d, struct strv *ret)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->candidate && p->ganetis && !p->gone)
			strv_add(ret, peer_name(p));
	strv_sort_nice(ret);
}

void safe_log(struct distribute *d)
{
	auto_strv struct strv candidates = {0}, others = {0};
	bool many = distribute_failing(d, &candidates, &others);
	auto_free char *names = strv_join(&candidates, ", ");
	int level = many	       ? LEVEL_MANY
		    : candidates.n > 0 ? LEVEL_SOME
				       : LEVEL_WELL;

	if (level == LEVEL_MANY && d->level < LEVEL_MANY)
		log_error("More than half of the %zu master candidates fail to "
			  "keep the cluster's state: %s",
			  count_candidates(d, SET_NOW), names);
	else if (level == LEVEL_SOME && d->level == LEVEL_WELL)
		log_warning("A master candidate fails to keep the cluster's "
			    "state: %s",
			    names);
	else if (level < LEVEL_MANY && d->level == LEVEL_MANY)
		log_info("Enough master candidates keep the cluster's state "
			 "again");
	d->level = level;
}
