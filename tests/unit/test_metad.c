/* SPDX-License-Identifier: BSD-2-Clause */
/* What instances get from their node over plain HTTP.  The node here is one of
 * a virtual cluster: 169.254.0.1 comes from 127.254.0.1. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/event/https_server.h"
#include "lib/json/json.h"
#include "noded/metad/metad.h"
#include "tests/lib/node.h"

#define TREE "/ganeti/latest/"
#define OS "/srv/ganeti/os/noop/"

static struct test_node node;
static struct error err;
static int port; /* where it listened last */

static json_t *instance(const char *name, const char *ip)
{
	return json_make("{s:s, s:s, s:s, s:[{s:s}, {s:s, s:s}], s:{s:s, s:s},"
			 " s:{s:s}, s:{s:s}}",
			 "name", name, "uuid", "1-2", "os", "noop+default",
			 "nics", "ip", "169.254.0.9", "name",
			 "ganeti:communication:web1", "ip", ip, "osparams",
			 "dist", "bookworm", "os-install-package", "/srv/pkg",
			 "osparams_private", "user", "joe", "osparams_secret",
			 "password", "hunter2");
}

static void know(const char *name, const char *ip)
{
	auto_json json_t *one = instance(name, ip);

	cr_assert_eq(metad_know(&node.n.metad, one, &err), 0, "%s", err.text);
}

static void setup(void)
{
	static const char *const scripts[] = {"create", "export", "import",
					      "rename", "create_untrusted"};

	test_loop_start();
	test_node_create(&node);
	node.n.metad.address = "127.0.0.1";
	test_node_write(&node, OS "ganeti_api_version", "15\n", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		auto_free char *file = xprintf(OS "%s", scripts[i]);

		test_node_write(&node, file, scripts[i], 0700);
	}
	test_node_write(&node, "/srv/pkg", "PACKAGE", 0644);
	know("web1", "169.254.0.1");
}

static void teardown(void)
{
	metad_close(&node.n.metad);
	test_node_loop_stop(&node);
	test_node_destroy(&node);
}

TestSuite(metad, .init = setup, .fini = teardown, .timeout = 60);

/* A whole request and its answer, from an address. */
struct exchange {
	const char *from;
	const char *request;
	char answer[4000];
};

static void exchange_task(void *arg)
{
	struct exchange *x = arg;
	struct sockaddr_in to = {.sin_family = AF_INET},
			   from = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t got = 0;
	ssize_t n;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (node.n.metad.server != NULL)
		port = https_server_port(node.n.metad.server);
	to.sin_port = htons((uint16_t)port);
	inet_pton(AF_INET, x->from, &from.sin_addr);
	cr_assert_eq(bind(fd, (void *)&from, sizeof(from)), 0);
	task_leave();
	if (connect(fd, (void *)&to, sizeof(to)) == 0 &&
	    write(fd, x->request, strlen(x->request)) > 0)
		while ((n = read(fd, x->answer + got,
				 sizeof(x->answer) - 1 - got)) > 0)
			got += (size_t)n;
	close(fd);
	task_enter();
}

/* Status and body, "200 text". */
static char *ask(const char *from, const char *method, const char *path_)
{
	auto_free char *request = xprintf("%s %s HTTP/1.1\r\nHost: x\r\n"
					  "Connection: close\r\n\r\n",
					  method, path_);
	struct exchange x = {.from = from, .request = request};
	const char *body;

	task_spawn("exchange", exchange_task, &x);
	test_run_tasks();
	body = strstr(x.answer, "\r\n\r\n");
	return body == NULL ? xstrdup("nobody listens")
			    : xprintf("%.3s %s", x.answer + strlen("HTTP/1.1 "),
				      body + 4);
}

static void expect(const char *from, const char *method, const char *path_,
		   const char *answer)
{
	auto_free char *got = ask(from, method, path_);

	cr_expect_str_eq(got, answer, "%s: %s", path_, got);
}

#define WEB1 "127.254.0.1"
#define NONE "404 Resource not found"

Test(metad, an_instance_gets_its_parameters_with_their_visibility)
{
	expect(WEB1, "GET", TREE "os/parameters.json",
	       "200 {\"dist\":[\"bookworm\",\"public\"],"
	       "\"os-install-package\":[\"/srv/pkg\",\"public\"],"
	       "\"user\":[\"joe\",\"private\"],"
	       "\"password\":[\"hunter2\",\"secret\"]}");
	expect(WEB1, "GET", TREE "meta_data.json",
	       "200 {\"name\":\"web1\",\"uuid\":\"1-2\",\"os\":"
	       "\"noop+default\"}");
}

Test(metad, nobody_gets_what_is_anothers)
{
	know("web2", "169.254.0.2");
	expect("127.254.0.3", "GET", TREE "os/parameters.json", NONE);
	expect("127.0.0.1", "GET", TREE "os/parameters.json", NONE);
	expect("127.254.0.3", "GET", TREE "read", NONE);
	expect("127.254.0.9", "GET", TREE "meta_data.json", NONE);
	expect("127.254.0.2", "GET", TREE "meta_data.json",
	       "200 {\"name\":\"web2\",\"uuid\":\"1-2\",\"os\":"
	       "\"noop+default\"}");
}

