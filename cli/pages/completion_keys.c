/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of completions about keys in the values of options, as in
 * "-H kvm:acpi=no,": a table of keys, which is a function with a case each, and
 * a function that takes apart what of the value is there. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_opts.h"
#include "cli/pages/completion.h"
#include "cli/values/key_texts.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

/* Kinds "of-..." have the name of a table and a colon in front. */
static const struct {
	const char *option;
	bool ident; /* with something in front of a colon */
	const char *kind;
} kinds[] = {
	{"backend-parameters", false, "be"},
	{"node-parameters", false, "nd"},
	{"nic-parameters", false, "nic"},
	{"hypervisor-parameters", false, "hv"},
	{"hypervisor-parameters", true, "of-hv"},
	{"hypervisor-defaults", true, "of-hv"},
	{"disk-parameters", true, "of-template"},
	{"disk", true, "disk"},
	{"net", true, "net"},
};

const char *completion_key_kind(const struct opt *o)
{
	bool ident = o->kind == KIND_IDENT_KEYVAL;

	if (!ident && o->kind != KIND_KEYVAL)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].ident == ident &&
		    strcmp(kinds[i].option, o->name) == 0)
			return kinds[i].kind;
	return NULL;
}

/* How a shell writes the cases of the table. */
struct syntax {
	const char *begin, *middle, *end;
};

static void print_params(enum param_family family, const char *name)
{
	for (const struct param *p = params_table(family, name);
	     p->name != NULL; p++)
		printf(" %s=", p->name);
}

static void print_own(const struct syntax *s, const char *name)
{
	printf("%s%s%s", s->begin, name, s->middle);
	/* The command line takes it for minmem and maxmem. */
	if (strcmp(name, "be") == 0)
		printf(" memory=");
	print_params(FAMILY_OWN, name);
	printf("%s", s->end);
}

static void print_family(const struct syntax *s, enum param_family family,
			 const char *kind, const char *const *names)
{
	printf("%s%s%s", s->begin, kind, s->middle);
	for (size_t i = 0; names[i] != NULL; i++)
		printf(" %s:", names[i]);
	printf("%s", s->end);
	for (size_t i = 0; names[i] != NULL; i++) {
		if (params_table(family, names[i])->name == NULL)
			continue;
		printf("%s%s:%s%s", s->begin, kind, names[i], s->middle);
		print_params(family, names[i]);
		printf("%s", s->end);
	}
}

static void print_device(const struct syntax *s, const char *kind,
			 const struct key_text *keys, const char *params)
{
	printf("%s%s%s 0: add:%s%s%s:keys%s", s->begin, kind, s->middle, s->end,
	       s->begin, kind, s->middle);
	for (; keys->name != NULL; keys++)
		printf(" %s=", keys->name);
	if (params != NULL)
		print_params(FAMILY_OWN, params);
	printf("%s", s->end);
}

static void print_table(const struct syntax *s)
{
	auto_strv struct strv names = {0};

	print_own(s, "be");
	print_own(s, "nd");
	print_own(s, "nic");
	params_hv_names(&names);
	printf("%shv%s", s->begin, s->middle);
	for (size_t i = 0; i < names.n; i++)
		printf(" %s=", names.items[i]);
	printf("%s", s->end);
	print_family(s, FAMILY_HV, "of-hv", hypervisor_names);
	print_family(s, FAMILY_DISK, "of-template", template_names);
	print_device(s, "disk", key_texts_disk, NULL);
	print_device(s, "net", key_texts_nic, "nic");
}

void completion_keys_posix(void)
{
	static const struct syntax syntax = {"    ", ") printf '%s\\n'",
					     " ;;\n"};

	printf("_gnt_table() { # KIND[:TABLE]: keys\n    case $1 in\n");
	print_table(&syntax);
	printf("    esac\n}\n\n"
	       "_gnt_ahead() { # TEXT: lines, with the text in front\n"
	       "    local line\n"
	       "    while read -r line; do\n"
	       "        printf '%%s%%s\\n' \"$1\" \"$line\"\n"
	       "    done\n"
	       "}\n\n"
	       "_gnt_keys() { # KIND CURRENT: what may follow in a value\n"
	       "    local body=$2 table=$1\n"
	       "    case $1:$2 in\n"
	       "    of-*:*:*) body=${2#*:} table=$1:${2%%%%:*} ;;\n"
	       "    disk:*:*|net:*:*) body=${2#*:} table=$1:keys ;;\n"
	       "    esac\n"
	       "    _gnt_table \"$table\" | "
	       "_gnt_ahead \"${2%%\"${body##*,}\"}\"\n"
	       "}\n\n");
}

void completion_keys_fish(void)
{
	static const struct syntax syntax = {
		"        case ", "\n            printf '%s\\n'", "\n"};

	printf("function _gnt_table\n    switch $argv[1]\n");
	print_table(&syntax);
	printf("    end\nend\n\n"
	       "# The value that is completed, without its option.\n"
	       "function _gnt_value\n"
	       "    string replace -r -- '^--[a-z-]*=' '' "
	       "(commandline -ct)\n"
	       "end\n\n"
	       "# _gnt_ahead TAIL VALUE WORD...: the words, with what stands "
	       "before the tail\n"
	       "function _gnt_ahead\n"
	       "    set -l head (string sub -l (math (string length -- "
	       "\"$argv[2]\") - (string length -- \"$argv[1]\")) -- "
	       "\"$argv[2]\")\n"
	       "    for word in $argv[3..-1]\n"
	       "        echo \"$head$word\"\n"
	       "    end\n"
	       "end\n\n"
	       "function _gnt_keys\n"
	       "    set -l value (_gnt_value)\n"
	       "    set -l body \"$value\"\n"
	       "    set -l table $argv[1]\n"
	       "    switch \"$table:$value\"\n"
	       "        case 'of-*:*:*'\n"
	       "            set table $table:(string replace -r -- ':.*' '' "
	       "\"$value\")\n"
	       "            set body (string replace -r -- '^[^:]*:' '' "
	       "\"$value\")\n"
	       "        case 'disk:*:*' 'net:*:*'\n"
	       "            set table $table:keys\n"
	       "            set body (string replace -r -- '^[^:]*:' '' "
	       "\"$value\")\n"
	       "    end\n"
	       "    _gnt_ahead (string replace -r -- '.*,' '' \"$body\") "
	       "\"$value\" (_gnt_table $table)\n"
	       "end\n\n"
	       "function _gnt_fields\n"
	       "    set -l value (_gnt_value)\n"
	       "    _gnt_ahead (string replace -r -- '.*[,+]' '' \"$value\") "
	       "\"$value\" (_gnt_names fields $argv[1])\n"
	       "end\n\n");
}
