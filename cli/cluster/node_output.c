/* SPDX-License-Identifier: BSD-2-Clause */
/* By node: the first one that has not ended is shown as it goes on, what the
 * others print meanwhile is kept until it is their turn.  So the result is the
 * same as if one node came after the other. */
#include "cli/cluster/node_output.h"

#include <stdio.h>
#include <string.h>

#include "cli/remote/run.h"
#include "lib/base/str.h"

#define RULE "------------------------------------------------\n"

/* What one node has printed and nobody has seen. */
struct part {
	struct buf kept;
	bool begun, ended;
};

/* All nodes. */
struct show {
	const struct node_output_style *style;
	const struct remote_job *jobs;
	struct part *parts;
	size_t n, turn; /* whose output is shown as it comes */
};

static struct part *part_of(struct show *s, const struct remote_job *job)
{
	return &s->parts[job - s->jobs];
}

/* --- line by line --- */

static void print_line(const struct show *s, const struct remote_job *job,
		       const char *line, size_t len)
{
	if (s->style->names)
		printf("%s: ", job->node.name);
	printf("%.*s\n", (int)len, line);
}

/* Print the complete lines that are kept; at the end also the rest. */
static void print_lines(struct show *s, const struct remote_job *job)
{
	struct part *p = part_of(s, job);
	const char *from = p->kept.data, *end;
	size_t left = p->kept.len;

	while (left > 0 && (end = memchr(from, '\n', left)) != NULL) {
		print_line(s, job, from, (size_t)(end - from));
		left -= (size_t)(end - from) + 1;
		from = end + 1;
	}
	if (left > 0 && p->ended) {
		print_line(s, job, from, left);
		left = 0;
	}
	buf_consume(&p->kept, p->kept.len - left);
}

/* --- by node --- */

static void print_kept(struct show *s, const struct remote_job *job)
{
	struct part *p = part_of(s, job);

	if (!p->begun) {
		printf(RULE);
		if (!s->style->names)
			printf("node: %s\n", job->node.name);
		p->begun = true;
	}
	if (s->style->names) {
		print_lines(s, job);
		return;
	}
	fwrite(p->kept.data, 1, p->kept.len, stdout);
	buf_consume(&p->kept, p->kept.len);
}

static void print_end(struct show *s, const struct remote_job *job)
{
	if (job->status == 0 && s->style->failures_only)
		return;
	print_kept(s, job);
	if (!s->style->names)
		printf("\n");
	printf("return code = %d\n", job->status);
}

/* Show what may be shown now. */
static void go_on(struct show *s)
{
	while (s->turn < s->n && s->parts[s->turn].ended) {
		print_end(s, &s->jobs[s->turn]);
		buf_done(&s->parts[s->turn].kept);
		s->turn++;
	}
	if (s->turn < s->n && !s->style->failures_only &&
	    s->parts[s->turn].kept.len > 0)
		print_kept(s, &s->jobs[s->turn]);
}

/* --- what happens --- */

static void show(struct show *s, const struct remote_job *job)
{
	if (!s->style->stream) {
		go_on(s);
	} else {
		print_lines(s, job);
		if (part_of(s, job)->ended && job->status != 0)
			fprintf(stderr, "%s: return code = %d\n",
				job->node.name, job->status);
	}
	fflush(stdout);
}

static void keep(struct part *p, const char *data, size_t len)
{
	size_t room = RUN_OUTPUT_MAX - p->kept.len;

	buf_add(&p->kept, data, len < room ? len : room);
}

static void on_output(struct remote_job *job, const char *data, size_t len)
{
	struct show *s = job->arg;

	keep(part_of(s, job), data, len);
	show(s, job);
}

static void on_end(struct remote_job *job)
{
	struct show *s = job->arg;
	struct part *p = part_of(s, job);

	if (job->failed) {
		keep(p, job->err.text, strlen(job->err.text));
		keep(p, "\n", 1);
	}
	p->ended = true;
	show(s, job);
}

void node_output_run(const struct remote *r, const char *command,
		     const struct node_output_style *style,
		     const struct remote_node *nodes, size_t n)
{
	struct remote_job *jobs = xcalloc(n + 1, sizeof(*jobs));
	struct show s = {.style = style,
			 .jobs = jobs,
			 .parts = xcalloc(n + 1, sizeof(*s.parts)),
			 .n = n};

	for (size_t i = 0; i < n; i++)
		jobs[i] = (struct remote_job){.node = nodes[i],
					      .command = command,
					      .on_output = on_output,
					      .on_end = on_end,
					      .arg = &s};
	remote_do(r, jobs, n);
	for (size_t i = 0; i < n; i++)
		buf_done(&s.parts[i].kept);
	free(s.parts);
	free(jobs);
}
