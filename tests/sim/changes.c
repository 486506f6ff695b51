/* SPDX-License-Identifier: BSD-2-Clause */
/* What an administrator does to a cluster that is in trouble already: other
 * candidates, disks that are put back to an older image, firewalls that refuse,
 * node daemons started anew, clocks set. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "masterd/quorum/quorum_private.h"
#include "queue/queue.h"
#include "tests/sim/life.h"

/* What all have that hear each other, they have within this. */
#define SPREAD_MS 3000
#define DAY_US INT64_C(86400000000)
/* A new candidate is brought up to date with less operations of its disk. */
#define JOIN_OPS 150
#define IMAGE_VOTERS 3

static struct sim_node *any_node(struct life *l)
{
	return &l->s.nodes[random_below(l->s.n_nodes)];
}

/* The master that leads, or NULL. */
static struct sim_node *leader(struct life *l)
{
	uint64_t term;

	for (size_t i = 0; i < l->s.n_nodes; i++) {
		struct sim_node *n = &l->s.nodes[i];

		if (n->master != NULL && n->masterd.alive &&
		    !n->masterd.paused && !n->masterd.ending &&
		    quorum_leads(n->master->quorum, &term))
			return n;
	}
	return NULL;
}

/* --- candidates --- */

static void set_candidate(struct sim_node *master, struct sim_node *n,
			  bool candidate)
{
	sim_set_candidate(master->master->config, n, candidate);
	if (!candidate)
		quorum_dismiss(master->master->quorum, n->name);
	else if (random_below(4) == 0 && n->disk.die_at == 0)
		n->disk.die_at = n->disk.n_ops + 1 + random_below(JOIN_OPS);
}

/* Any of the others are promoted or demoted, in one change. */
static WAITS void swap_task(void *arg)
{
	struct sim_node *master = arg;
	struct sim *s = master->sim;
	struct error ignored;

	for (size_t i = 0; i < s->n_nodes && master->master != NULL; i++) {
		struct sim_node *n = &s->nodes[i];
		const json_t *node = config_get(master->master->config,
						CONFIG_NODE, n->uuid);

		if (node != NULL && n != master && random_below(3) == 0)
			set_candidate(master, n, !node_master_candidate(node));
	}
	if (master->master != NULL)
		config_commit(master->master->config, &ignored);
}

static void swap_candidates(struct life *l)
{
	struct sim_node *n = leader(l);

	if (n == NULL)
		return;
	task_set_owner(&n->masterd);
	task_spawn("swap", swap_task, n);
	task_set_owner(NULL);
}

/* A node that comes again has another UUID than before. */
static void note_uuid(const struct sim_node *master, struct sim_node *n)
{
	const json_t *node =
		config_find(master->master->config, CONFIG_NODE, n->name);

	if (node == NULL || str_eq(object_uuid(node), n->uuid))
		return;
	free(n->uuid);
	n->uuid = xstrdup(object_uuid(node));
}

static bool is_there(const struct sim_node *master, const struct sim_node *n)
{
	return config_find(master->master->config, CONFIG_NODE, n->name) !=
	       NULL;
}

/* Rather one that is not there, if there is any. */
static struct sim_node *pick(const struct sim_node *master)
{
	struct sim *s = master->sim;

	for (size_t i = 0; i < s->n_nodes && random_below(4) > 0; i++)
		if (!is_there(master, &s->nodes[i]))
			return &s->nodes[i];
	return &s->nodes[random_below(s->n_nodes)];
}

/* One of the others is removed from the cluster, where nothing is on it, or is
 * added again. */
static WAITS void coming_task(void *arg)
{
	struct sim_node *master = arg;
	struct sim_node *n = pick(master);
	bool there = is_there(master, n);
	auto_json json_t *ops =
		there ? json_make("[{s:s, s:s}]", "OP_ID", "OP_NODE_REMOVE",
				  "node_name", n->name)
		      : json_make("[{s:s, s:s, s:s}]", "OP_ID", "OP_NODE_ADD",
				  "node_name", n->name, "primary_ip",
				  n->address);
	struct error ignored;
	uint64_t id;

	if (n != master)
		queue_submit(master->master->queue, ops, false, &id, &ignored);
}

static void come_and_go(struct life *l)
{
	struct sim_node *master = leader(l);

	if (master == NULL)
		return;
	for (size_t i = 0; i < l->s.n_nodes; i++)
		note_uuid(master, &l->s.nodes[i]);
	task_set_owner(&master->masterd);
	task_spawn("coming", coming_task, master);
	task_set_owner(NULL);
}

/* --- disks of before --- */

/* Also of a disk that answers no more: it is there after the next start. */
static char *server_file(struct sim_node *n)
{
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));
	const char *text = fake_disk_text(&n->disk, file);

	return text == NULL ? NULL : xstrdup(text);
}

/* Whether it has a log, or has one again when it has lost what is not durable:
 * the removal, for instance. */
static bool has_log(struct sim_node *n)
{
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));

	return fake_disk_text(&n->disk, file) != NULL ||
	       fake_disk_safe_text(&n->disk, file) != NULL;
}

static bool take_status(struct life *l, struct consensus_status *ret)
{
	const struct sim_node *n = leader(l);

	if (n == NULL || n->master->quorum->log == NULL)
		return false;
	consensus_status(n->master->quorum->log, ret);
	return !ret->raft.changing &&
	       ret->raft.members.voters.n >= IMAGE_VOTERS;
}

static bool is_member(const struct raft_members *m, const struct sim_node *n)
{
	const struct raft_ids *lists[] = {&m->voters, &m->learners};

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (lists[k]->ids[i] >> QUORUM_LIFE_BITS ==
			    quorum_node_hash(n->name))
				return true;
	return false;
}

