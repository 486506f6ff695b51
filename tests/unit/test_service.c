/* SPDX-License-Identifier: BSD-2-Clause */
/* Which units a machine has.  (What daemons tell the manager is in the test of
 * the daemon.) */
#include <criterion/criterion.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/event/service.h"

#define UNIT "gantry-watcher.service"

static void make_folder(const char *root, const char *name)
{
	auto_free char *folder = xprintf("%s%s", root, name);
	struct error err;

	cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0, "%s", err.text);
}

Test(service, a_unit_is_there_where_systemd_runs_and_has_it)
{
	char root[] = "/tmp/test_service.XXXXXX";
	auto_free char *file = NULL;
	struct error err;

	cr_assert_not_null(mkdtemp(root));
	make_folder(root, "/lib/systemd/system");
	file = xprintf("%s/lib/systemd/system/" UNIT, root);
	cr_assert_eq(fs_write_atomic(file, "", 0, 0644, &err), 0);
	cr_expect_not(service_has_unit(root, UNIT), "systemd does not run");
	make_folder(root, "/run/systemd/system");
	cr_expect(service_has_unit(root, UNIT));
	cr_expect_not(service_has_unit(root, "other.service"));
	fs_remove_tree(root, &err);
}
