/* SPDX-License-Identifier: BSD-2-Clause */
/* The network end as it receives, in a thread, and as it sends; the test is its
 * peer. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/event/tls.h"
#include "noded/impexp/impexp.h"

#define ADDRESS "127.0.0.1"
#define MAGIC "magic"
#define WAIT_S 10
#define FDS_MAX 256

static char folder[] = "/tmp/test_impexp_net.XXXXXX";
static char *cert;
static struct error err;

/* Who receives, into a pipe. */
static struct impexp_spec spec;
static struct impexp_shared shared;
static struct error its_err;
static pthread_t thread;
static int out[2];
static int its_rc;

/* The peer. */
static gnutls_certificate_credentials_t creds;
static gnutls_session_t session;
static int peer_fd;

static void *run(void *arg)
{
	(void)arg;
	its_rc = impexp_net_run(&spec, out[1], true, &shared, &its_err);
	close(out[1]);
	return NULL;
}

static void await(bool (*is_true)(void), const char *what)
{
	for (int ms = 0; ms < WAIT_S * 1000; ms++) {
		if (is_true())
			return;
		usleep(1000);
	}
	cr_assert_fail("%s", what);
}

static bool listens(void)
{
	return shared.port != 0;
}

static bool is_connected(void)
{
	return shared.connected;
}

static void start_receiver(const char *address)
{
	spec = (struct impexp_spec){
		.import = true,
		.address = address,
		.key_file = cert,
		.ca_file = cert,
		.magic = MAGIC,
		.connect_timeout_s = WAIT_S,
	};
	cr_assert_eq(pipe(out), 0);
	cr_assert_eq(pthread_create(&thread, NULL, run, NULL), 0);
	await(listens, "it does not listen");
}

static int connect_to_it(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)shared.port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, ADDRESS, &at.sin_addr);
	cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void connect_peer(void)
{
	peer_fd = connect_to_it();
	gnutls_certificate_allocate_credentials(&creds);
	cr_assert_eq(gnutls_certificate_set_x509_key_file(creds, cert, cert,
							  GNUTLS_X509_FMT_PEM),
		     0);
	gnutls_init(&session, GNUTLS_CLIENT);
	gnutls_priority_set_direct(session, TLS_PRIORITIES, NULL);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, creds);
	gnutls_transport_set_int(session, peer_fd);
	cr_assert_eq(gnutls_handshake(session), 0);
	cr_assert_eq(gnutls_protocol_get_version(session), GNUTLS_TLS1_3);
}

static void make_certificate(void)
{
	signal(SIGPIPE, SIG_IGN);
	cr_assert_not_null(mkdtemp(folder));
	cert = xprintf("%s/cert.pem", folder);
	cr_assert_eq(tls_make_ca(cert, "cluster.example.com", &err), 0, "%s",
		     err.text);
}

static void prepare(void)
{
	make_certificate();
	start_receiver(ADDRESS);
}

static void setup(void)
{
	prepare();
	connect_peer();
}

static void teardown(void)
{
	close(out[0]);
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(creds);
	close(peer_fd);
	fs_remove_tree(folder, &err);
	free(cert);
}

TestSuite(impexp_net, .init = setup, .fini = teardown, .timeout = 60);

static void say(const char *text)
{
	cr_assert_eq(gnutls_record_send(session, text, strlen(text)),
		     (ssize_t)strlen(text));
}

/* As GnuTLS does by itself after many records. */
static void change_keys(void)
{
	cr_assert_eq(gnutls_session_key_update(session, 0), 0);
}

static void end(void)
{
	gnutls_bye(session, GNUTLS_SHUT_WR);
	pthread_join(thread, NULL);
}

Test(impexp_net, new_keys_do_not_end_a_transfer)
{
	char got[64] = "";

	change_keys();
	say("M=mag");
	change_keys();
	say("ic");
	say("first ");
	change_keys();
	say("second");
	end();
	cr_assert_eq(its_rc, 0, "%s", its_err.text);
	cr_assert_gt(read(out[0], got, sizeof(got) - 1), 0);
	cr_assert_str_eq(got, "first second");
}

/* The receiver's end of the connection. */
static int its_socket(void)
{
	for (int fd = 0; fd < FDS_MAX; fd++) {
		struct sockaddr_in at, peer;
		socklen_t len = sizeof(at), peer_len = sizeof(peer);

		if (getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
		    getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
		    at.sin_family == AF_INET &&
		    ntohs(at.sin_port) == shared.port)
			return fd;
	}
	return -1;
}

