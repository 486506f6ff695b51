/* SPDX-License-Identifier: BSD-2-Clause */
/* The client against a scripted master: a thread that answers the requests of
 * each connection with the next canned replies, and notes what it was sent. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

/* In a script: close the connection, at once, when one more request came, or
 * when it began to come. */
#define CLOSE ""
#define CLOSE_LATE "\1"
#define CLOSE_EARLY "\2"

static char folder[32], sock[64];
static const char *const *script; /* replies; NULL ends */
static struct buf seen;
static pthread_t thread;
static int listener;
static sem_t closed; /* posted for each connection that ended */

static bool closes(const char *reply)
{
	return *reply == *CLOSE || *reply == *CLOSE_LATE ||
	       *reply == *CLOSE_EARLY;
}

static bool read_request(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) == 1) {
		buf_addc(&seen, byte == '\3' ? '\n' : byte);
		if (byte == '\3')
			return true;
	}
	return false;
}

/* Whether a whole request came to which there is a reply. */
static bool takes_request(int fd, const char *reply)
{
	char byte;

	if (*reply == *CLOSE)
		return false;
	if (*reply == *CLOSE_EARLY) {
		cr_assert_eq(recv(fd, &byte, 1, 0), 1);
		return false;
	}
	return read_request(fd) && *reply != *CLOSE_LATE;
}

static void *serve(void *arg)
{
	while (*script != NULL) {
		int fd = accept(listener, NULL, NULL);

		while (*script != NULL) {
			const char *reply = *script;

			if (!takes_request(fd, reply))
				break;
			script++;
			send(fd, reply, strlen(reply), MSG_NOSIGNAL);
		}
		if (*script != NULL && closes(*script))
			script++;
		close(fd);
		sem_post(&closed);
	}
	return arg;
}

static void begin(const char *const *replies)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(folder, "/tmp/luxi-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(sock, sizeof(sock), "%s/s", folder);
	strcpy(address.sun_path, sock);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(
		bind(listener, (struct sockaddr *)&address, sizeof(address)),
		0);
	cr_assert_eq(listen(listener, 5), 0);
	script = replies;
	sem_init(&closed, 0, 0);
	pthread_create(&thread, NULL, serve, NULL);
}

static void end(void)
{
	struct error err;

	pthread_join(thread, NULL);
	close(listener);
	buf_done(&seen);
	cr_assert_eq(fs_remove_tree(folder, &err), 0);
}

Test(luxi, calls_share_a_connection)
{
	static const char *const replies[] = {
		"{\"success\":true,\"result\":[1]}\3",
		"{\"success\":true,\"result\":null}\3",
		"{\"success\":false,\"result\":[\"JobLost\",[\"gone\"]]}\3",
		NULL};
	struct error err = {0};
	struct luxi *l;
	auto_json json_t *first = NULL, *second = NULL;

	begin(replies);
	l = luxi_connect(sock, &err);
	cr_assert_not_null(l, "%s", err.text);
	first = luxi_call(l, "QueryJobs", json_make("[n, [s]]", "id"), &err);
	cr_assert_eq(json_integer_value(json_array_get(first, 0)), 1);
	second = luxi_call(l, "Other", json_array(), &err);
	cr_assert(json_is_null(second));
	cr_assert_null(luxi_call(l, "Other", json_array(), &err));
	cr_assert_eq(err.kind, ERR_JOB_LOST);
	cr_assert_str_eq(err.text, "gone");
	cr_assert(str_starts(seen.data,
			     "{\"method\":\"QueryJobs\",\"args\":[null,"
			     "[\"id\"]],\"version\":3000000}\n"));
	luxi_close(l);
	end();
}

Test(luxi, connection_closed_while_idle_is_made_anew)
{
	static const char *const replies[] = {
		"{\"success\":true,\"result\":1}\3", CLOSE,
		"{\"success\":true,\"result\":2}\3", NULL};
	struct error err = {0};
	struct luxi *l;
	auto_json json_t *first = NULL, *second = NULL;

	begin(replies);
	l = luxi_connect(sock, &err);
	first = luxi_call(l, "A", json_array(), &err);
	sem_wait(&closed);
	second = luxi_call(l, "B", json_array(), &err);
	cr_assert_eq(json_integer_value(first), 1);
	cr_assert_eq(json_integer_value(second), 2, "%s", err.text);
	luxi_close(l);
	end();
}

Test(luxi, nothing_is_sent_where_a_request_was_refused)
{
	static const char *const replies[] = {
		"{\"success\":false,\"result\":\"Failed to parse request\"}\3",
		CLOSE_LATE, "{\"success\":true,\"result\":2}\3", NULL};
	struct error err = {0};
	struct luxi *l;
	auto_json json_t *second = NULL;

	begin(replies);
	l = luxi_connect(sock, &err);
	cr_assert_null(luxi_call(l, "A", json_array(), &err));
	cr_assert_str_eq(err.text, "Failed to parse request");
	second = luxi_call(l, "B", json_array(), &err);
	cr_assert_eq(json_integer_value(second), 2, "%s", err.text);
	luxi_close(l);
	end();
}

