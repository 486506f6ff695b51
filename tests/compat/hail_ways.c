/* SPDX-License-Identifier: BSD-2-Clause */
/* hail_ways FILE...: asks our own hail each question of a message for an
 * allocator by text and by a call, in a master that has the message's cluster.
 * A line for each file: "same", a tab and the answer; "differs" and how; "none"
 * and why no configuration can say what the message says. */
#include <stdio.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "tests/lib/message_master.h"

#define MESSAGE_MAX ((size_t)64 << 20)

static void ask(struct message_master *w, const json_t *request)
{
	struct error err;
	auto_json json_t *answer = message_master_ask(w, request, &err);
	auto_free char *text = answer == NULL ? NULL : json_text(answer);

	printf("%s\t%s\n", answer == NULL ? "differs" : "same",
	       answer == NULL ? err.text : text);
}

static void compare(const char *file)
{
	struct message_master w;
	struct error err;
	auto_json json_t *message = json_read_file(file, MESSAGE_MAX, &err);

	if (message == NULL ||
	    message_master_begin(&w, message, RECORD_NONE, &err)) {
		printf("none\t%s\n", err.text);
		return;
	}
	ask(&w, json_get(message, "request"));
	message_master_end(&w);
}

static void run(void *arg)
{
	for (char **file = arg; *file != NULL; file++)
		compare(*file);
}

int main(int argc, char **argv)
{
	(void)argc;
	mem_init();
	tasks_init(uv_default_loop());
	task_spawn("compare", run, argv + 1);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return 0;
}
