/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers, the configuration and the ssconf files; the job queue's files are in
 * distribute_queue.c.
 *
 * Each peer is served by one side at a time: while it is in, by whoever brings
 * something new; while it is away, by the background task alone.  So nothing
 * older can arrive after something newer. */
#include "masterd/distribute.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/ssconf.h"
#include "masterd/config.h"
#include "masterd/distribute_private.h"
#include "masterd/master.h"
#include "masterd/noderpc.h"

#define CONFIG_MODE 0640
#define CONFIG_BYTES_MAX (256u * 1024 * 1024)

struct distribute *distribute_create(struct master *m)
{
	struct distribute *d = xalloc(sizeof(*d));

	d->m = m;
	list_init(&d->peers);
	cond_init(&d->changed);
	return d;
}

/* --- peers --- */

static void peer_free(struct peer *p)
{
	list_remove(&p->link);
	json_decref(p->missed);
	free(p->uuid);
	free(p);
}

void distribute_free(struct distribute *d)
{
	if (d == NULL)
		return;
	while (!list_empty(&d->peers))
		peer_free(list_first(&d->peers, struct peer, link));
	json_decref(d->ssconf);
	free(d);
}

struct peer *distribute_peer(const struct distribute *d, const char *uuid)
{
	struct peer *p;

	list_each (p, &d->peers, link)
		if (str_eq(p->uuid, uuid))
			return p;
	return NULL;
}

const json_t *distribute_node(const struct distribute *d, const struct peer *p)
{
	return config_get(d->m->config, CONFIG_NODE, p->uuid);
}

static bool is_peer(const struct distribute *d, const json_t *node)
{
	return node != NULL && !json_bool(node, "offline", false) &&
	       !config_is_master(d->m->config, json_str(node, "uuid", NULL));
}

/* Make the list of peers what the configuration says. */
static void refresh_peers(struct distribute *d)
{
	struct peer *p, *next;
	const char *uuid;
	json_t *node;

	list_each_safe (p, next, &d->peers, link)
		if (!is_peer(d, distribute_node(d, p)))
			peer_free(p);
	json_object_foreach ((json_t *)config_all(d->m->config, CONFIG_NODE),
			     uuid, node) {
		if (!is_peer(d, node))
			continue;
		p = distribute_peer(d, uuid);
		if (p == NULL) {
			p = xalloc(sizeof(*p));
			p->uuid = xstrdup(uuid);
			list_append(&d->peers, &p->link);
		}
		p->candidate = json_bool(node, "master_candidate", false);
		if (!p->candidate)
			p->queue = PEER_QUEUE_UNKNOWN;
		else if (p->queue == PEER_QUEUE_UNKNOWN)
			distribute_keep(d);
	}
}

void distribute_failed(struct distribute *d, struct peer *p,
		       const struct error *err)
{
	if (!p->away)
		log_warning("%s; it will get the cluster's files when it "
			    "answers again",
			    err->text);
	p->away = true;
	p->queue = PEER_QUEUE_UNKNOWN;
	distribute_keep(d);
}

void distribute_away(const struct distribute *d, struct strv *ret_names)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (p->away)
			strv_add(ret_names, config_name(d->m->config,
							CONFIG_NODE, p->uuid));
}

WAITS void distribute_call(struct distribute *d,
			   bool (*wanted)(const struct peer *p),
			   const char *procedure, json_t *args STEALS)
{
	size_t max = json_object_size(config_all(d->m->config, CONFIG_NODE));
	struct node_result *results = node_results_new(max);
	struct peer *p;
	size_t n = 0;

	list_each (p, &d->peers, link)
		if (n < max && distribute_node(d, p) != NULL && wanted(p))
			results[n++].node =
				json_incref((json_t *)distribute_node(d, p));
	noderpc_call_many_for(d->m->rpc, results, n, procedure, args,
			      DISTRIBUTE_MS);
	for (size_t i = 0; i < n; i++) {
		p = distribute_peer(d, json_str(results[i].node, "uuid", ""));
		if (p != NULL && results[i].err != NULL)
			distribute_failed(d, p, results[i].err);
	}
	node_results_free(results, max);
}

/* --- the configuration --- */

static json_t *upload_args(const char *text, size_t len)
{
	double now = clock_seconds();

	return json_make("[s, [i, s%], i, s, s, f, f]",
			 "/var/lib/ganeti/config.data", 0, text, len,
			 0100000 | CONFIG_MODE, "gnt-masterd", "gnt-confd", now,
			 now);
}

static WAITS void write_local_ssconf(struct distribute *d, const json_t *ssconf)
{
	auto_json json_t *values = json_deep_copy(ssconf);
	struct error err;
	int rc;

	task_leave(); /* the values are ours alone, the paths never change */
	rc = ssconf_write(d->m->disk, d->m->paths, values, &err);
	task_enter();
	if (rc < 0)
		log_error("%s", err.text);
}

