/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers: who they are, their coming and going, and the task of each. */
#include "masterd/distribute/distribute.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/distribute/distribute_private.h"
#include "masterd/rpc/noderpc.h"

const char *peer_name(const struct peer *p)
{
	return node_name_or(p->node, "?");
}

static void peer_free(struct peer *p)
{
	list_remove(&p->link);
	json_decref(p->node);
	free(p->uuid);
	free(p);
}

struct distribute *distribute_create(struct master *m)
{
	struct distribute *d = xalloc(sizeof(*d));

	d->m = m;
	d->n_configs = 1; /* as it was found */
	list_init(&d->peers);
	cond_init(&d->changed);
	return d;
}

void distribute_free(struct distribute *d)
{
	if (d == NULL)
		return;
	while (!list_empty(&d->peers))
		peer_free(list_first(&d->peers, struct peer, link));
	json_decref(d->ssconf_values);
	json_decref(d->ssconf_newest);
	free(d);
}

/* --- the task of a peer --- */

static bool is_over(const struct peer *p)
{
	return p->gone || p->d->stopping || noderpc_is_fenced(p->d->m->rpc);
}

static void note_failed(struct peer *p, const struct error *err)
{
	p->failing = true;
	p->declined = false;
	p->asked = p->ganetis = false;
	p->config = p->ssconf = 0; /* it may have lost what it had */
	if (!p->logged && !is_over(p))
		log_warning("%s; it will get the cluster's files when it "
			    "answers again",
			    err->text);
	else
		log_debug("%s", err->text);
	p->logged = true;
}

static void note_well(struct peer *p)
{
	p->failing = p->declined = false;
	if (p->logged)
		log_info("node %s answers again", peer_name(p));
	p->logged = false;
}

/* What it does not take waits; it answers, and all else is in order. */
static void note_declined(struct peer *p, const struct error *err)
{
	bool known = p->declined;

	note_well(p);
	p->declined = true;
	if (!known)
		log_warning("%s; it will get this when it takes it", err->text);
}

/* Until it is time to try again. */
static WAITS void rest(struct peer *p)
{
	int64_t until = clock_mono_us() + DISTRIBUTE_RETRY_MS * INT64_C(1000);

	while (!is_over(p) && !p->hurry && cond_wait_until(&p->kick, until))
		;
	p->hurry = false;
}

static void release(struct peer *p)
{
	if (p->gone && !p->runs)
		peer_free(p);
}

static WAITS void peer_task(void *arg)
{
	struct peer *p = arg;
	struct distribute *d = p->d;
	struct error err;

	while (!is_over(p) && peer_lacks(p)) {
		int rc = peer_give(p, &err);

		if (rc == DISTRIBUTE_DECLINED)
			note_declined(p, &err);
		else if (rc < 0)
			note_failed(p, &err);
		else if (rc != DISTRIBUTE_ASKED)
			note_well(p);
		cond_signal(&d->changed);
		if (rc != DISTRIBUTE_ASKED && (p->failing || p->declined))
			rest(p);
	}
	p->runs = false;
	release(p);
	cond_signal(&d->changed);
}

static void wake(struct peer *p)
{
	if (p->runs || !p->d->started || is_over(p) || !peer_lacks(p))
		return;
	p->runs = true;
	task_spawn("distribute", peer_task, p);
}

static void wake_all(struct distribute *d)
{
	struct peer *p;

	list_each (p, &d->peers, link)
		wake(p);
}

/* --- who they are --- */

static struct peer *find_peer(const struct distribute *d, const char *uuid)
{
	struct peer *p;

	list_each (p, &d->peers, link)
		if (!p->gone && str_eq(p->uuid, uuid))
			return p;
	return NULL;
}

static struct peer *peer_new(struct distribute *d, const char *uuid)
{
	struct peer *p = xalloc(sizeof(*p));

	p->d = d;
	p->uuid = xstrdup(uuid);
	cond_init(&p->kick);
	list_append(&d->peers, &p->link);
	return p;
}

static void take_in(struct distribute *d, const char *uuid, json_t *node)
{
	struct peer *p = find_peer(d, uuid);

	if (p == NULL)
		p = peer_new(d, uuid);
	if (p->candidate != node_master_candidate(node))
		p->asked = p->ganetis = false;
	p->candidate = node_master_candidate(node);
	json_decref(p->node);
	p->node = json_incref(node);
}

static void send_off(struct peer *p)
{
	p->gone = true;
	cond_signal(&p->kick);
	release(p);
}

static bool is_peer(const json_t *node)
{
	return node != NULL && !node_offline(node);
}

/* Make the list of peers what the configuration says. */
static void refresh(struct distribute *d)
{
	const struct config *c = d->m->config;
	struct peer *p, *next;
	const char *uuid;
	json_t *node;

	list_each_safe (p, next, &d->peers, link)
		if (!p->gone && !is_peer(config_get(c, CONFIG_NODE, p->uuid)))
			send_off(p);
	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node)
		if (is_peer(node))
			take_in(d, uuid, node);
}

/* --- something new --- */

/* Whether all who are in order have everything that they take. */
static bool all_have_it(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (!p->gone && !p->failing && !p->declined && peer_lacks(p))
			return false;
	return true;
}

void distribute_config(void *arg, const json_t *ssconf)
{
	struct distribute *d = arg;

	refresh(d);
	d->n_configs++;
	if (ssconf != NULL)
		distribute_new_ssconf(d, ssconf);
	wake_all(d);
	while (d->started && !all_have_it(d) && !d->stopping &&
	       !noderpc_is_fenced(d->m->rpc))
		cond_wait(&d->changed);
}

/* --- who has to know --- */

void distribute_failing(const struct distribute *d, struct strv *ret_candidates,
			struct strv *ret_others)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (!p->gone && (p->failing || p->declined))
			strv_add(p->candidate ? ret_candidates : ret_others,
				 peer_name(p));
	strv_sort_nice(ret_candidates);
	strv_sort_nice(ret_others);
}

void distribute_ganetis(const struct distribute *d, struct strv *ret)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->candidate && p->ganetis && !p->gone)
			strv_add(ret, peer_name(p));
	strv_sort_nice(ret);
}

/* --- start and end --- */

void distribute_start(struct distribute *d)
{
	d->started = true;
	refresh(d);
	wake_all(d);
}

void distribute_hurry(struct distribute *d)
{
	struct peer *p;

	list_each (p, &d->peers, link) {
		p->hurry = p->failing;
		cond_signal(&p->kick);
	}
}

static bool any_runs(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->runs)
			return true;
	return false;
}

WAITS void distribute_stop(struct distribute *d)
{
	struct peer *p;

	d->stopping = true;
	list_each (p, &d->peers, link)
		cond_signal(&p->kick);
	cond_signal(&d->changed);
	while (any_runs(d))
		cond_wait(&d->changed);
}