Test(metad, what_is_not_there_is_404)
{
	static const char *const paths_[] = {
		"/",
		"/ganeti",
		"/ganeti/latest",
		TREE,
		TREE "os",
		TREE "os/package",
		TREE "os/scripts/verify",
		TREE "os/scripts/ganeti_api_version",
		TREE "os/scripts/../ganeti_api_version",
		TREE "os/scripts/%2e%2e/x"};

	for (size_t i = 0; i < ARRAY_SIZE(paths_); i++)
		expect(WEB1, "GET", paths_[i], NONE);
}

Test(metad, scripts_of_its_os_are_sent)
{
	expect(WEB1, "GET", TREE "os/scripts/create_untrusted",
	       "200 create_untrusted");
	expect(WEB1, "GET", TREE "os/scripts/create", "200 create");
	expect(WEB1, "GET", TREE "os/scripts/import", "200 import");
}

Test(metad, methods_are_those_of_ganeti)
{
	expect(WEB1, "GET", TREE "read", "200 ");
	expect(WEB1, "POST", TREE "write", "200 ");
	expect(WEB1, "GET", TREE "write", "405 ");
	expect(WEB1, "POST", TREE "os/parameters.json", "405 ");
	expect(WEB1, "DELETE", TREE "read", "405 Use GET, POST or PUT\n");
}

Test(metad, a_package_that_everybody_may_read_is_sent)
{
	auto_free char *link = paths_local(node.root.paths, "/srv/link");
	auto_free char *file = paths_local(node.root.paths, "/srv/pkg");
	static const char *const bad[] = {
		"/srv/closed",	   "/srv/private/pkg", "/srv/link", "/srv",
		"/srv/../srv/pkg", "srv/pkg",	       ""};

	expect(WEB1, "GET", TREE "os/os-install-package", "200 PACKAGE");
	test_node_write(&node, "/srv/closed", "SECRET", 0640);
	test_node_write(&node, "/srv/private/pkg", "SECRET", 0644);
	*strrchr(file, '/') = '\0';
	cr_assert_eq(symlink("pkg", link), 0);
	link[strlen(link) - strlen("link")] = '\0';
	{
		auto_free char *folder = xprintf("%sprivate", link);

		cr_assert_eq(chmod(folder, 0700), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_json json_t *one = instance("web1", "169.254.0.1");

		json_set_str(json_object_get(one, "osparams"),
			     "os-install-package", bad[i]);
		cr_assert_eq(metad_know(&node.n.metad, one, &err), 0);
		expect(WEB1, "GET", TREE "os/os-install-package", NONE);
	}
}

Test(metad, secrets_go_and_stay_away)
{
	auto_json json_t *plain = instance("web1", "169.254.0.1");
	auto_free char *kept = NULL, *gone = NULL, *after = NULL;

	json_object_del(plain, "osparams_secret");
	metad_start(&node.n.metad, plain); /* the helper that installs it */
	kept = ask(WEB1, "GET", TREE "os/parameters.json");
	cr_expect_not_null(strstr(kept, "hunter2"));
	cr_assert_eq(metad_know(&node.n.metad, plain, &err), 0);
	gone = ask(WEB1, "GET", TREE "os/parameters.json");
	cr_expect_null(strstr(gone, "hunter2"));
	cr_expect_not_null(strstr(gone, "joe"));
	metad_start(&node.n.metad, plain);
	after = ask(WEB1, "GET", TREE "os/parameters.json");
	cr_expect_null(strstr(after, "hunter2"));
}

Test(metad, an_address_is_of_the_last_who_got_it)
{
	know("web2", "169.254.0.1");
	expect(WEB1, "GET", TREE "meta_data.json",
	       "200 {\"name\":\"web2\",\"uuid\":\"1-2\",\"os\":"
	       "\"noop+default\"}");
}

Test(metad, it_listens_only_while_somebody_is_known)
{
	auto_json json_t *mute = instance("web1", "169.254.0.1");

	expect(WEB1, "GET", TREE "read", "200 ");
	json_object_set_new(mute, "nics", json_array());
	cr_assert_eq(metad_know(&node.n.metad, mute, &err), 0);
	cr_expect_null(node.n.metad.server);
	expect(WEB1, "GET", TREE "read", "nobody listens");
	know("web1", "169.254.0.1");
	expect(WEB1, "GET", TREE "read", "200 ");
	metad_forget(&node.n.metad, "web1");
	metad_forget(&node.n.metad, "web1");
	expect(WEB1, "GET", TREE "read", "nobody listens");
}

Test(metad, one_that_cannot_listen_says_so)
{
	auto_json json_t *one = instance("web1", "169.254.0.1");

	metad_forget(&node.n.metad, "web1");
	node.n.metad.address = "nowhere";
	cr_expect_eq(metad_know(&node.n.metad, one, &err), -1);
	cr_expect_not_null(strstr(err.text, "nowhere"));
}

Test(metad, calls_feed_it)
{
	auto_json json_t *one = instance("web1", "169.254.0.1");

	metad_forget(&node.n.metad, "web1");
	json_decref(test_node_call(&node, "instance_metadata_modify",
				   json_make("[O]", one)));
	expect(WEB1, "GET", TREE "read", "200 ");
}
