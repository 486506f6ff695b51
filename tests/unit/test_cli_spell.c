/* SPDX-License-Identifier: BSD-2-Clause */
/* Options in the words of the design documents, and what commands see. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/frame/cli.h"
#include "cli/frame/cli_opts.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static const struct cli_command add = {
	.name = "add",
	.options = {&OPT_DISK, &OPT_NET, &OPT_HYPERVISOR, &OPT_CDROM,
		    &OPT_OS_SIZE, &OPT_DISK_TEMPLATE},
};
static const struct cli_command modify = {
	.name = "modify",
	.options = {&OPT_DISK, &OPT_HVPARAMS, &OPT_CDROM},
};
static const struct cli_command init = {
	.name = "init",
	.options = {&OPT_HVLIST, &OPT_HV_DEFAULTS, &OPT_DEFAULTS,
		    &OPT_ENABLED_HV, &OPT_NICPARAMS, &OPT_IPOLICY_STD},
};

static struct error err;

/* What the options of the line are in the end; NULL with err. */
static json_t *spelled(const struct cli_command *command, const char *line)
{
	struct cli run = {.command = command};
	auto_strv struct strv words = {0};
	int rc;

	str_split(&words, line, ' ');
	cr_assert_eq(cli_parse(&run, (int)words.n, words.items, &err), 0, "%s",
		     err.text);
	rc = cli_spell(&run, &err);
	if (rc == 0)
		return run.values;
	json_decref(run.values);
	return NULL;
}

static void same(const struct cli_command *command, const char *line,
		 const char *wanted)
{
	auto_json json_t *got = spelled(command, line);
	auto_json json_t *want = spelled(command, wanted);

	cr_assert_not_null(got, "%s: %s", line, err.text);
	json_object_del(got, "cdrom");
	json_object_del(got, "defaults");
	json_object_del(got, "hypervisor-defaults");
	cr_expect(json_equal(got, want), "%s", line);
}

static void refused(const struct cli_command *command, const char *line,
		    const char *why)
{
	auto_json json_t *got = spelled(command, line);

	cr_expect_null(got, "%s", line);
	cr_expect_not_null(strstr(err.text, why), "%s", err.text);
}

Test(cli_spell, devices)
{
	same(&add, "add --disk 0:size=1g,mode=r",
	     "add --disk 0:size=1g,mode=ro");
	same(&add, "add --disk 0:mode=w", "add --disk 0:mode=rw");
	same(&modify, "modify --disk 2:access=r", "modify --disk 2:mode=ro");
	same(&modify, "modify --disk 2:access=userspace",
	     "modify --disk 2:access=userspace");
	same(&add, "add -t file --disk 0:path=/a/b",
	     "add -t file --disk 0:adopt=/a/b");
	same(&add, "add -t ext --disk 0:path=/a/b",
	     "add -t ext --disk 0:path=/a/b");
	same(&add, "add --net 0:mac=auto,bridge=auto", "add --net 0:mac=auto");
	same(&add, "add --net 0:bridge=br1", "add --net 0:bridge=br1");
}

Test(cli_spell, cdroms)
{
	same(&modify, "modify -H cdrom=/a.iso,boot_order=cdrom:network",
	     "modify -H cdrom_image_path=/a.iso,boot_order=cdrom:network");
	same(&add, "add -H kvm:cdrom=/a.iso",
	     "add -H kvm:cdrom_image_path=/a.iso");
	same(&add, "add -H kvm:acpi=no --cdrom 0:path=/a --cdrom 1:path=/b",
	     "add -H kvm:acpi=no,cdrom_image_path=/a,cdrom2_image_path=/b");
	same(&modify, "modify --cdrom 0:remove", "modify -H cdrom_image_path=");
	refused(&modify, "modify --cdrom 2:path=/a", "N 0 or 1");
	refused(&modify, "modify --cdrom 0:size=1", "N:path=FILE");
	refused(&modify, "modify --cdrom 0:path=/a,remove", "N:path=FILE");
	refused(&modify, "modify -H cdrom=/a,cdrom_image_path=/b", "the same");
}

/* Without a hypervisor the default one gets the parameters. */
Test(cli_spell, a_cdrom_needs_no_hypervisor)
{
	auto_json json_t *got = spelled(&add, "add --cdrom 0:path=/a");
	auto_free char *text =
		json_text(json_object_get(got, "hypervisor-parameters"));

	cr_assert_str_eq(text, "[null,{\"cdrom_image_path\":\"/a\"}]");
}

Test(cli_spell, defaults_of_the_cluster)
{
	same(&init, "init --defaults disksize=5g,bridge=br7",
	     "init --ipolicy-std-specs disk-size=5g --nic-parameters link=br7");
	same(&init, "init --defaults hypervisor=kvm",
	     "init --enabled-hypervisors kvm");
	same(&init,
	     "init --enabled-hypervisors fake,kvm --defaults hypervisor=kvm",
	     "init --enabled-hypervisors kvm,fake");
	same(&init,
	     "init -H kvm:acpi=no --hypervisor-defaults "
	     "fake:migration_mode=live",
	     "init -H kvm:acpi=no -H fake:migration_mode=live");
	same(&init, "init --hypervisor-defaults kvm:cdrom=/a",
	     "init -H kvm:cdrom_image_path=/a");
	refused(&init,
		"init --enabled-hypervisors fake --defaults hypervisor=kvm",
		"not enabled");
	refused(&init, "init --defaults colour=red", "not 'colour'");
	refused(&init, "init --defaults bridge", "bridge wants a value");
}
