/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong in a random life. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "tests/sim/life.h"

#define DOWN_MS 40000
#define DISK_OPS 40

static struct sim_node *any_node(struct life *l)
{
	return &l->s.nodes[random_below(l->s.n_nodes)];
}

void faults_boot_later(struct life *l, const struct sim_node *n)
{
	l->boots_at[n->index] =
		clock_mono_us() + 1000 * (int64_t)(1 + random_below(DOWN_MS));
}

/* --- processes and machines --- */

static void power_cut(struct life *l)
{
	struct sim_node *n = any_node(l);

	if (n->down)
		return;
	sim_power_cut(n, random_below(UINT64_MAX));
	n->down = true;
	faults_boot_later(l, n);
}

static void kill_master(struct life *l)
{
	struct sim_node *n = any_node(l);

	sim_kill(&n->masterd);
	faults_boot_later(l, n);
}

static void kill_daemon(struct life *l)
{
	struct sim_node *n = any_node(l);

	sim_kill(&n->daemon);
	faults_boot_later(l, n);
}

static void pause_or_resume(struct life *l)
{
	struct sim_node *n = any_node(l);
	struct sim_proc *p = random_below(3) == 0 ? &n->daemon : &n->masterd;

	if (p->paused)
		sim_resume(p);
	else
		sim_pause(p);
}

/* An administrator names another master, perhaps two of them at once. */
static void take_over(struct life *l)
{
	if (!l->take_overs)
		return;
	sim_take_over(any_node(l), true);
	if (random_below(3) == 0)
		sim_take_over(any_node(l), true);
}

/* --- disks --- */

static void fill_disk(struct life *l)
{
	struct fake_disk *d = &any_node(l)->disk;

	d->full = !d->full;
	d->fail_log = d->full && random_below(2) == 0;
}

/* The power fails in the middle of one of the next operations. */
static void die_soon(struct life *l)
{
	struct sim_node *n = any_node(l);

	if (!n->down && n->disk.die_at == 0)
		n->disk.die_at = n->disk.n_ops + 1 + random_below(DISK_OPS);
}

static void fail_sync(struct life *l)
{
	any_node(l)->disk.fail_syncs = true;
}

/* --- the network --- */

void faults_heal_network(struct life *l)
{
	memset(l->s.cut, 0, sizeof(l->s.cut));
	memset(l->s.reject, 0, sizeof(l->s.reject));
}

static void cut_between(struct life *l, const bool *side, bool one_way)
{
	for (size_t i = 0; i < l->s.n_nodes; i++)
		for (size_t k = 0; k < l->s.n_nodes; k++)
			if (side[i] != side[k] && (!one_way || side[i]))
				l->s.cut[i][k] = true;
}

static void partition(struct life *l)
{
	bool side[SIM_NODES_MAX];

	if (random_below(3) == 0)
		return faults_heal_network(l);
	for (size_t i = 0; i < l->s.n_nodes; i++)
		side[i] = random_below(3) == 0;
	cut_between(l, side, random_below(3) == 0);
}

static void weather(struct life *l)
{
	struct sim *s = &l->s;
	bool bad = random_below(2) == 0;

	s->lose_call = bad ? (unsigned)random_below(60) : 0;
	s->lose_reply = bad ? (unsigned)random_below(60) : 0;
	s->repeat_call = bad ? (unsigned)random_below(60) : 0;
	s->late_call = bad ? (unsigned)random_below(60) : 0;
	l->late |= s->repeat_call > 0 || s->late_call > 0;
	s->max_delay_ms = (unsigned)random_below(bad ? 3000 : 50);
}

/* --- all of them --- */

static const struct {
	unsigned weight;
	void (*fn)(struct life *l);
} faults[] = {
	{3, power_cut},	      {3, kill_master}, {2, kill_daemon},
	{4, pause_or_resume}, {6, take_over},	{2, fill_disk},
	{3, die_soon},	      {1, fail_sync},	{4, partition},
	{4, weather},
};

void fault_random(struct life *l)
{
	uint64_t total = 0, pick;

	if (l->changes && random_below(2) == 0) {
		l->n_faults++;
		return change_random(l);
	}
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		total += faults[i].weight;
	pick = random_below(total);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (pick < faults[i].weight) {
			l->n_faults++;
			return faults[i].fn(l);
		}
		pick -= faults[i].weight;
	}
}

/* --- and back --- */

/* A machine whose disk has stopped gets a power cut. */
static void end_dying(struct life *l, struct sim_node *n)
{
	if (n->disk.die_at == 0 || !fake_disk_dead(&n->disk))
		return;
	sim_power_cut(n, random_below(UINT64_MAX));
	n->down = true;
	faults_boot_later(l, n);
}

static void boot(struct life *l, struct sim_node *n)
{
	l->boots_at[n->index] = 0;
	n->down = false;
	if (!n->daemon.alive)
		sim_start_daemon(n);
	if (!n->masterd.alive && sim_is_home(n))
		sim_take_over(n, false);
}

void faults_tick(struct life *l)
{
	for (size_t i = 0; i < l->s.n_nodes; i++) {
		struct sim_node *n = &l->s.nodes[i];

		end_dying(l, n);
		if (!n->masterd.alive && l->boots_at[i] == 0 && sim_is_home(n))
			faults_boot_later(l, n);
		if (l->boots_at[i] != 0 && clock_mono_us() >= l->boots_at[i])
			boot(l, n);
	}
}

void faults_heal(struct life *l)
{
	struct sim *s = &l->s;

	faults_heal_network(l);
	s->lose_call = s->lose_reply = s->repeat_call = s->late_call = 0;
	s->max_delay_ms = 5;
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];

		end_dying(l, n);
		if (n->disk.fail_syncs) /* only a new start clears that */
			sim_power_cut(n, random_below(UINT64_MAX));
		n->disk.full = n->disk.fail_log = false;
		n->disk.die_at = 0;
		sim_resume(&n->masterd);
		sim_resume(&n->daemon);
		boot(l, n);
	}
}
