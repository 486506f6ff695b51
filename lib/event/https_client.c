/* SPDX-License-Identifier: BSD-2-Clause */
/* libcurl's multi interface on the loop.  A request stands in one of two lists:
 * `waiting`, or `running` once curl has it.
 *
 * A running request holds one of HTTPS_HANDSHAKES slots while its connection is
 * being made: hundreds of handshakes at the same time would all run into their
 * time limit.  The slot is free again when the request has been sent, or after
 * SLOT_MS: a node that is dead then waits for the network only, and holds up
 * nobody.
 *
 * Some work must not be done in curl's callbacks (curl is not reentrant), and
 * some curl wants done "in 0 ms"; an idle handle does both. */
#include "lib/event/https_client.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/str.h"
#include "lib/event/timer.h"
#include "lib/event/tls.h"

#define SLOT_MS 250
#define CONNECT_TIMEOUT_MS 5000
/* A call may take a day, and a host that loses its power meanwhile sends
 * nothing.  So TCP probes a silent host after SILENCE_S and then every PROBE_S.
 * A host is given up after LOST_S, and so is one that does not confirm what was
 * sent. */
#define SILENCE_S 30L
#define PROBE_S 10L
#define LOST_S 120
/* Kept connections: more than any cluster has nodes. */
#define CONNECTIONS_KEPT 1024
/* A connection unused for longer is not used again: the server may be about to
 * close it (https_server.h: HTTPS_IDLE_S). */
#define CONNECTION_AGE_S 60L
/* Handles kept for the next request. */
#define HANDLES_KEPT 64

struct https_client {
	CURLM *multi;
	char *cert_file;
	char *pins; /* public keys, of which the peer must have one */
	uv_timer_t timer;
	uv_idle_t idle;
	bool curl_due; /* curl wants to be called from the idle handle */
	struct list waiting, running;
	unsigned setting_up;
	bool retired; /* freed when its last request ends */
	CURL *handles[HANDLES_KEPT];
	size_t n_handles;
	int to_close; /* libuv handles that are still open after destroy */
};

struct request {
	struct list link;
	struct https_client *client;
	CURL *easy;
	struct curl_slist *headers;
	char *url, *where, *body;
	size_t body_len;
	struct buf reply;
	unsigned connect_timeout_ms, timeout_ms;
	bool setting_up, too_long, bad_address;
	struct timer deadline, slot;
	char text[CURL_ERROR_SIZE];
	void (*on_reply)(void *arg, int status, const char *body, size_t len,
			 const struct error *err);
	void *arg;
};

struct watch {
	uv_poll_t poll;
	struct https_client *client;
	curl_socket_t fd;
};

static void on_idle(uv_idle_t *idle);

static void wake(struct https_client *c)
{
	uv_idle_start(&c->idle, on_idle);
}

static void slot_release(struct request *r)
{
	if (!r->setting_up)
		return;
	r->setting_up = false;
	r->client->setting_up--;
	timer_stop(&r->slot);
	if (!list_empty(&r->client->waiting))
		wake(r->client);
}

static void on_slot(struct timer *t)
{
	slot_release(container_of(t, struct request, slot));
}

/* curl calls this when it is connected and about to send the request. */
static int on_connected(void *arg, char *ip, char *local_ip, int port,
			int local_port)
{
	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	slot_release(arg);
	return CURL_PREREQFUNC_OK;
}

static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	unsigned ms = LOST_S * 1000;

	(void)arg;
	(void)purpose;
	return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)) ==
			       0
		       ? CURL_SOCKOPT_OK
		       : CURL_SOCKOPT_ERROR;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct request *r = arg;

	if (r->reply.len + size * n > HTTPS_REPLY_MAX) {
		r->too_long = true;
		return 0;
	}
	buf_add(&r->reply, data, size * n);
	return size * n;
}

/* The options that are the same for all requests of this client. */
static CURL *new_handle(const struct https_client *c)
{
	CURL *easy = curl_easy_init();

	if (easy == NULL)
		abort(); /* out of memory */
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION,
			 (long)CURL_SSLVERSION_TLSv1_2);
	/* The peer must have the key of one of the certificates that we know;
	 * no signature can say more.  curl would refuse those that have ended,
	 * and then nobody could give the nodes new ones. */
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	/* Else it reads all public authorities for each connection. */
	curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, c->pins);
	if (c->cert_file != NULL) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, c->cert_file);
		curl_easy_setopt(easy, CURLOPT_SSLKEY, c->cert_file);
	}
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, CONNECTION_AGE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, SILENCE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, PROBE_S);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	return easy;
}