static void take_image(struct life *l, const struct sim_node *n)
{
	struct fake_disk *image = &l->images[n->index];

	if (n->down || n->disk.die_at != 0)
		return;
	if (l->has_image[n->index])
		fake_disk_done(image);
	fake_disk_init(image);
	fake_disk_copy(image, &n->disk);
	l->has_image[n->index] = true;
}

/* Of some at once, while no node votes alone: its disk must not be lost. */
static void take_images(struct life *l)
{
	struct consensus_status status;

	if (!take_status(l, &status))
		return;
	for (size_t i = 0; i < l->s.n_nodes; i++)
		if (random_below(2) == 0)
			take_image(l, &l->s.nodes[i]);
}

/* Whose disk was put back, and has not been told so. */
static bool any_is_old(struct life *l)
{
	bool any = false;

	for (size_t i = 0; i < l->s.n_nodes; i++) {
		struct sim_node *n = &l->s.nodes[i];
		auto_free char *now = server_file(n);

		if (l->old[i] != NULL && !str_eq(now, l->old[i]))
			free(steal(&l->old[i]));
		any |= l->old[i] != NULL;
	}
	return any;
}

/* All that take part do so by what the leader knows, and are there, but for
 * `lost`: an old image is a lost disk, and one at a time is what a majority can
 * do without. */
static bool may_lose(struct life *l, const struct sim_node *lost)
{
	struct consensus_status status;

	if (any_is_old(l) || !take_status(l, &status))
		return false;
	for (size_t i = 0; i < l->s.n_nodes; i++) {
		struct sim_node *n = &l->s.nodes[i];
		bool member = is_member(&status.raft.members, n);

		if (n != lost && !member && has_log(n))
			return false;
		if (member && (!n->masterd.alive || n->masterd.paused ||
			       !n->daemon.alive || n->daemon.paused ||
			       n->down || n->disk.die_at != 0))
			return false;
	}
	return status.silent.n == 0;
}

/* What the node daemon has seen stays: that disk is not what this is about. */
static void put_back(struct life *l, struct sim_node *n)
{
	const char *file = path(n->paths, PATH_MASTER_TERM);
	const char *text = fake_disk_text(&n->disk, file);
	auto_free char *term = text == NULL ? NULL : xstrdup(text);
	struct disk kept = n->disk.disk;

	sim_power_cut(n, random_below(UINT64_MAX));
	fake_disk_done(&n->disk);
	fake_disk_init(&n->disk);
	n->disk.disk = kept;
	fake_disk_copy(&n->disk, &l->images[n->index]);
	if (term != NULL)
		fake_disk_put(&n->disk, file, term);
	l->old[n->index] = server_file(n);
	n->down = true;
	faults_boot_later(l, n);
}

static void put_image(struct life *l)
{
	struct sim_node *n = any_node(l);

	for (size_t i = 0; i < l->s.n_nodes && !l->has_image[n->index]; i++)
		n = &l->s.nodes[(n->index + 1) % l->s.n_nodes];
	if (!l->has_image[n->index] || any_is_old(l))
		return;
	faults_heal_network(l);
	for (size_t i = 0; i < l->s.n_nodes; i++) {
		sim_resume(&l->s.nodes[i].masterd);
		sim_resume(&l->s.nodes[i].daemon);
	}
	sim_run(&l->s, SPREAD_MS, NULL, NULL);
	if (may_lose(l, n))
		put_back(l, n);
}

/* --- the rest --- */

/* A firewall refuses between two sides, perhaps one way. */
static void refuse(struct life *l)
{
	bool side[SIM_NODES_MAX], both = random_below(2) == 0;

	if (random_below(3) == 0)
		return faults_heal_network(l);
	for (size_t i = 0; i < l->s.n_nodes; i++)
		side[i] = random_below(3) == 0;
	for (size_t i = 0; i < l->s.n_nodes; i++)
		for (size_t k = 0; k < l->s.n_nodes; k++)
			if (side[i] != side[k] && (both || side[i]))
				l->s.reject[i][k] = true;
}

static void restart_daemon(struct life *l)
{
	struct sim_node *n = any_node(l);

	if (n->down || !n->daemon.alive || fake_disk_dead(&n->disk))
		return;
	sim_kill(&n->daemon);
	sim_start_daemon(n);
}

static void set_clock(struct life *l)
{
	any_node(l)->clock_us =
		(int64_t)random_below((uint64_t)(2 * DAY_US)) - DAY_US;
}

/* The network and all machines are well for a while: otherwise hardly anything
 * ever joins. */
static void rest(struct life *l)
{
	faults_heal_network(l);
	sim_run(&l->s, 2 * SPREAD_MS, NULL, NULL);
}

static const struct {
	unsigned weight;
	void (*fn)(struct life *l);
} changes[] = {
	{8, swap_candidates}, {10, come_and_go}, {5, take_images},
	{8, put_image},	      {3, refuse},	 {3, restart_daemon},
	{2, set_clock},	      {2, rest},
};

void change_random(struct life *l)
{
	uint64_t total = 0, pick;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		total += changes[i].weight;
	pick = random_below(total);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		if (pick < changes[i].weight)
			return changes[i].fn(l);
		pick -= changes[i].weight;
	}
}

void changes_done(struct life *l)
{
	for (size_t i = 0; i < l->s.n_nodes; i++) {
		if (l->has_image[i])
			fake_disk_done(&l->images[i]);
		free(l->old[i]);
	}
}
