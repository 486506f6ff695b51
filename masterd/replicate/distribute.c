/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers: who they are, and their coming and going. */
#include "masterd/replicate/distribute.h"

#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/replicate/distribute_private.h"
#include "masterd/rpc/noderpc.h"

struct parcel *parcel_new(uint64_t number, char *text STEALS, size_t len)
{
	struct parcel *p = xalloc(sizeof(*p));

	*p = (struct parcel){
		.refs = 1, .number = number, .text = text, .len = len};
	return p;
}

struct parcel *parcel_ref(struct parcel *p)
{
	p->refs++;
	return p;
}

void parcel_unref(struct parcel *p)
{
	if (p == NULL || --p->refs > 0)
		return;
	free(p->text);
	free(p);
}

static void peer_free(struct peer *p)
{
	list_remove(&p->link);
	batches_drop(p);
	free(p->batches);
	lane_done(&p->files);
	lane_done(&p->queue);
	json_decref(p->node);
	free(p->uuid);
	free(p);
}

struct distribute *distribute_create(struct master *m)
{
	struct distribute *d = xalloc(sizeof(*d));

	d->m = m;
	list_init(&d->peers);
	cond_init(&d->changed);
	d->n_batches = 1; /* the queue as it was found */
	distribute_refresh(d);
	distribute_settle(d, config_serial(m->config));
	return d;
}

void distribute_free(struct distribute *d)
{
	if (d == NULL)
		return;
	while (!list_empty(&d->peers))
		peer_free(list_first(&d->peers, struct peer, link));
	parcel_unref(d->config);
	parcel_unref(d->ssconf);
	json_decref(d->ssconf_values);
	parcel_unref(d->batch);
	free(d);
}

/* --- who they are --- */

static struct peer *find_peer(const struct distribute *d, const char *uuid)
{
	struct peer *p;

	list_each (p, &d->peers, link)
		if (str_eq(p->uuid, uuid))
			return p;
	return NULL;
}

static bool is_peer(const struct distribute *d, const json_t *node)
{
	return node != NULL && !node_offline(node) &&
	       !config_is_master(d->m->config, node_uuid_or(node, NULL));
}

static struct peer *peer_new(struct distribute *d, const char *uuid)
{
	struct peer *p = xalloc(sizeof(*p));

	p->d = d;
	p->uuid = xstrdup(uuid);
	lane_init(&p->files, p, &lane_files);
	lane_init(&p->queue, p, &lane_queue);
	list_append(&d->peers, &p->link);
	return p;
}

/* What a former candidate or a node that was away has, nobody knows. */
static void forget(struct peer *p)
{
	p->files.has = p->queue.has = 0;
	p->config = p->ssconf = 0;
	p->files.class->failed(&p->files);
	p->queue.class->failed(&p->queue);
}

/* It is a candidate by the configuration, or is not any more. */
static void set_now(struct peer *p, bool now)
{
	bool candidate = now || p->in[SET_SAFE];

	if (p->in[SET_NOW] != now)
		p->d->set_serial = config_serial(p->d->m->config);
	p->in[SET_NOW] = now;
	if (p->gone || p->candidate != candidate)
		forget(p);
	p->candidate = candidate;
}

static void take_in(struct distribute *d, const char *uuid, json_t *node)
{
	struct peer *p = find_peer(d, uuid);

	if (p == NULL)
		p = peer_new(d, uuid);
	set_now(p, node_master_candidate(node));
	p->gone = false;
	json_decref(p->node);
	p->node = json_incref(node);
}

void peer_release(struct peer *p)
{
	if (p->gone && !p->files.runs && !p->queue.runs)
		peer_free(p);
}

static void send_off(struct peer *p)
{
	p->gone = true;
	cond_signal(&p->files.kick);
	cond_signal(&p->queue.kick);
	peer_release(p);
}

static bool is_configured(const struct peer *p)
{
	return is_peer(p->d, config_get(p->d->m->config, CONFIG_NODE, p->uuid));
}

void distribute_refresh(struct distribute *d)
{
	const struct config *c = d->m->config;
	struct peer *p, *next;
	const char *uuid;
	json_t *node;

	list_each_safe (p, next, &d->peers, link) {
		if (is_configured(p))
			continue;
		set_now(p, false);
		if (!p->candidate)
			send_off(p);
	}
	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     node)
		if (is_peer(d, node))
			take_in(d, uuid, node);
	distribute_wake(d);
	safe_log(d);
}

bool distribute_changes(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->in[SET_NOW] != p->in[SET_SAFE])
			return true;
	return false;
}

void distribute_settle(struct distribute *d, int64_t serial)
{
	struct peer *p, *next;

	if (serial < d->set_serial)
		return;
	list_each_safe (p, next, &d->peers, link) {
		p->in[SET_SAFE] = p->in[SET_NOW];
		set_now(p, p->in[SET_NOW]);
		if (!p->candidate && !is_configured(p))
			send_off(p);
	}
}

const char *peer_name(const struct peer *p)
{
	return node_name_or(p->node, "?");
}

/* --- start and end --- */

void distribute_wake(struct distribute *d)
{
	struct peer *p;

	list_each (p, &d->peers, link) {
		lane_wake(&p->files);
		lane_wake(&p->queue);
	}
}

void distribute_start(struct distribute *d)
{
	d->started = true;
	distribute_wake(d);
}

void distribute_end(struct distribute *d)
{
	d->ending = true;
	cond_signal(&d->changed);
}

static bool any_runs(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->files.runs || p->queue.runs)
			return true;
	return false;
}

WAITS void distribute_stop(struct distribute *d)
{
	struct peer *p;

	d->ending = d->stopping = true;
	list_each (p, &d->peers, link) {
		cond_signal(&p->files.kick);
		cond_signal(&p->queue.kick);
	}
	cond_signal(&d->changed);
	while (any_runs(d))
		cond_wait(&d->changed);
}