static bool at_the_second_look(void *arg)
{
	int *looks = arg;

	return ++*looks == 2;
}

Test(luxi, nobody_waits_for_an_answer_that_nobody_wants)
{
	/* The first one never ends. */
	static const char *const replies[] = {
		"{", CLOSE_LATE, "{\"success\":true,\"result\":2}\3", NULL};
	struct error err = {0};
	int looks = 0;
	struct luxi *l;
	auto_json json_t *second = NULL;

	begin(replies);
	l = luxi_connect(sock, &err);
	luxi_watch(l, at_the_second_look, &looks);
	cr_assert_null(luxi_call(l, "A", json_array(), &err));
	cr_expect_eq(err.kind, ERR_LUXI);
	cr_expect_eq(looks, 2);
	cr_expect_not(luxi_alive(l));
	luxi_watch(l, NULL, NULL);
	second = luxi_call(l, "B", json_array(), &err);
	cr_expect_eq(json_integer_value(second), 2, "%s", err.text);
	luxi_close(l);
	end();
}

Test(luxi, bad_answers_are_errors)
{
	static const char *const replies[] = {
		"nonsense\3", "{\"success\":true}\3",
		"{\"success\":true,\"result\":1}\3{}\3", NULL};
	struct error err;
	struct luxi *l;

	begin(replies);
	l = luxi_connect(sock, &err);
	for (int i = 0; i < 3; i++) {
		memset(&err, 0, sizeof(err));
		cr_expect_null(luxi_call(l, "A", json_array(), &err));
		cr_expect_eq(err.kind, ERR_LUXI, "%s", err.text);
		cr_expect_neq(err.text[0], '\0');
	}
	luxi_close(l);
	end();
}

Test(luxi, answer_cut_short_is_an_error_and_not_repeated)
{
	static const char *const replies[] = {"{\"success\":", NULL};
	struct error err = {0};
	struct luxi *l;

	begin(replies);
	l = luxi_connect(sock, &err);
	cr_assert_null(luxi_call(l, "A", json_array(), &err));
	cr_assert_eq(err.kind, ERR_LUXI);
	cr_assert_eq(strchr(seen.data, '\n'), seen.data + seen.len - 1);
	luxi_close(l);
	end();
}

Test(luxi, request_of_which_a_part_has_left_is_not_repeated)
{
	static const char *const replies[] = {CLOSE_EARLY, NULL};
	const size_t len = 8 * 1024 * 1024; /* no socket keeps so much */
	auto_free char *text = xalloc(len + 1);
	struct error err = {0};
	struct luxi *l;

	memset(text, 'a', len);
	begin(replies);
	l = luxi_connect(sock, &err);
	cr_assert_null(luxi_call(l, "A", json_make("[s]", text), &err));
	cr_assert_eq(err.kind, ERR_LUXI);
	cr_assert(str_starts(err.text, "Cannot send to the master daemon"),
		  "%s", err.text);
	luxi_close(l);
	end();
}

Test(luxi, connection_that_breaks_is_no_answer)
{
	static const char *const replies[] = {
		CLOSE_EARLY, "{\"success\":true,\"result\":2}\3", NULL};
	struct error err = {0};
	struct luxi *l;
	auto_json json_t *second = NULL;

	begin(replies);
	l = luxi_connect(sock, &err);
	cr_assert_null(luxi_call(l, "A", json_array(), &err));
	cr_assert(str_starts(err.text, "No answer from the master daemon: "),
		  "%s", err.text);
	second = luxi_call(l, "B", json_array(), &err);
	cr_assert_eq(json_integer_value(second), 2, "%s", err.text);
	luxi_close(l);
	end();
}

Test(luxi, big_answer_arrives_whole)
{
	auto_buf struct buf text = {0};
	const char *replies[2] = {NULL, NULL};
	struct error err = {0};
	struct luxi *l;
	auto_json json_t *result = NULL;

	buf_adds(&text, "{\"success\":true,\"result\":[");
	for (int i = 0; i < 100000; i++)
		buf_adds(&text, "1234567890,");
	buf_adds(&text, "0]}\3");
	replies[0] = text.data;
	begin(replies);
	l = luxi_connect(sock, &err);
	result = luxi_call(l, "A", json_array(), &err);
	cr_assert_eq(json_array_size(result), 100001, "%s", err.text);
	luxi_close(l);
	end();
}

Test(luxi, nobody_listens)
{
	struct error err = {0};
	char path[200];

	cr_assert_null(luxi_connect("/nonexistent/socket", &err));
	cr_assert_eq(err.kind, ERR_LUXI);
	cr_assert_not_null(strstr(err.text, "/nonexistent/socket"));
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	cr_assert_null(luxi_connect(path, &err));
	cr_assert_not_null(strstr(err.text, "longer"));
}