static bool is_in(const struct peer *p)
{
	return !p->away;
}

static bool is_candidate_in(const struct peer *p)
{
	return p->candidate && !p->away;
}

static bool any_candidate_in(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (is_candidate_in(p))
			return true;
	return false;
}

WAITS void distribute_config(void *arg, const char *text, size_t len,
			     const json_t *ssconf)
{
	struct distribute *d = arg;

	d->round++;
	refresh_peers(d);
	if (any_candidate_in(d))
		distribute_call(d, is_candidate_in, "upload_file_single",
				upload_args(text, len));
	if (ssconf == NULL)
		return;
	json_decref(d->ssconf);
	d->ssconf = json_incref((json_t *)ssconf);
	write_local_ssconf(d, ssconf);
	distribute_call(d, is_in, "write_ssconf_files",
			json_make("[O]", ssconf));
}

/* --- peers that are away --- */

static WAITS bool ask(struct distribute *d, const json_t *node,
		      const char *procedure, json_t *args STEALS)
{
	auto_json json_t *kept = json_incref((json_t *)node);
	struct error err;
	auto_json json_t *payload = noderpc_call_for(d->m->rpc, kept, procedure,
						     args, DISTRIBUTE_MS, &err);

	if (payload == NULL)
		log_debug("%s", err.text);
	return payload != NULL;
}

static WAITS bool send_config(struct distribute *d, const json_t *node)
{
	auto_json json_t *kept = json_incref((json_t *)node);
	auto_free char *text = NULL;
	size_t len = 0;
	struct error err;

	task_leave(); /* the disk and the paths never change */
	text = d->m->disk->read(d->m->disk, path(d->m->paths, PATH_CONFIG_DATA),
				CONFIG_BYTES_MAX, &len, &err);
	task_enter();
	if (text == NULL) {
		log_error("%s", err.text);
		return false;
	}
	return ask(d, kept, "upload_file_single", upload_args(text, len));
}

/* Give the peer all that it lacks; the peer may be gone afterwards. */
static WAITS void recover(struct distribute *d, const char *uuid)
{
	struct peer *p = distribute_peer(d, uuid);
	uint64_t round = d->round - 1;

	while (p != NULL && p->away && round != d->round && !d->stopping) {
		round = d->round;
		if (p->candidate && !send_config(d, distribute_node(d, p)))
			return;
		p = distribute_peer(d, uuid);
		if (p == NULL || distribute_node(d, p) == NULL)
			return;
		if (d->ssconf != NULL &&
		    !ask(d, distribute_node(d, p), "write_ssconf_files",
			 json_make("[O]", d->ssconf)))
			return;
		p = distribute_peer(d, uuid);
	}
	if (p == NULL || !p->away || d->stopping)
		return;
	p->away = false;
	log_info("node %s answers again",
		 config_name(d->m->config, CONFIG_NODE, uuid));
}

static bool needs_care(const struct peer *p)
{
	return p->away || (p->candidate && p->queue == PEER_QUEUE_UNKNOWN);
}

static WAITS void care_for(struct distribute *d, const char *uuid)
{
	struct peer *p;

	recover(d, uuid);
	p = distribute_peer(d, uuid);
	if (p != NULL && !p->away && p->candidate &&
	    p->queue == PEER_QUEUE_UNKNOWN)
		distribute_catch_up(d, uuid);
}

/* Those that need care now, all of them once. */
static WAITS void care_round(struct distribute *d)
{
	auto_strv struct strv uuids = {0};
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (needs_care(p))
			strv_add(&uuids, p->uuid);
	for (size_t i = 0; i < uuids.n && !d->stopping; i++)
		care_for(d, uuids.items[i]);
}

static bool all_well(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (needs_care(p))
			return false;
	return true;
}

static void keeper(void *arg)
{
	struct distribute *d = arg;
	int64_t until;

	while (!d->stopping) {
		care_round(d);
		if (all_well(d))
			break;
		until = clock_mono_us() + DISTRIBUTE_RETRY_MS * INT64_C(1000);
		while (!d->stopping && cond_wait_until(&d->changed, until))
			;
	}
	d->keeping = false;
	cond_signal(&d->changed);
}

void distribute_keep(struct distribute *d)
{
	if (d->keeping || d->stopping)
		return;
	d->keeping = true;
	task_spawn("distribute", keeper, d);
}

WAITS void distribute_stop(struct distribute *d)
{
	d->stopping = true;
	cond_signal(&d->changed);
	while (d->keeping)
		cond_wait(&d->changed);
}
