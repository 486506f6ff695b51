/* SPDX-License-Identifier: BSD-2-Clause */
/* An image lent by stand-ins for QEMU's programs, as slow and as deaf as the
 * real ones may be. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "noded/impexp/lend.h"

static char *folder;

static void write_program(const char *name, const char *text)
{
	auto_free char *file = xprintf("%s/%s", folder, name);
	struct error err;

	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0755, &err), 0);
}

/* It is there before it listens, and what tells it to end too early is lost. */
static const char nbd[] = "#!/usr/bin/python3\n"
			  "import signal, socket, sys\n"
			  "signal.signal(signal.SIGTERM, lambda *_: None)\n"
			  "s = socket.socket(socket.AF_UNIX)\n"
			  "s.bind(sys.argv[sys.argv.index('--socket') + 1])\n"
			  "signal.sigtimedwait([signal.SIGUSR1], 0.3)\n"
			  "s.listen()\n"
			  "while True:\n"
			  "    s.accept()\n";

static const char daemon_program[] =
	"#!/usr/bin/python3\n"
	"import json, os, signal, socket, sys\n"
	"def word(name): return sys.argv[sys.argv.index(name) + 1]\n"
	"drive = json.loads(word('--blockdev'))\n"
	"s = socket.socket(socket.AF_UNIX)\n"
	"s.connect(drive['server']['path'])\n"
	"signal.signal(signal.SIGTERM, lambda *_: os._exit(0))\n"
	"open(word('--pidfile'), 'w').close()\n"
	"while True: signal.pause()\n";

static void setup(void)
{
	char template[] = "/tmp/gantry-lend-XXXXXX";
	auto_free char *path = NULL;

	folder = xstrdup(mkdtemp(template));
	path = xprintf("%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
	write_program("qemu-nbd", nbd);
	write_program("qemu-storage-daemon", daemon_program);
}

static void teardown(void)
{
	struct error err;

	fs_remove_tree(folder, &err);
	free(folder);
}

TestSuite(lend, .init = setup, .fini = teardown, .timeout = 30);

Test(lend, a_snapshot_is_shown_when_its_server_listens)
{
	auto_free char *at = xprintf("%s/raw", folder);
	struct lend l = {0};
	struct error err;

	cr_assert_eq(lend_begin("image", "old", false, at, &l, &err), 0, "%s",
		     err.text);
	cr_assert_eq(lend_end(&l, &err), 0, "%s", err.text);
	cr_assert_not(fs_exists(at));
}

/* Nobody waits for the server of a snapshot, which has nothing to write. */
Test(lend, one_that_cannot_be_shown_ends_at_once)
{
	auto_free char *at = xprintf("%s/raw", folder);
	struct lend l = {0};
	struct error err;

	write_program("qemu-storage-daemon",
		      "#!/bin/sh\necho no such thing >&2\nexit 1\n");
	cr_assert_lt(lend_begin("image", "old", false, at, &l, &err), 0);
	cr_assert(strstr(err.text, "no such thing") != NULL, "%s", err.text);
}

/* QEMU's daemon looks whether it was told to end, and then sleeps: what comes
 * in between it has noted, but sleeps on until something else wakes it. */
Test(lend, who_sleeps_on_is_told_to_end_again)
{
	auto_free char *at = xprintf("%s/raw", folder);
	struct lend l = {0};
	struct error err;

	write_program(
		"qemu-storage-daemon",
		"#!/usr/bin/python3\n"
		"import signal, sys\n"
		"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
		"at = sys.argv.index('--pidfile') + 1\n"
		"open(sys.argv[at], 'w').close()\n"
		"signal.sigwait([signal.SIGTERM])\n"
		"signal.sigwait([signal.SIGTERM])\n");
	cr_assert_eq(lend_begin("image", NULL, true, at, &l, &err), 0, "%s",
		     err.text);
	cr_assert_eq(lend_end(&l, &err), 0, "%s", err.text);
}
