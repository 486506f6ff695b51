/* SPDX-License-Identifier: BSD-2-Clause */
/* libmicrohttpd without threads: the loop watches its epoll descriptor.  To
 * read the certificates again, a second MHD daemon is started on the same
 * listening socket; the first one lives until its connections have ended.
 *
 * Two traps: MHD_resume_connection() does not wake the epoll descriptor, so
 * MHD_run() has to be called after it; and when MHD asks for a timeout of 0, an
 * idle handle must be used, as a uv timer of 0 ms would be armed again for
 * ever. */
#include "lib/event/https_server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/event/https_internal.h"
#include "lib/event/tls.h"

/* Connections beyond the known and the strangers: those that were shut down and
 * that MHD has not closed yet. */
#define LEAVING_MAX 64
/* When the server ends, replies may take so long. */
#define LINGER_MS 2000
#define PEM_MAX (1024 * 1024)

static void on_idle(uv_idle_t *idle);
static void on_timer(uv_timer_t *timer);
static void instance_close(struct https_instance *i);

static bool is_running(const struct https_server *s)
{
	for (size_t i = 0; i < HTTPS_LANES; i++)
		if (s->lanes[i].running > 0)
			return true;
	return false;
}

static void end_if_done(struct https_server *s);

void https_instance_wake(struct https_instance *i)
{
	uv_idle_start(&i->idle, on_idle);
}

/* Let MHD work, then ask when it wants to be called next. */
static void drive(struct https_instance *i)
{
	struct https_server *s = i->server;
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_run(i->mhd);
	uv_timer_stop(&i->timer);
	if (MHD_get_timeout(i->mhd, &ms) == MHD_YES) {
		if (ms == 0)
			https_instance_wake(i);
		else
			uv_timer_start(&i->timer, on_timer, ms, 0);
	}
	if (s->closing)
		end_if_done(s);
	else if (i->retired &&
		 MHD_get_daemon_info(i->mhd,
				     MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
				 ->num_connections == 0)
		instance_close(i);
}

static void on_timer(uv_timer_t *timer)
{
	drive(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	drive(poll->data);
}

static void on_idle(uv_idle_t *idle)
{
	struct https_instance *i = idle->data;

	uv_idle_stop(idle);
	https_resume_handled(i);
	https_streams_resume(i);
	drive(i);
}

static void on_mhd_log(void *arg, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void on_mhd_log(void *arg, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	https_told_line(arg, text);
	log_debug("HTTPS: %s", text);
}

static struct MHD_Daemon *start_mhd(struct https_instance *i, const char *cert,
				    const char *key, const char *ca)
{
	const struct https_server_config *c = &i->server->config;
	const struct MHD_OptionItem end = {MHD_OPTION_END, 0, NULL};
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_KEY, 0,
		 mem_unconst(key == NULL ? cert : key)},
		{MHD_OPTION_HTTPS_MEM_CERT, 0, mem_unconst(cert)},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES},
		ca == NULL ? end
			   : (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST,
						     0, mem_unconst(ca)},
		end,
	};
	unsigned max = c->connections_max;
	/* A daemon that cannot be started closes its socket. */
	int copy = fcntl(i->server->listen_fd, F_DUPFD_CLOEXEC, 0);
	unsigned flags =
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	if (cert != NULL)
		flags |= MHD_USE_TLS;
	/* https_on_accept() counts, and with certificates all of
	 * https_peers.c. */
	if (c->streams_max > 0)
		max += c->streams_max;
	if (ca != NULL)
		max = c->connections_max + HTTPS_STRANGERS_MAX + LEAVING_MAX;
	/* clang-format off */
	return MHD_start_daemon(
		flags, 0, https_on_accept, i, https_on_access, i,
		MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, i,
		MHD_OPTION_LISTEN_SOCKET, copy,
		/* https_head.c is stricter, and has words of its own. */
		MHD_OPTION_STRICT_FOR_CLIENT, 0,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, https_head_room(c),
		MHD_OPTION_CONNECTION_TIMEOUT, c->idle_s,
		MHD_OPTION_CONNECTION_LIMIT, max,
		MHD_OPTION_URI_LOG_CALLBACK, https_on_uri, i,
		MHD_OPTION_NOTIFY_CONNECTION, https_on_connection, i,
		MHD_OPTION_NOTIFY_COMPLETED, https_on_completed, i,
		MHD_OPTION_ARRAY, cert == NULL ? &end : tls,
		MHD_OPTION_END);
	/* clang-format on */
}

