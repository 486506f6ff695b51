/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls over HTTPS when the daemon ends. */
#include "lib/base/disk.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "masterd/rpc/noderpc_https.h"
#include "tests/lib/root.h"

static struct test_root root;
static struct noderpc_https *https;
static struct noderpc_transport transport;
static struct noderpc *rpc;
static struct error err;

static void setup(void)
{
	mem_init();
	test_loop_start();
	test_root_create(&root);
	cr_assert_eq(
		tls_make_ca(path(root.paths, PATH_SERVER_PEM), "cluster", &err),
		0, "%s", err.text);
	https = noderpc_https_create(root.paths, &err);
	cr_assert_not_null(https, "%s", err.text);
	transport = noderpc_https_transport(https);
	rpc = noderpc_create(&transport);
}

static void teardown(void)
{
	noderpc_destroy(rpc);
	noderpc_https_free(https);
	test_loop_stop();
	test_root_destroy(&root);
}

TestSuite(noderpc_https, .init = setup, .fini = teardown);

static void call_task(void *arg)
{
	auto_json json_t *node =
		json_make("{s:s, s:s, s:b}", "name", "node2", "primary_ip",
			  "127.0.0.1", "offline", false);

	(void)arg;
	cr_expect_null(noderpc_call(rpc, node, rpc_version(), &err));
}

/* A task that nobody waits for may still ask a node. */
Test(noderpc_https, calls_behind_the_end_fail)
{
	noderpc_https_close(https);
	task_spawn("call", call_task, NULL);
	test_run_tasks();
	cr_expect_str_eq(err.text, "version on node 'node2': The daemon is "
				   "ending");
	cr_expect_eq(noderpc_https_reload(https, root.paths, &err), 0);
}