static void start(struct request *r)
{
	struct https_client *c = r->client;
	CURL *easy =
		c->n_handles > 0 ? c->handles[--c->n_handles] : new_handle(c);

	r->easy = easy;
	curl_easy_setopt(easy, CURLOPT_URL, r->url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, r->headers);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)r->body_len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)r->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, r);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, r->text);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, r);
	list_remove(&r->link);
	list_append(&c->running, &r->link);
	c->setting_up++;
	r->setting_up = true;
	timer_start(&r->slot, clock_mono_us() + SLOT_MS * 1000);
	if (curl_multi_add_handle(c->multi, easy) != CURLM_OK)
		abort(); /* out of memory */
}

/* Take r out of curl; its connection is kept for others if it is in order. */
static void detach(struct request *r)
{
	struct https_client *c = r->client;

	slot_release(r);
	if (r->easy == NULL)
		return;
	curl_multi_remove_handle(c->multi, r->easy);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, NULL);
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, NULL);
	if (c->n_handles < HANDLES_KEPT)
		c->handles[c->n_handles++] = r->easy;
	else
		curl_easy_cleanup(r->easy);
	r->easy = NULL;
}

static void request_free(struct request *r)
{
	timer_stop(&r->deadline);
	timer_stop(&r->slot);
	curl_slist_free_all(r->headers);
	buf_done(&r->reply);
	free(r->url);
	free(r->where);
	free(r->body);
	free(r);
}

static void finish(struct request *r, int status, const struct error *err)
{
	struct https_client *c = r->client;

	detach(r);
	list_remove(&r->link);
	timer_stop(&r->deadline);
	if (err != NULL)
		r->on_reply(r->arg, 0, NULL, 0, err);
	else
		r->on_reply(r->arg, status,
			    r->reply.data == NULL ? "" : r->reply.data,
			    r->reply.len, NULL);
	request_free(r);
	if (c->retired)
		wake(c);
}

static void on_deadline(struct timer *t)
{
	struct request *r = container_of(t, struct request, deadline);
	struct error err;

	error_set(&err, ERR_RPC, NULL, "No answer from %s within %u ms",
		  r->where, r->timeout_ms);
	finish(r, 0, &err);
}

static void refuse(struct request *r)
{
	struct error err;

	error_set(&err, ERR_RPC, NULL, "Cannot call %s: this is no IP address",
		  r->where);
	finish(r, 0, &err);
}

static void start_waiting(struct https_client *c)
{
	while (!list_empty(&c->waiting) && c->setting_up < HTTPS_HANDSHAKES) {
		struct request *r =
			list_first(&c->waiting, struct request, link);

		if (r->bad_address)
			refuse(r);
		else
			start(r);
	}
}

/* A connection that was there has ended. */
static bool was_cut(CURLcode code)
{
	return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
	       code == CURLE_SEND_ERROR || code == CURLE_PARTIAL_FILE;
}

/* The reason why there was no answer.  A host that refuses the connection runs,
 * but its daemon does not; a host that does not answer may be down. */
static const char *why_failed(struct request *r, CURLcode code)
{
	long number = 0;

	if (was_cut(code))
		return ECODE_CUT;
	if (code != CURLE_COULDNT_CONNECT)
		return NULL;
	curl_easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &number);
	return number == ECONNREFUSED ? ECODE_REFUSED : NULL;
}

static void on_done(struct request *r, CURLcode code)
{
	struct error err;
	long status = 0;

	if (code == CURLE_OK) {
		curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
		finish(r, (int)status, NULL);
		return;
	}
	if (r->too_long)
		error_set(&err, ERR_EXEC, NULL,
			  "The answer of %s is longer than %u bytes", r->where,
			  HTTPS_REPLY_MAX);
	else
		error_set(&err, ERR_RPC, why_failed(r, code),
			  "Cannot call %s: %s", r->where,
			  r->text[0] != '\0' ? r->text
					     : curl_easy_strerror(code));
	finish(r, 0, &err);
}

static void check_done(struct https_client *c)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(c->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		struct request *r;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &r);
		on_done(r, code);
	}
}

static void drive(struct https_client *c, curl_socket_t fd, int events)
{
	int running;

	curl_multi_socket_action(c->multi, fd, events, &running);
	check_done(c);
}

