/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a manual page about the keys that options take: of parameters
 * from lib/model/params.def (what they may be and are by default), of devices
 * from a table here, which has the texts of both. */
#include <stdio.h>
#include <string.h>

#include "cli/cli_opts.h"
#include "cli/completion.h"
#include "lib/base/roff.h"
#include "lib/base/str.h"
#include "lib/model/params_table.h"

struct key_text {
	const char *name, *text;
};

static const struct key_text backend[] = {
	{"minmem", "The memory that the instance is promised, in MiB or with a "
		   "unit; memory=SIZE sets both"},
	{"maxmem", "The memory that it starts with where there is room"},
	{"vcpus", "Its virtual CPUs"},
	{"auto_balance", "Whether tools that balance may move it"},
	{"always_failover", "Whether it is moved by stopping and starting it, "
			    "instead of migrating"},
	{"spindle_use", "How many spindles its disks keep busy"},
	{NULL, NULL},
};

static const struct key_text nic[] = {
	{"mode", "How the NIC is connected"},
	{"link", "The bridge, switch or routing table"},
	{"vlan", "The VLAN, of openvswitch: .N, or :N with trunks"},
	{NULL, NULL},
};

static const struct key_text node[] = {
	{"oob_program", "The program for power control"},
	{"spindle_count", "How many spindles the node's storage has"},
	{"exclusive_storage", "Whether a physical volume serves one disk only"},
	{"ovs", "Whether it uses Open vSwitch"},
	{"ovs_name", "The name of its switch"},
	{"ovs_link", "The interface that joins the switch"},
	{"ssh_port", "The port of its SSH daemon"},
	{"cpu_speed", "The speed of its CPUs, relative to others"},
	{NULL, NULL},
};

static const struct key_text disk[] = {
	{"size", "Its size, in MiB or with a unit (m, g, t)"},
	{"mode", "rw, or ro where the guest shall only read"},
	{"name", "A name by which modify knows it; none takes it away"},
	{"vg, metavg", "The volume groups, of plain and drbd"},
	{"adopt", "A volume or device that is there already"},
	{"access", "kernelspace or userspace, of external storage and rbd"},
	{"provider", "Whose external storage it is; other keys are for it"},
	{"spindles", "How many, where storage is exclusive"},
	{NULL, NULL},
};

static const struct key_text device[] = {
	{"mac", "Its MAC address, or auto or generate"},
	{"ip", "Its address, none, or pool for one of its network"},
	{"network", "The network that it is in, or none"},
	{"name", "A name by which modify knows it"},
	{NULL, NULL},
};

static const char *text_of(const struct key_text *texts, const char *name)
{
	for (; texts != NULL && texts->name != NULL; texts++)
		if (strcmp(texts->name, name) == 0)
			return texts->text;
	return NULL;
}

static const char *const type_words[] = {
	[PARAM_BOOL] = "yes or no", [PARAM_INT] = "a number",
	[PARAM_SIZE] = "a size",    [PARAM_FLOAT] = "a number",
	[PARAM_STRING] = "a text",  [PARAM_MAYBE] = "a text or none",
};

/* What it may be. */
static void print_range(const struct param *p)
{
	int first = 0;

	switch (p->check) {
	case CHECK_RANGE:
		first = (int)strcspn(p->arg, " ");
		printf("%.*s to ", first, p->arg);
		roff_text(p->arg + first + (p->arg[first] == ' '));
		break;
	case CHECK_IN:
	case CHECK_INT_IN:
	case CHECK_IN_OR_EMPTY:
		printf("one of ");
		roff_text(p->arg);
		break;
	default:
		printf("%s", type_words[p->type]);
	}
	printf("; ");
	if (*p->preset == '\0') {
		printf("empty at first");
	} else {
		roff_text(p->preset);
		printf(" at first");
	}
	printf(".\n");
}

static void print_params(enum param_family family, const char *name,
			 const struct key_text *texts)
{
	for (const struct param *p = params_table(family, name);
	     p->name != NULL; p++) {
		const char *text = text_of(texts, p->name);

		printf(".TP\n");
		roff_bold(p->name);
		printf("\n");
		if (text != NULL)
			roff_sentence(text);
		print_range(p);
	}
}

static void print_keys(const struct key_text *texts)
{
	for (; texts->name != NULL; texts++) {
		printf(".TP\n");
		roff_bold(texts->name);
		printf("\n");
		roff_sentence(texts->text);
	}
}

static bool has_option(const struct cli_tool *tool, const char *name)
{
	for (size_t c = 0; tool->commands[c] != NULL; c++)
		for (size_t i = 0; tool->commands[c]->options[i] != NULL; i++)
			if (strcmp(tool->commands[c]->options[i]->name, name) ==
			    0)
				return true;
	return false;
}

void manual_params(const struct cli_tool *tool)
{
	static const char *const hypervisors[] = {"kvm", "fake", "xen-pvm",
						  "xen-hvm", "lxc"};
	bool of_instances = has_option(tool, "backend-parameters");

	if (!of_instances && !has_option(tool, "node-parameters"))
		return;
	printf(".SH KEYS\n");
	if (of_instances) {
		printf(".SS Of backend parameters\n");
		print_params(FAMILY_OWN, "be", backend);
	}
	if (has_option(tool, "disk")) {
		printf(".SS Of disks\n");
		print_keys(disk);
		printf(".SS Of network interfaces\n");
		print_keys(device);
		print_params(FAMILY_OWN, "nic", nic);
	}
	if (has_option(tool, "node-parameters")) {
		printf(".SS Of node parameters\n");
		print_params(FAMILY_OWN, "nd", node);
	}
	for (size_t i = 0;
	     of_instances && i < sizeof(hypervisors) / sizeof(*hypervisors);
	     i++) {
		printf(".SS Of the hypervisor ");
		roff_text(hypervisors[i]);
		printf("\n");
		print_params(FAMILY_HV, hypervisors[i], NULL);
	}
}
