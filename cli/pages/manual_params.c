/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a manual page about the keys that options take: of parameters
 * from lib/model/params/params.def (what they may be and are by default), with
 * what they mean from key_texts.def. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/pages/completion.h"
#include "cli/values/key_texts.h"
#include "lib/base/array.h"
#include "lib/base/roff.h"
#include "lib/base/str.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

static const char *const type_words[] = {
	[PARAM_BOOL] = "yes or no", [PARAM_INT] = "a number",
	[PARAM_SIZE] = "a size",    [PARAM_FLOAT] = "a number",
	[PARAM_STRING] = "a text",  [PARAM_MAYBE] = "a text or none",
};

/* What it may be. */
static void print_range(const struct param *p)
{
	int first = 0;

	printf("Values: ");
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
	case CHECK_LIST_OF:
		printf("some of ");
		roff_text(p->arg);
		printf(", with : between");
		break;
	default:
		printf("%s", type_words[p->type]);
	}
	printf("; ");
	if (p->preset == NULL) {
		printf("not set at first");
	} else if (*p->preset == '\0') {
		printf("empty at first");
	} else {
		roff_text(p->preset);
		printf(" at first");
	}
	printf(".\n");
}

static void print_params(enum param_family family, const char *name)
{
	for (const struct param *p = params_table(family, name);
	     p->name != NULL; p++) {
		const char *text = key_text(family, name, p->name);

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

static void print_of_hypervisors(void)
{
	for (const char *const *h = hypervisor_names; *h != NULL; h++) {
		printf(".SS Of the hypervisor ");
		roff_text(*h);
		printf("\n");
		print_params(FAMILY_HV, *h);
	}
}

static void print_of_templates(void)
{
	for (const char *const *t = template_names; *t != NULL; t++) {
		if (params_table(FAMILY_DISK, *t)->name == NULL)
			continue;
		printf(".SS Of disk parameters of ");
		roff_text(*t);
		printf("\n");
		print_params(FAMILY_DISK, *t);
	}
}

static void print_of_devices(void)
{
	printf(".SS Of disks\n");
	print_keys(key_texts_disk);
	printf(".SS Of network interfaces\n");
	print_keys(key_texts_nic);
	print_params(FAMILY_OWN, "nic");
}

static void print_of_instances(void)
{
	printf(".SS Of backend parameters\n");
	print_params(FAMILY_OWN, "be");
}

static void print_of_nodes(void)
{
	printf(".SS Of node parameters\n");
	print_params(FAMILY_OWN, "nd");
}

static void print_of_nics(void)
{
	printf(".SS Of NIC parameters\n");
	print_params(FAMILY_OWN, "nic");
}

void manual_params(const struct cli_tool *tool)
{
	static const struct {
		const char *option;
		void (*print)(void);
	} sections[] = {
		{"backend-parameters", print_of_instances},
		{"disk", print_of_devices},
		{"nic-parameters", print_of_nics},
		{"node-parameters", print_of_nodes},
		{"disk-parameters", print_of_templates},
		{"hypervisor-parameters", print_of_hypervisors},
	};
	bool first = true;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (!has_option(tool, sections[i].option))
			continue;
		if (first)
			printf(".SH KEYS\n");
		first = false;
		sections[i].print();
	}
}