static char *read_pem(const char *path, struct error *err)
{
	char digest[TLS_DIGEST_MAX];

	if (tls_digest(path, digest, err) < 0)
		return NULL;
	return fs_read(path, PEM_MAX, NULL, err);
}

static void wipe_p(char **text)
{
	if (*text != NULL)
		gnutls_memset(*text, 0, strlen(*text));
	free(*text);
}

static struct https_instance *instance_create(struct https_server *s,
					      struct error *err)
{
	__attribute__((cleanup(wipe_p))) char *cert = NULL, *key = NULL;
	auto_free char *ca = NULL;
	struct https_instance *i;

	/* libmicrohttpd says nothing of what is wrong. */
	if (s->config.cert_file != NULL &&
	    tls_check_pair(s->config.cert_file,
			   s->config.key_file != NULL ? s->config.key_file
						      : s->config.cert_file,
			   err) < 0)
		return NULL;
	if (s->config.cert_file != NULL &&
	    (cert = read_pem(s->config.cert_file, err)) == NULL)
		return NULL;
	if (s->config.ca_file != NULL &&
	    (ca = read_pem(s->config.ca_file, err)) == NULL)
		return NULL;
	if (s->config.key_file != NULL &&
	    (key = fs_read(s->config.key_file, PEM_MAX, NULL, err)) == NULL)
		return NULL;
	i = xalloc(sizeof(*i));
	i->server = s;
	list_init(&i->handled);
	list_init(&i->streams);
	list_init(&i->woken);
	i->mhd = start_mhd(i, cert, key, ca);
	if (i->mhd == NULL) {
		free(i);
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			  "Cannot start the HTTPS server on %s:%d with %s",
			  s->config.address, s->port,
			  s->config.cert_file == NULL ? "no certificate"
						      : s->config.cert_file);
		return NULL;
	}
	i->poll.data = i->timer.data = i->idle.data = i;
	uv_poll_init(tasks_loop(), &i->poll,
		     MHD_get_daemon_info(i->mhd, MHD_DAEMON_INFO_EPOLL_FD)
			     ->epoll_fd);
	uv_timer_init(tasks_loop(), &i->timer);
	uv_idle_init(tasks_loop(), &i->idle);
	uv_poll_start(&i->poll, UV_READABLE, on_poll);
	list_append(&s->instances, &i->link);
	https_instance_wake(i);
	return i;
}

static void server_free(struct https_server *s)
{
	struct https_server_config *c = &s->config;

	if (s->listen_fd >= 0)
		close(s->listen_fd);
	table_done(&s->bodies_by_ip, free);
	table_done(&s->open_by_ip, free);
	free(mem_unconst(c->address));
	free(mem_unconst(c->cert_file));
	free(mem_unconst(c->key_file));
	free(mem_unconst(c->ca_file));
	free(s);
}

static void on_closed(uv_handle_t *handle)
{
	struct https_instance *i = handle->data;
	struct https_server *s = i->server;

	if (--i->to_close > 0)
		return;
	list_remove(&i->link);
	free(i);
	if (!s->closing || !list_empty(&s->instances))
		return;
	if (s->done != NULL)
		s->done(s->done_arg);
	server_free(s);
}

/* By now no call of this instance is suspended. */
static void instance_close(struct https_instance *i)
{
	if (i->to_close > 0)
		return;
	i->to_close = 3;
	uv_close((uv_handle_t *)&i->poll, on_closed);
	uv_close((uv_handle_t *)&i->timer, on_closed);
	uv_close((uv_handle_t *)&i->idle, on_closed);
	MHD_stop_daemon(i->mhd);
}

/* From now on this instance accepts no connections. */
static void instance_retire(struct https_instance *i)
{
	i->retired = true;
	close(MHD_quiesce_daemon(i->mhd)); /* our copy is still there */
	https_instance_wake(i);
}