static void on_timer(uv_timer_t *timer)
{
	drive(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_idle(uv_idle_t *idle)
{
	struct https_client *c = idle->data;

	uv_idle_stop(idle);
	start_waiting(c);
	if (c->curl_due) {
		c->curl_due = false;
		drive(c, CURL_SOCKET_TIMEOUT, 0);
	}
	if (c->retired && list_empty(&c->waiting) && list_empty(&c->running))
		https_client_destroy(c);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct https_client *c = arg;

	(void)multi;
	uv_timer_stop(&c->timer);
	c->curl_due = timeout_ms == 0;
	if (timeout_ms > 0) {
		uv_update_time(tasks_loop());
		uv_timer_start(&c->timer, on_timer, (uint64_t)timeout_ms, 0);
	}
	if (c->curl_due)
		wake(c);
	return 0;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	int action = 0;

	if (status < 0)
		action = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		action |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		action |= CURL_CSELECT_OUT;
	drive(w->client, w->fd, action);
}

static void on_watch_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static struct watch *watch_new(struct https_client *c, curl_socket_t fd)
{
	struct watch *w = xalloc(sizeof(*w));

	w->client = c;
	w->fd = fd;
	w->poll.data = w;
	uv_poll_init(tasks_loop(), &w->poll, fd);
	curl_multi_assign(c->multi, fd, w);
	return w;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
		     void *socket_arg)
{
	struct https_client *c = arg;
	struct watch *w = socket_arg;
	int events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w == NULL)
			return 0;
		curl_multi_assign(c->multi, fd, NULL);
		uv_poll_stop(&w->poll);
		uv_close((uv_handle_t *)&w->poll, on_watch_closed);
		return 0;
	}
	if (w == NULL)
		w = watch_new(c, fd);
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	uv_poll_start(&w->poll, events, on_poll);
	return 0;
}

struct https_client *https_client_create(const char *cert_file,
					 const char *ca_file, struct error *err)
{
	static bool initialised;
	char digest[TLS_DIGEST_MAX], *pins;
	struct https_client *c;

	if (cert_file != NULL && tls_digest(cert_file, digest, err) < 0)
		return NULL;
	pins = tls_pins(ca_file, err);
	if (pins == NULL)
		return NULL;
	if (!initialised && curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		abort();
	initialised = true;
	c = xalloc(sizeof(*c));
	c->pins = pins;
	c->cert_file = cert_file == NULL ? NULL : xstrdup(cert_file);
	list_init(&c->waiting);
	list_init(&c->running);
	uv_timer_init(tasks_loop(), &c->timer);
	uv_idle_init(tasks_loop(), &c->idle);
	c->timer.data = c->idle.data = c;
	c->multi = curl_multi_init();
	if (c->multi == NULL)
		abort();
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS,
			  (long)CONNECTIONS_KEPT);
	return c;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct https_client *c = handle->data;

	if (--c->to_close > 0)
		return;
	free(c->cert_file);
	free(c->pins);
	free(c);
}

static void end_all(struct list *requests)
{
	struct error err;

	error_set(&err, ERR_RPC, NULL, "The daemon is ending");
	while (!list_empty(requests))
		finish(list_first(requests, struct request, link), 0, &err);
}

static bool is_address(const char *s)
{
	unsigned char raw[16];

	return uv_inet_pton(AF_INET, s, raw) == 0 ||
	       uv_inet_pton(AF_INET6, s, raw) == 0;
}

void https_client_destroy(struct https_client *c)
{
	if (c == NULL)
		return;
	c->retired = false; /* freed here, not by run() */
	end_all(&c->running);
	end_all(&c->waiting);
	while (c->n_handles > 0)
		curl_easy_cleanup(c->handles[--c->n_handles]);
	curl_multi_cleanup(c->multi);
	c->to_close = 2;
	uv_close((uv_handle_t *)&c->timer, on_handle_closed);
	uv_close((uv_handle_t *)&c->idle, on_handle_closed);
}

void https_client_retire(struct https_client *c)
{
	c->retired = true;
	wake(c);
}

static struct curl_slist *add_headers(const char *const *headers)
{
	/* Without this curl would send "Expect: 100-continue" and wait a round
	 * trip. */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	list = curl_slist_append(list, "Content-Type: application/json");
	for (; headers != NULL && *headers != NULL; headers++)
		list = curl_slist_append(list, *headers);
	return list;
}

void https_post(struct https_client *c, const struct https_post *post,
		char *body STEALS, size_t len,
		void (*on_reply)(void *arg, int status, const char *body,
				 size_t len, const struct error *err),
		void *arg)
{
	bool v6 = strchr(post->address, ':') != NULL;
	struct request *r = xalloc(sizeof(*r));

	assert(post->timeout_ms > 0);
	r->client = c;
	r->bad_address = !is_address(post->address);
	r->where = xprintf("%s%s%s:%d", v6 ? "[" : "", post->address,
			   v6 ? "]" : "", post->port);
	r->url = xprintf("https://%s%s", r->where, post->path);
	r->headers = add_headers(post->headers);
	r->body = body;
	r->body_len = len;
	r->timeout_ms = post->timeout_ms;
	r->connect_timeout_ms = post->connect_timeout_ms == 0
					? CONNECT_TIMEOUT_MS
					: post->connect_timeout_ms;
	r->on_reply = on_reply;
	r->arg = arg;
	r->slot.fired = on_slot;
	r->deadline.fired = on_deadline;
	timer_start(&r->deadline,
		    clock_mono_us() + (int64_t)post->timeout_ms * 1000);
	list_append(&c->waiting, &r->link);
	/* Not started here: our caller may be a callback of curl's, which must
	 * not call curl, and on_reply must not run before we return. */
	wake(c);
}
