/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about the network of this machine, whose loopback is all that is
 * known of it; and what a virtual node says instead. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "noded/core/host.h"
#include "noded/core/noded.h"
#include "tests/lib/root.h"

#define NOBODYS "192.0.2.77" /* of documents, so of no machine */

static struct test_root root;
static struct noded real, virtual;
static struct error err;

static void setup(void)
{
	test_root_create(&root);
	real.paths = paths_create("", "node1.example.com");
	virtual.paths = root.paths;
	virtual.address = xstrdup("127.0.0.1");
}

static void teardown(void)
{
	paths_destroy(real.paths);
	free(virtual.address);
	test_root_destroy(&root);
}

TestSuite(host, .init = setup, .fini = teardown);

Test(host, addresses_are_those_of_the_interfaces)
{
	cr_expect(host_has_address(&real, "127.0.0.1"));
	cr_expect_not(host_has_address(&real, NOBODYS));
	cr_expect_not(host_has_address(&real, "localhost"));
}

Test(host, a_virtual_node_has_the_addresses_that_ssconf_gives_it)
{
	static const char text[] = "node1.example.com " NOBODYS "\n"
				   "node2.example.com 192.0.2.78\n";
	auto_free char *file = paths_ssconf(root.paths, "node_secondary_ips");

	cr_assert_eq(fs_write_atomic(file, text, sizeof(text) - 1, 0444, &err),
		     0);
	cr_expect(host_has_address(&virtual, "127.0.0.1"));
	cr_expect(host_has_address(&virtual, NOBODYS));
	cr_expect_not(host_has_address(&virtual, "192.0.2.78"));
	cr_expect_not(host_has_address(&virtual, "127.0.0.2"));
}

Test(host, what_is_no_bridge_is_missing_as_one)
{
	auto_json json_t *bridges =
		json_make("[s, s, s, i]", "lo", "no-such-bridge", "../lo", 3);
	auto_strv struct strv missing = {0}, none = {0};
	auto_free char *text = NULL;

	host_missing_bridges(&real, bridges, &missing);
	text = strv_join(&missing, " ");
	cr_expect_str_eq(text, "lo no-such-bridge ../lo");
	host_missing_bridges(&virtual, bridges, &none);
	cr_expect_eq(none.n, 0);
}

Test(host, a_port_accepts_while_somebody_listens)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	port = ntohs(in.sin_port);
	cr_expect_not(host_accepts("127.0.0.1", port, 5000));
	cr_assert_eq(listen(fd, 5), 0);
	cr_expect(host_accepts("127.0.0.1", port, 5000));
	close(fd);
	cr_expect_not(host_accepts("127.0.0.1", port, 5000));
	cr_expect_not(host_accepts("not-an-address", port, 5000));
}

/* What is written stands in a file here; the kernel never sees it. */
Test(host, a_reset_is_one_letter_to_the_kernel)
{
	auto_free char *file = xprintf("%s/trigger", root.paths->root);
	auto_free char *text = NULL;
	int rc;

	cr_assert_eq(fs_write_atomic(file, "", 0, 0600, &err), 0, "%s",
		     err.text);
	rc = host_reset(file);
	text = fs_read(file, 10, NULL, &err);
	/* In a container nothing is written. */
	cr_assert_str_eq(text, rc == 0 ? "b" : "");
}

Test(host, without_the_kernels_file_there_is_no_reset)
{
	auto_free char *file = xprintf("%s/none", root.paths->root);

	cr_assert_eq(host_reset(file), -1);
	cr_assert_not(fs_exists(file));
}
