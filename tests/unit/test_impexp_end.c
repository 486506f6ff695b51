/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of two disks, joined by a connection that is their own: one in a
 * thread, which takes, the other one here. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/event/tls.h"
#include "noded/impexp/impexp.h"

#define ADDRESS "127.0.0.1"
#define WAIT_S 10
/* Some chunks, and a part of one. */
#define DATA_BYTES (3 * IMPEXP_CHUNK + 777)
#define HOLE_BYTES (4 * IMPEXP_CHUNK)
#define DISK_BYTES (DATA_BYTES + HOLE_BYTES)

static char folder[] = "/tmp/test_impexp_end.XXXXXX";
static char *cert, *from, *to;

/* One of the two, and how it has ended. */
struct side {
	struct impexp_spec spec;
	struct impexp_shared shared;
	struct error err;
	int rc;
	bool net;
};

static struct side taker, giver;

/* Data that are no pattern of 16 KiB, and a hole behind them. */
static void make_disk(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	auto_free char *data = xalloc(DATA_BYTES);

	for (size_t i = 0; i < DATA_BYTES; i++)
		data[i] = (char)(i * 31 + i / 251);
	cr_assert_eq(impexp_write_all(fd, data, DATA_BYTES), 0);
	cr_assert_eq(ftruncate(fd, DISK_BYTES), 0);
}

static void make_empty(const char *path, off_t size)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(ftruncate(fd, size), 0);
}

static void setup(void)
{
	struct error err;

	signal(SIGPIPE, SIG_IGN);
	cr_assert_not_null(mkdtemp(folder));
	cert = xprintf("%s/cert.pem", folder);
	from = xprintf("%s/from", folder);
	to = xprintf("%s/to", folder);
	cr_assert_eq(tls_make_ca(cert, "cluster.example.com", &err), 0, "%s",
		     err.text);
	make_disk(from);
	giver.spec = (struct impexp_spec){
		.address = ADDRESS,
		.key_file = cert,
		.ca_file = cert,
		.magic = "magic",
		.connect_timeout_s = WAIT_S,
		.sparse = true,
		.alone = true,
		.path = from,
	};
	taker.spec = giver.spec;
	taker.spec.import = true;
	taker.spec.path = to;
}

static void teardown(void)
{
	struct error err;

	fs_remove_tree(folder, &err);
	free(cert);
	free(from);
	free(to);
}

TestSuite(impexp_end, .init = setup, .fini = teardown, .timeout = 60);

static void *run(void *arg)
{
	struct side *s = arg;

	s->rc = impexp_end_run(&s->spec, -1, &s->shared, &s->net, &s->err);
	return NULL;
}

static void transfer(void)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, run, &taker), 0);
	for (int ms = 0; ms < WAIT_S * 1000 && taker.shared.port == 0; ms++)
		usleep(1000);
	giver.spec.port = taker.shared.port;
	run(&giver);
	pthread_join(thread, NULL);
}

static void expect_same(void)
{
	auto_free char *sent = NULL, *got = NULL;
	size_t n_sent, n_got;
	struct error err;

	cr_assert_eq(giver.rc, 0, "%s", giver.err.text);
	cr_assert_eq(taker.rc, 0, "%s", taker.err.text);
	sent = fs_read(from, 2 * DISK_BYTES, &n_sent, &err);
	got = fs_read(to, 2 * DISK_BYTES, &n_got, &err);
	cr_assert_eq(n_got, DISK_BYTES);
	cr_assert_eq(n_sent, n_got);
	cr_assert_eq(memcmp(sent, got, n_got), 0);
	cr_expect_eq(giver.shared.bytes, DISK_BYTES);
	cr_expect_eq(taker.shared.bytes, DISK_BYTES);
}

Test(impexp_end, a_disk_is_there_as_it_was)
{
	struct stat st;

	make_empty(to, DISK_BYTES);
	transfer();
	expect_same();
	cr_assert_eq(stat(to, &st), 0);
	cr_expect_lt(st.st_blocks * 512, DISK_BYTES, "the hole is one");
}

Test(impexp_end, so_it_is_where_zeros_are_sent)
{
	giver.spec.sparse = taker.spec.sparse = false;
	taker.spec.kind = IMPEXP_FILE;
	transfer();
	expect_same();
}

/* The one that fails says so, and to the other one the connection has broken.
 */
Test(impexp_end, a_disk_that_is_too_small_is_to_blame)
{
	make_empty(to, IMPEXP_CHUNK);
	transfer();
	cr_expect_eq(taker.rc, -1);
	cr_expect_not(taker.net);
	cr_expect_not_null(strstr(taker.err.text, "more data than the disk"),
			   "%s", taker.err.text);
	cr_expect_eq(giver.rc, -1);
	cr_expect(giver.net, "%s", giver.err.text);
}

Test(impexp_end, a_disk_that_is_not_there_is_to_blame)
{
	cr_expect_eq(impexp_end_run(&taker.spec, -1, &taker.shared, &taker.net,
				    &taker.err),
		     -1);
	cr_expect_not(taker.net);
	cr_expect_eq(taker.shared.port, 0, "it does not wait for a peer");
}

Test(impexp_end, a_peer_that_does_not_come_is_to_blame)
{
	make_empty(to, DISK_BYTES);
	taker.spec.connect_timeout_s = 1;
	cr_expect_eq(impexp_end_run(&taker.spec, -1, &taker.shared, &taker.net,
				    &taker.err),
		     -1);
	cr_expect(taker.net);
}

/* Both mean another disk. */
Test(impexp_end, another_disk_is_not_taken)
{
	make_empty(to, DISK_BYTES);
	taker.spec.connect_timeout_s = 1;
	giver.spec.magic = "other";
	transfer();
	cr_expect_eq(taker.rc, -1);
	cr_expect(taker.net);
	cr_expect_eq(giver.rc, -1);
}