static int open_socket(struct https_server *s, struct error *err)
{
	const struct https_server_config *c = &s->config;
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	const int on = 1;

	if (uv_ip4_addr(c->address, c->port, (void *)&address) < 0 &&
	    uv_ip6_addr(c->address, c->port, (void *)&address) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_INVAL,
				 "'%s' is no IP address to listen on",
				 c->address);
	s->listen_fd = socket(address.ss_family,
			      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0 ||
	    setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on,
		       sizeof(on)) < 0 ||
	    (c->early && setsockopt(s->listen_fd, IPPROTO_IP, IP_FREEBIND, &on,
				    sizeof(on)) < 0) ||
	    bind(s->listen_fd, (void *)&address,
		 address.ss_family == AF_INET6
			 ? sizeof(struct sockaddr_in6)
			 : sizeof(struct sockaddr_in)) < 0 ||
	    listen(s->listen_fd, SOMAXCONN) < 0 ||
	    getsockname(s->listen_fd, (void *)&address, &len) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot listen on %s port %d: %s", c->address,
				 c->port, strerror(errno));
	s->port = ntohs(address.ss_family == AF_INET6
				? ((struct sockaddr_in6 *)&address)->sin6_port
				: ((struct sockaddr_in *)&address)->sin_port);
	return 0;
}

struct https_server *
https_server_create(const struct https_server_config *config, struct error *err)
{
	struct https_server *s = xalloc(sizeof(*s));
	struct https_server_config *c = &s->config;

	assert(config->body_max > 0 && config->requests_max > 0);
	s->listen_fd = -1;
	list_init(&s->instances);
	for (size_t i = 0; i < HTTPS_LANES; i++)
		list_init(&s->lanes[i].waiting);
	list_init(&s->unread);
	list_init(&s->known);
	list_init(&s->strangers);
	*c = *config;
	if (c->first_ms == 0)
		c->first_ms = HTTPS_FIRST_MS;
	if (c->body_ms == 0)
		c->body_ms = HTTPS_BODY_MS;
	if (c->stranger_ms == 0)
		c->stranger_ms = HTTPS_STRANGER_MS;
	if (c->idle_s == 0)
		c->idle_s = HTTPS_IDLE_S;
	c->address = xstrdup(config->address);
	if (config->cert_file != NULL)
		c->cert_file = xstrdup(config->cert_file);
	if (config->key_file != NULL)
		c->key_file = xstrdup(config->key_file);
	if (config->ca_file != NULL)
		c->ca_file = xstrdup(config->ca_file);
	if (open_socket(s, err) < 0 ||
	    (s->current = instance_create(s, err)) == NULL) {
		server_free(s);
		return NULL;
	}
	return s;
}

int https_server_port(const struct https_server *s)
{
	return s->port;
}

uint64_t https_server_accepted(const struct https_server *s)
{
	return s->accepted;
}

int https_server_reload(struct https_server *s, const char *ca_file,
			struct error *err)
{
	char *old = mem_unconst(s->config.ca_file);
	struct https_instance *fresh;

	s->config.ca_file = ca_file == NULL ? NULL : xstrdup(ca_file);
	fresh = instance_create(s, err);
	if (fresh == NULL) {
		free(mem_unconst(s->config.ca_file));
		s->config.ca_file = old;
		return -1;
	}
	free(old);
	instance_retire(s->current);
	s->current = fresh;
	return 0;
}

static void close_all(struct https_server *s)
{
	struct https_instance *i, *tmp;

	timer_stop(&s->linger);
	list_each_safe (i, tmp, &s->instances, link)
		instance_close(i);
}

static void on_linger(struct timer *t)
{
	close_all(container_of(t, struct https_server, linger));
}

static void end_if_done(struct https_server *s)
{
	if (s->busy == 0)
		close_all(s);
	else if (!is_running(s) && !timer_running(&s->linger))
		timer_start(&s->linger, clock_mono_us() + LINGER_MS * 1000);
}

void https_server_destroy(struct https_server *s, void (*done)(void *arg),
			  void *arg)
{
	if (s == NULL)
		return;
	s->closing = true;
	s->done = done;
	s->done_arg = arg;
	s->linger.fired = on_linger;
	instance_retire(s->current);
	close(s->listen_fd);
	s->listen_fd = -1;
	https_refuse_waiting(s);
	https_streams_end(s);
}