static int option(int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	cr_assert_eq(getsockopt(its_socket(), level, name, &value, &len), 0);
	return value;
}

/* TCP_USER_TIMEOUT would also end a connection whose peer lives, but reads
 * nothing. */
Test(impexp_net, a_peer_may_pause_but_not_be_gone)
{
	say("M=" MAGIC);
	await(is_connected, "it does not know its peer");
	cr_expect_eq(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
	cr_expect_eq(option(SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_leq(option(IPPROTO_TCP, TCP_KEEPIDLE) +
			      option(IPPROTO_TCP, TCP_KEEPINTVL) *
				      option(IPPROTO_TCP, TCP_KEEPCNT),
		      120);
	end();
	cr_assert_eq(its_rc, 0, "%s", its_err.text);
}

/* --- others connect, too --- */

/* More than the receiver hears at the same time. */
#define STRANGERS 20

TestSuite(impexp_strangers, .init = prepare, .fini = teardown, .timeout = 60);

static void expect_a_transfer(void)
{
	char got[64] = "";

	connect_peer();
	say("M=" MAGIC "data");
	end();
	cr_assert_eq(its_rc, 0, "%s", its_err.text);
	cr_assert_gt(read(out[0], got, sizeof(got) - 1), 0);
	cr_assert_str_eq(got, "data");
}

/* Each may take as long to speak as the receiver waits for its peer. */
Test(impexp_strangers, who_says_nothing_holds_up_nobody)
{
	int silent = connect_to_it();

	expect_a_transfer();
	close(silent);
}

Test(impexp_strangers, however_many_there_are)
{
	int silent[STRANGERS];

	for (size_t i = 0; i < STRANGERS; i++)
		silent[i] = connect_to_it();
	expect_a_transfer();
	for (size_t i = 0; i < STRANGERS; i++)
		close(silent[i]);
}

/* A word that is no TLS, and no end behind it. */
Test(impexp_strangers, who_speaks_otherwise_is_sent_away)
{
	int loud = connect_to_it();
	char byte;

	cr_assert_eq(write(loud, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	expect_a_transfer();
	while (read(loud, &byte, 1) > 0)
		;
	close(loud);
}

/* --- where it listens --- */

static bool set(const char *file, const char *value)
{
	auto_close int fd = open(file, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, value, strlen(value)) > 0;
}

/* A network of the test's own, where sockets of IPv6 are for that alone; skips
 * the test where that is not to be had. */
static void own_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	auto_close int fd = -1;

	if (unshare(CLONE_NEWNET) < 0 ||
	    !set("/proc/sys/net/ipv6/bindv6only", "1"))
		cr_skip_test("no network of our own");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	cr_assert_eq(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
}

Test(impexp_everywhere, hosts_of_both_families_reach_it, .fini = teardown,
     .timeout = 60)
{
	own_network();
	make_certificate();
	start_receiver("::");
	expect_a_transfer();
}

/* --- the network end as it sends --- */

/* A host that answers nobody: the places of its queue are taken. */
static int make_deaf(int fds[], size_t n, int *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, ADDRESS, &at.sin_addr);
	cr_assert_eq(bind(listener, (struct sockaddr *)&at, len), 0);
	cr_assert_eq(listen(listener, 0), 0);
	getsockname(listener, (struct sockaddr *)&at, &len);
	for (size_t i = 0; i < n; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(fds[i], (struct sockaddr *)&at, sizeof(at));
	}
	*ret_port = ntohs(at.sin_port);
	return listener;
}

Test(impexp_sender, the_time_to_connect_is_kept, .timeout = 60)
{
	enum { QUEUED = 4 };
	int fds[QUEUED], listener;
	int64_t begin_us = clock_mono_us();

	cr_assert_not_null(mkdtemp(folder));
	cert = xprintf("%s/cert.pem", folder);
	cr_assert_eq(tls_make_ca(cert, "cluster.example.com", &err), 0);
	spec = (struct impexp_spec){
		.address = ADDRESS,
		.key_file = cert,
		.ca_file = cert,
		.magic = MAGIC,
		.connect_timeout_s = 1,
	};
	listener = make_deaf(fds, QUEUED, &spec.port);
	cr_expect_eq(impexp_net_run(&spec, 0, true, &shared, &its_err), -1);
	cr_expect_not_null(strstr(its_err.text, "Cannot connect"), "%s",
			   its_err.text);
	cr_expect_lt(clock_mono_us() - begin_us, INT64_C(10000000));
	for (size_t i = 0; i < QUEUED; i++)
		close(fds[i]);
	close(listener);
	fs_remove_tree(folder, &err);
	free(cert);
}
