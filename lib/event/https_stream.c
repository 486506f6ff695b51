/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that are streams.  While there is nothing to send the connection is
 * suspended: then MHD does not look at it at all.  So a client that has gone is
 * looked for here, as it would keep its place until something is sent to it;
 * for one whose host has vanished, who makes a stream sends something now and
 * then. */
#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/event/https_internal.h"

/* MHD makes each chunk in the memory of the connection, and does not use this
 * buffer. */
#define BLOCK 64
/* So often is looked who has gone. */
#define LOOK_US INT64_C(1000000)

struct https_stream {
	struct list link; /* in instance.streams, or .woken */
	struct https_instance *instance;
	struct https_source source;
	struct MHD_Connection *connection; /* NULL: not yet */
	bool suspended, ended;
};

/* Whether the client has hung up, as far as that can be seen. */
static bool is_gone(const struct https_stream *s)
{
	const union MHD_ConnectionInfo *info =
		s->connection == NULL
			? NULL
			: MHD_get_connection_info(
				  s->connection,
				  MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd p = {.events = POLLRDHUP};

	if (info == NULL)
		return false;
	p.fd = info->connect_fd;
	return poll(&p, 1, 0) > 0;
}

static void on_look(struct timer *t)
{
	struct https_server *server =
		container_of(t, struct https_server, look);
	struct https_instance *i;
	struct https_stream *s, *next;

	list_each (i, &server->instances, link)
		list_each_safe (s, next, &i->streams, link)
			if (s->suspended && is_gone(s)) {
				s->ended = true;
				https_stream_wake(s);
			}
	if (server->streams > 0)
		timer_start(t, clock_mono_us() + LOOK_US);
}

struct https_stream *https_stream_create(struct https_instance *i,
					 const struct https_source *source)
{
	struct https_stream *s = xalloc(sizeof(*s));

	s->instance = i;
	s->source = *source;
	list_append(&i->streams, &s->link);
	i->server->streams++;
	i->server->look.fired = on_look;
	if (!timer_running(&i->server->look))
		timer_start(&i->server->look, clock_mono_us() + LOOK_US);
	return s;
}

void https_stream_attach(struct https_stream *stream,
			 struct MHD_Connection *connection)
{
	stream->connection = connection;
}

void https_stream_free(struct https_stream *stream)
{
	if (stream == NULL)
		return;
	stream->instance->server->streams--;
	list_remove(&stream->link);
	stream->source.closed(stream->source.arg);
	free(stream);
}

/* Who does not take what was sent is cut off like others; who is sent nothing
 * may wait. */
static void limit(struct https_stream *s, bool sending)
{
	struct https_peer *peer = https_peer_of(s->connection);
	unsigned ms = s->instance->server->config.answer_ms;

	if (ms > 0 && sending)
		https_peer_limit(peer, ms);
	else
		timer_stop(&peer->limit);
}

static ssize_t on_read(void *arg, uint64_t pos, char *data, size_t max)
{
	struct https_stream *s = arg;
	ssize_t n = s->ended ? -1 : s->source.read(s->source.arg, data, max);

	(void)pos;
	limit(s, n != 0);
	if (n > 0)
		return n;
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	s->suspended = true;
	MHD_suspend_connection(s->connection);
	return 0;
}

struct MHD_Response *https_stream_response(struct https_stream *stream)
{
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK,
						 on_read, stream, NULL);
}

void https_stream_wake(struct https_stream *stream)
{
	if (!stream->suspended)
		return;
	stream->suspended = false;
	list_remove(&stream->link);
	list_append(&stream->instance->woken, &stream->link);
	https_instance_wake(stream->instance);
}

void https_streams_resume(struct https_instance *i)
{
	while (!list_empty(&i->woken)) {
		struct https_stream *s =
			list_first(&i->woken, struct https_stream, link);

		list_remove(&s->link);
		list_append(&i->streams, &s->link);
		MHD_resume_connection(s->connection);
	}
}

void https_streams_end(struct https_server *server)
{
	struct https_instance *i;
	struct https_stream *s, *next;

	timer_stop(&server->look);
	list_each (i, &server->instances, link) {
		list_each (s, &i->woken, link)
			s->ended = true;
		list_each_safe (s, next, &i->streams, link) {
			s->ended = true;
			https_stream_wake(s);
		}
	}
}

unsigned https_server_streams(const struct https_server *s)
{
	return s->streams;
}
