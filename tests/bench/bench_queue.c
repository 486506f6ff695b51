/* SPDX-License-Identifier: BSD-2-Clause */
/* Measure the queue alone on the real disk, with opcodes that do nothing:
 *
 *	bench_queue FOLDER [JOBS [MAX_RUNNING [BATCH]]]
 *
 * FOLDER has to be empty or missing.  Prints the rate of JOBS jobs through
 * queue_submit_many() in batches, the latency of single jobs, and the time of
 * opening the queue again. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "queue/queue.h"

#define N_SINGLE 200

struct bench {
	struct queue *queue;
	size_t n_jobs, batch;
	bool closed;
};

static json_t *check_op(void *arg, const json_t *op, char **ret_summary,
			struct error *err)
{
	(void)arg;
	(void)err;
	*ret_summary = xstrdup("TEST_DELAY(1e-06)");
	return json_deep_copy(op);
}

static json_t *run_op(void *arg, struct queue_run *run, struct error *err)
{
	(void)arg;
	if (queue_run_started(run, err) < 0 || queue_run_safe(run, err) < 0)
		return NULL;
	return json_true();
}

static void fatal(void *arg, const struct error *err)
{
	(void)arg;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static json_t *one_job(void)
{
	return json_make("[{s:f, s:b, s:[], s:n, s:i, s:b, s:b, s:n, s:i, s:i, "
			 "s:n, s:n, s:[], s:s}]",
			 "duration", 1e-6, "on_master", 1, "on_nodes",
			 "on_node_uuids", "repeat", 0, "interruptible", 0,
			 "no_locks", 1, "dry_run", "debug_level", 0, "priority",
			 0, "depends", "comment", "reason", "OP_ID",
			 "OP_TEST_DELAY");
}

struct waiter {
	struct queue_watch watch;
	struct cond changed;
};

static void on_changed(struct queue_watch *w)
{
	cond_signal(&container_of(w, struct waiter, watch)->changed);
}

static void wait_final(struct queue *q, uint64_t id)
{
	struct waiter w = {.watch = {.id = id, .changed = on_changed}};

	cond_init(&w.changed);
	while (!job_is_final(queue_job(q, id))) {
		queue_watch(q, &w.watch);
		cond_wait(&w.changed);
	}
}

static void check_answer(const json_t *answer, const struct error *err)
{
	if (answer == NULL)
		fatal(NULL, err);
}

static void measure_many(struct bench *b)
{
	int64_t start = clock_mono_us(), submitted, end;
	struct error err;

	for (size_t done = 0; done < b->n_jobs; done += b->batch) {
		auto_json json_t *jobs = json_array();
		auto_json json_t *answer = NULL;

		for (size_t i = 0; i < b->batch; i++)
			json_array_append_new(jobs, one_job());
		answer = queue_submit_many(b->queue, jobs, 0, &err);
		check_answer(answer, &err);
	}
	submitted = clock_mono_us();
	for (uint64_t id = 1; id <= queue_last_id(b->queue); id++)
		wait_final(b->queue, id);
	end = clock_mono_us();
	printf("%zu jobs: submitted after %.3f s, finished after %.3f s: "
	       "%.0f jobs/s\n",
	       b->n_jobs, (double)(submitted - start) / 1e6,
	       (double)(end - start) / 1e6,
	       (double)b->n_jobs * 1e6 / (double)(end - start));
	printf("%.1f MiB of heap in use\n",
	       (double)mallinfo2().uordblks / 1048576);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure_single(struct bench *b)
{
	int64_t submit[N_SINGLE], whole[N_SINGLE];
	auto_json json_t *ops = one_job();
	struct error err;

	for (size_t i = 0; i < N_SINGLE; i++) {
		int64_t start = clock_mono_us();
		uint64_t id;

		if (queue_submit(b->queue, ops, false, &id, &err) < 0)
			fatal(NULL, &err);
		submit[i] = clock_mono_us() - start;
		wait_final(b->queue, id);
		whole[i] = clock_mono_us() - start;
	}
	qsort(submit, N_SINGLE, sizeof(*submit), by_value);
	qsort(whole, N_SINGLE, sizeof(*whole), by_value);
	printf("single job: submit p50 %.2f ms p99 %.2f ms, to success p50 "
	       "%.2f ms p99 %.2f ms\n",
	       (double)submit[N_SINGLE / 2] / 1e3,
	       (double)submit[N_SINGLE * 99 / 100] / 1e3,
	       (double)whole[N_SINGLE / 2] / 1e3,
	       (double)whole[N_SINGLE * 99 / 100] / 1e3);
}

static void bench_task(void *arg)
{
	struct bench *b = arg;
	int64_t start;

	measure_many(b);
	measure_single(b);
	start = clock_mono_us();
	queue_stop(b->queue);
	printf("stopped in %.3f s\n", (double)(clock_mono_us() - start) / 1e6);
	b->closed = true;
}

static struct queue *open_queue(const char *dir, unsigned max_running)
{
	struct queue_config config = {
		.disk = disk_real(),
		.dir = dir,
		.hooks = {.check_op = check_op,
			  .run_op = run_op,
			  .fatal = fatal},
		.max_running = max_running,
	};
	int64_t start = clock_mono_us();
	struct error err;
	struct queue *q = queue_open(&config, &err);

	if (q == NULL)
		fatal(NULL, &err);
	printf("opened in %.3f s\n", (double)(clock_mono_us() - start) / 1e6);
	return q;
}

static size_t number(char **argv, int argc, int i, size_t fallback)
{
	int64_t value;

	return argc > i && str_to_int64(argv[i], &value) && value > 0
		       ? (size_t)value
		       : fallback;
}

int main(int argc, char **argv)
{
	struct bench b = {
		.n_jobs = number(argv, argc, 2, 2000),
		.batch = number(argv, argc, 4, number(argv, argc, 2, 2000)),
	};
	unsigned max_running = (unsigned)number(argv, argc, 3, 20);

	if (argc < 2) {
		fprintf(stderr,
			"usage: %s FOLDER [JOBS [MAX_RUNNING "
			"[BATCH]]]\n",
			argv[0]);
		return 2;
	}
	mem_init();
	tasks_init(uv_default_loop());
	b.queue = open_queue(argv[1], max_running);
	queue_start(b.queue);
	task_spawn("bench", bench_task, &b);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	queue_close(b.queue);
	queue_close(open_queue(argv[1], max_running));
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return 0;
}
