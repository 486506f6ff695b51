/* SPDX-License-Identifier: BSD-2-Clause */
/* How the cost of a request and its release grows with the locks in use and
 * with those who wait.  Run by hand, no arguments. */
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "queue/locks/locks.h"

#define ROUNDS 20000

/* A job as usual: the BGL shared, an instance and a node. */
struct holder {
	struct lock_request request;
	struct lock_want wants[3];
	char instance[32], node[32];
};

static struct locks *locks; /* for pass_on() */

static void on_granted(struct lock_request *r)
{
	(void)r;
}

static void pass_on(struct lock_request *r)
{
	locks_release(locks, r);
}

static void holder_init(struct holder *h, size_t instance, size_t node)
{
	*h = (struct holder){
		.request = {.wants = h->wants,
			    .n_wants = 3,
			    .granted = on_granted},
	};
	snprintf(h->instance, sizeof(h->instance), "inst%zu", instance);
	snprintf(h->node, sizeof(h->node), "node%zu", node);
	h->wants[0] = (struct lock_want){LOCK_CLUSTER, LOCK_BGL, false};
	h->wants[1] = (struct lock_want){LOCK_INSTANCE, h->instance, true};
	h->wants[2] = (struct lock_want){LOCK_NODE, h->node, false};
}

static void request(struct locks *l, struct lock_request *r)
{
	struct error err;

	if (locks_request(l, r, &err) < 0)
		abort();
}

static double per_round_us(int64_t start, size_t rounds)
{
	return (double)(clock_mono_us() - start) / (double)rounds;
}

static void free_locks(size_t n)
{
	struct locks *l = locks_create();
	struct holder *held = xcalloc(n, sizeof(*held)), other;
	int64_t start = clock_mono_us();

	for (size_t i = 0; i < n; i++) {
		holder_init(&held[i], i, i);
		request(l, &held[i].request);
	}
	printf("%7zu requests of 3 locks: %.2f us each; ", n,
	       per_round_us(start, n));
	start = clock_mono_us();
	for (size_t i = 0; i < ROUNDS; i++) {
		holder_init(&other, n + 1, n + 1);
		request(l, &other.request);
		locks_release(l, &other.request);
	}
	printf("another one beside them, with release: %.2f us; ",
	       per_round_us(start, ROUNDS));
	start = clock_mono_us();
	for (size_t i = 0; i < n; i++)
		locks_release(l, &held[i].request);
	printf("release %.2f us each\n", per_round_us(start, n));
	free(held);
	locks_destroy(l);
}

/* Requests that wait, spread over locks that are all held, and one that is
 * free beside them. */
static void waiting(size_t n_locks, size_t n_waiting)
{
	struct locks *l = locks_create();
	struct holder *held = xcalloc(n_locks, sizeof(*held)), other;
	struct holder *all = xcalloc(n_waiting, sizeof(*all));
	int64_t start;

	locks = l;
	for (size_t i = 0; i < n_locks; i++) {
		holder_init(&held[i], i, i);
		request(l, &held[i].request);
	}
	start = clock_mono_us();
	for (size_t i = 0; i < n_waiting; i++) {
		holder_init(&all[i], i * 7 % n_locks, i * 7 % n_locks);
		all[i].request.granted = pass_on;
		request(l, &all[i].request);
	}
	printf("%7zu locks, %zu waiting: %.2f us each to wait; ", n_locks,
	       n_waiting, per_round_us(start, n_waiting));
	start = clock_mono_us();
	for (size_t i = 0; i < ROUNDS; i++) {
		holder_init(&other, n_locks + 1, n_locks + 1);
		request(l, &other.request);
		locks_release(l, &other.request);
	}
	printf("request and release of free ones %.2f us; ",
	       per_round_us(start, ROUNDS));
	start = clock_mono_us();
	for (size_t i = 0; i < n_locks; i++)
		locks_release(l, &held[i].request);
	printf("release, handing on, %.2f us each\n",
	       per_round_us(start, n_locks + n_waiting));
	free(held);
	free(all);
	locks_destroy(l);
}

static void one_queue(size_t n)
{
	struct locks *l = locks_create();
	struct holder *all = xcalloc(n + 1, sizeof(*all));
	int64_t start;

	locks = l;
	for (size_t i = 0; i <= n; i++) {
		holder_init(&all[i], 1, 1);
		if (i > 0)
			all[i].request.granted = pass_on;
	}
	request(l, &all[0].request);
	start = clock_mono_us();
	for (size_t i = 1; i <= n; i++)
		request(l, &all[i].request);
	printf("%7zu waiting for one instance: %.2f us each to wait; ", n,
	       per_round_us(start, n));
	start = clock_mono_us();
	for (size_t i = 1; i <= n; i += 10)
		locks_set_priority(l, &all[i].request, -10);
	printf("%.2f us for a new priority; ", per_round_us(start, n / 10));
	start = clock_mono_us();
	locks_release(l, &all[0].request);
	printf("%.2f us to hand it on\n", per_round_us(start, n));
	free(all);
	locks_destroy(l);
}

int main(void)
{
	mem_init();
	for (size_t n = 1000; n <= 100000; n *= 10)
		free_locks(n);
	for (size_t n = 100; n <= 10000; n *= 10)
		one_queue(n);
	for (size_t n = 1000; n <= 100000; n *= 10)
		waiting(n, 10000);
	return 0;
}
