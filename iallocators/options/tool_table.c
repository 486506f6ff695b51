/* SPDX-License-Identifier: BSD-2-Clause */
/* A row says which programs have the option, the kind of its value and where in
 * struct tool_options that goes (AT).  FLAG, VALUE and NUMBER_OF fill several
 * columns at once.  Help and completion are made of the same rows. */
#include "iallocators/options/tool_table.h"

#include <string.h>

#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/model/kinds/template.h"

#define AT(member) offsetof(struct tool_options, member)
#define FLAG(member) KIND_NOTHING, 0, AT(member), NULL, NULL, NULL
#define VALUE(kind, member, arg, type)                                         \
	KIND_##kind, AT(member), 0, arg, type, NULL
#define NUMBER_OF(kind, member, arg, type, label)                              \
	KIND_##kind, AT(member), 0, arg, type, label

#define BALANCERS (HBAL | HCHECK)
#define ALL_BUT_HSQUEEZE (PLANNERS & ~HSQUEEZE)

const struct tool_option tool_table[] = {
	/* where the cluster comes from */
	{'t', "text-data", ALL_PROGRAMS, VALUE(TEXT, text_file, "FILE", "file"),
	 "read the cluster from this text FILE"},
	{'m', "master", ALL_BUT_HSQUEEZE,
	 VALUE(TEXT, rapi_address, "ADDRESS", "host"),
	 "ask the cluster at this ADDRESS over RAPI: a host, or a whole URL"},
	{'L', "luxi", PLANNERS, KIND_TEXT, AT(luxi_socket), AT(use_luxi),
	 "[SOCKET]", "file", NULL,
	 "ask the master on this node over LUXI, at its SOCKET"},
	{'I', "ialloc-src", ALL_BUT_HSQUEEZE,
	 VALUE(TEXT, request_file, "FILE", "file"),
	 "take the cluster from the request to an allocator in FILE"},
	{0, "simulate", HSPACE | HAIL, VALUE(ADD, simulate, "SPEC", "string"),
	 "an empty group 'policy,nodes,disk,memory,cpus[,spindles]'; once for "
	 "each group"},
	{'O', "offline", ALL_BUT_HSQUEEZE,
	 VALUE(ADD, offline, "NODE", "onenode"), "take NODE as offline"},
	{0, "static-kvm-node-memory", ALL_PROGRAMS & ~HCHECK,
	 NUMBER_OF(COUNT, kvm_node_memory, "N", "integer",
		   "static node memory"),
	 "nodes with KVM need N MiB for themselves; 0: what they report"},
	{'U', "dynu-file", BALANCERS, VALUE(TEXT, dynu_file, "FILE", "file"),
	 "read the load of instances from FILE: 'name cpu memory disk net'"},
	{0, "ignore-dynu", BALANCERS | HINFO | HAIL, FLAG(load.ignore_dynamic),
	 "all instances count as without load"},
	{0, "mond", HBAL | HINFO | HAIL,
	 VALUE(YES, mond, "[CHOICE]", "choices=yes,no"),
	 "use the CPU load that monitoring daemons report"},
	{0, "mond-data", HBAL | HINFO,
	 VALUE(TEXT, mond_options.file, "FILE", "file"),
	 "take their reports from FILE, instead of asking each node"},
	{0, "exit-on-missing-mond-data", HBAL, FLAG(mond_options.all_or_fail),
	 "give up when a node has no report, instead of doing without"},
	{0, "mond-xen", HBAL | HAIL, FLAG(mond_options.per_instance),
	 "use Xen's reports, which tell the load of each instance"},
	{0, "exclusion-tags", BALANCERS,
	 VALUE(LIST, exclusion_tags, "TAG,...", "string"),
	 "instances that share a tag with such a prefix exclude each other"},
	{0, "max-cpu", BALANCERS | HSPACE,
	 NUMBER_OF(POSITIVE, load.max_cpu_ratio, "RATIO", "float",
		   "parsing max-cpu"),
	 "so many virtual CPUs on a physical one, whatever the policy says"},
	{0, "min-disk", BALANCERS | HSPACE,
	 NUMBER_OF(NUMBER, load.min_disk_ratio, "RATIO", "float",
		   "min free disk space"),
	 "this share of a node's disk stays free (0 to 1)"},

	/* what to do with it */
	{'G', "group", HBAL | HROLLER, VALUE(TEXT, group, "ID", "onegroup"),
	 "only this node group (name or UUID)"},
	{'E', "evac-mode", BALANCERS, FLAG(evac_mode),
	 "only move instances off nodes that are offline or drained"},
	{0, "restricted-migration", HBAL, FLAG(restricted_migration),
	 "never replace the primary; with -E, migrate off drained nodes only"},
	{0, "no-disk-moves", BALANCERS, FLAG(no_disk_moves),
	 "copy no disks: fail over and migrate only"},
	{0, "no-instance-moves", BALANCERS, FLAG(no_instance_moves),
	 "leave primaries where they are: replace secondaries only"},
	{0, "ignore-soft-errors", BALANCERS | HAIL, FLAG(ignore_soft_errors),
	 "allow moves that break policies"},
	{0, "select-instances", BALANCERS,
	 VALUE(LIST, selected, "INSTS", "manyinstances"),
	 "move no other instances than these"},
	{0, "exclude-instances", BALANCERS,
	 VALUE(LIST, excluded, "INSTS", "manyinstances"),
	 "do not move these instances"},
	{'l', "max-length", BALANCERS | HSPACE,
	 NUMBER_OF(COUNT, max_length, "N", "integer", "max solution length"),
	 "at most N moves, or new instances"},
	{'e', "min-score", BALANCERS,
	 NUMBER_OF(NUMBER, min_score, "EPSILON", "float", "min score"),
	 "stop when the score is so close to the best possible one"},
	{'g', "min-gain", BALANCERS,
	 NUMBER_OF(NUMBER, min_gain, "DELTA", "float", "min gain"),
	 "stop when a move gains less than this"},
	{0, "min-gain-limit", BALANCERS,
	 NUMBER_OF(NUMBER, min_gain_limit, "SCORE", "float", "min gain limit"),
	 "look at the gain only when the score is below this"},
	{0, "move-cost", HBAL, KIND_POSITIVE, AT(move_cost), AT(use_move_cost),
	 "[PRICE]", "float", NULL,
	 "take from the gain of a move what it copies, at PRICE for a TiB "
	 "[0.1]: memory for a migration, divided by the nodes' cpu_speed; "
	 "disks for a replacement, divided by their spindle_count"},
	{0, "max-cost", HBAL, KIND_SIZE, AT(max_cost), AT(limit_cost), "SIZE",
	 "string", NULL,
	 "all moves together copy at most SIZE (500g), counted like that"},
	{0, "independent-groups", HSPACE, FLAG(independent_groups),
	 "a group in a bad state does not spoil the others"},
	{0, "accept-existing-errors", HSPACE, FLAG(accept_existing_errors),
	 "go on though nodes fail N+1 already"},
	{0, "no-capacity-checks", HSPACE | HCHECK | HAIL,
	 FLAG(no_capacity_checks),
	 "do not ask that each node can be evacuated"},
	{0, "disk-template", HSPACE,
	 VALUE(TEMPLATE, disk_template, "TEMPLATE", "choices="),
	 "count instances of this disk template"},
	{0, "spindle-use", HSPACE,
	 NUMBER_OF(NATURAL, spindle_use, "SPINDLES", "float",
		   "parsing spindle-use"),
	 "an instance uses so many spindles, whatever the policy says"},
	{0, "standard-alloc", HSPACE,
	 VALUE(TEXT, standard_alloc, "STDSPEC", "string"),
	 "count instances of this size: 'disk,memory,cpus[,spindles]'"},
	{0, "tiered-alloc", HSPACE,
	 VALUE(TEXT, tiered_alloc, "TSPEC", "string"),
	 "count instances that shrink from this size on"},
	{0, "restrict-allocation-to", HAIL, KIND_LIST, AT(restriction),
	 AT(has_restriction), "NODE,...", "manynodes", NULL,
	 "only these nodes for new instances"},
	{0, "dedicated-per-group", HAIL, FLAG(dedicated_per_group),
	 "groups with exclusive storage by lost allocations, whatever the "
	 "other groups have"},
	{0, "max-node-failures", HAIL | HBAL | HCHECK | HSPACE, KIND_NATURAL,
	 AT(max_node_failures), AT(has_max_node_failures), "N", "integer", NULL,
	 "each group must be able to lose N nodes, whatever its policy says"},
	{0, "protocol", HAIL, VALUE(PROTOCOL, protocol1, "1|2", "choices=1,2"),
	 "version of requests and answers, 2; those of version 1 (Ganeti 1.2) "
	 "have no groups and 'nodes' in place of 'result'"},
	{0, "no-simulation", HCHECK, FLAG(no_simulation),
	 "do not try whether balancing would help"},
	{'f', "force", HROLLER, FLAG(force), "go on without a master node"},
	{0, "node-tags", HROLLER, KIND_LIST, AT(node_tags), AT(has_node_tags),
	 "TAG,...", "string", NULL, "only nodes with one of these tags"},
	{0, "offline-maintenance", HROLLER, FLAG(offline_maintenance),
	 "all instances are stopped meanwhile"},
	{0, "full-evacuation", HROLLER, FLAG(full_evacuation),
	 "move secondaries off the nodes, too"},
	{0, "skip-non-redundant", HROLLER, FLAG(skip_non_redundant),
	 "leave out nodes with instances that have no secondary"},
	{0, "ignore-non-redundant", HROLLER, FLAG(ignore_non_redundant),
	 "find no places for instances that have no secondary"},
	{0, "minimal-resources", HSQUEEZE,
	 NUMBER_OF(NUMBER, minimal_resources, "FACTOR", "float",
		   "minimal resources"),
	 "with less room than for so many standard instances on a node, "
	 "switch nodes on"},
	{0, "target-resources", HSQUEEZE,
	 NUMBER_OF(NUMBER, target_resources, "FACTOR", "float",
		   "target resources"),
	 "room for so many stays when nodes are switched off"},

	/* do it */
	{'X', "exec", HBAL | HSQUEEZE, FLAG(execute),
	 "have the master do it (with -L)"},
	{0, "first-job-group", HBAL, FLAG(first_job_group),
	 "only the first set of jobs"},
	{0, "reason", HBAL, VALUE(TEXT, reason, "REASON", NULL),
	 "what the jobs give as their reason"},
	{0, "priority", HBAL,
	 VALUE(PRIORITY, priority, "PRIO", "choices=low,normal,high"),
	 "of the jobs: low, normal, high"},

	/* what to show */
	{'C', "print-commands", HBAL | HSQUEEZE, KIND_TEXT, AT(commands),
	 AT(print_commands), "[FILE]", NULL, NULL,
	 "print the commands to get there, or write them to FILE"},
	{'p', "print-nodes", HBAL | HSPACE | HINFO | HAIL, KIND_TEXT,
	 AT(node_fields), AT(print_nodes), "[FIELDS]", NULL, NULL,
	 "list nodes, before and after, with these FIELDS"},
	{0, "explain", HAIL,
	 VALUE(EXPLAIN, explain, "[FORM]", "choices=text,json"),
	 "why nodes were taken or refused, for each instance and group: text "
	 "on standard error, or json in the answer as 'explanation'"},
	{0, "explain-limit", HAIL, VALUE(SMALL, explain_limit, "N", "integer"),
	 "how many nodes or pairs of each kind are shown [20]"},
	{0, "print-instances", HBAL | HINFO, FLAG(print_instances),
	 "list instances"},
	{0, "print-moves", HROLLER, FLAG(print_moves),
	 "where instances go meanwhile"},
	{0, "one-step-only", HROLLER, FLAG(one_step_only),
	 "only the first group of nodes"},
	{0, "no-headers", HROLLER | HSQUEEZE, FLAG(no_headers),
	 "no line above lists"},
	{0, "machine-readable", HSPACE | HCHECK,
	 VALUE(YES, machine_readable, "[CHOICE]", "choices=yes,no"),
	 "KEY=value lines"},
	{0, "format", HSPACE,
	 VALUE(FORMAT, json, "FORMAT", "choices=text,json"),
	 "text, or the result as one object in json"},
	{'S', "save", HBAL | HSPACE | HROLLER | HSQUEEZE | HAIL,
	 VALUE(TEXT, save, "FILE", NULL),
	 "write the states of the cluster to FILE.original and so on"},
	{'v', "verbose", ALL_PROGRAMS, VALUE(MORE, verbose, NULL, NULL),
	 "say more"},
	{'q', "quiet", ALL_BUT_HSQUEEZE, VALUE(LESS, verbose, NULL, NULL),
	 "say less"},
	{'V', "version", ALL_PROGRAMS, KIND_VERSION, 0, 0, NULL, NULL, NULL,
	 "print the version"},
	{'h', "help", ALL_PROGRAMS, KIND_HELP, 0, 0, NULL, NULL, NULL,
	 "print this"},
	{0, "help-completion", ALL_PROGRAMS, KIND_COMPLETION, 0, 0, NULL, NULL,
	 NULL, "print the options for shells"},
};
const size_t tool_table_n = ARRAY_SIZE(tool_table);

const struct tool_program tool_programs[] = {
	{"hail", HAIL, "place instances: the default allocator"},
	{"hbal", HBAL, "balance a cluster: which instances to move"},
	{"hcheck", HCHECK,
	 "check a cluster, and whether balancing it would help"},
	{"hinfo", HINFO, "show a cluster's nodes, instances and scores"},
	{"hroller", HROLLER, "which nodes can be rebooted at the same time"},
	{"hspace", HSPACE, "how many more instances fit on a cluster"},
	{"hsqueeze", HSQUEEZE,
	 "which nodes can be switched off, or have to be switched on"},
};
const size_t tool_programs_n = ARRAY_SIZE(tool_programs);

unsigned tool_program(const char *name)
{
	for (size_t i = 0; i < tool_programs_n; i++)
		if (strcmp(tool_programs[i].name, name) == 0)
			return tool_programs[i].bit;
	return 0;
}

/* "-p[FIELDS]", "-t FILE", "-v" */
static void add_short(struct buf *b, const struct tool_option *o)
{
	if (o->letter == 0)
		return;
	buf_addf(b, "-%c", o->letter);
	if (o->arg != NULL)
		buf_addf(b, "%s%s", o->arg[0] == '[' ? "" : " ", o->arg);
}

/* "--print-nodes[=FIELDS]" */
static void add_long(struct buf *b, const struct tool_option *o)
{
	buf_addf(b, "--%s", o->name);
	if (o->arg != NULL && o->arg[0] == '[')
		buf_addf(b, "[=%s", o->arg + 1);
	else if (o->arg != NULL)
		buf_addf(b, "=%s", o->arg);
}

void tool_usage(FILE *f, const char *program)
{
	unsigned bit = tool_program(program);

	fprintf(f, "%s (gantry) " GANTRY_VERSION "\nUsage: %s [OPTION...]%s\n",
		program, program,
		bit == HAIL ? " FILE   (\"-\": standard input)" : "");
	for (size_t i = 0; i < tool_table_n; i++) {
		const struct tool_option *o = &tool_table[i];
		auto_buf struct buf brief = {0}, full = {0};

		if ((o->programs & bit) == 0)
			continue;
		add_short(&brief, o);
		add_long(&full, o);
		fprintf(f, "  %-10s  %-26s  %s\n",
			brief.len > 0 ? brief.data : "", full.data, o->help);
	}
}

char *tool_option_type(const struct tool_option *o)
{
	struct buf text = {0};

	buf_adds(&text, o->type == NULL ? "none" : o->type);
	for (int i = 0; o->kind == KIND_TEMPLATE && i < TEMPLATE_COUNT; i++)
		buf_addf(&text, "%s%s", i == 0 ? "" : ",",
			 template_table[i].name);
	return buf_steal(&text);
}

void tool_completion(const char *program)
{
	unsigned bit = tool_program(program);

	for (size_t i = 0; i < tool_table_n; i++) {
		const struct tool_option *o = &tool_table[i];
		auto_free char *type = tool_option_type(o);

		if ((o->programs & bit) == 0)
			continue;
		if (o->letter != 0)
			printf("-%c,", o->letter);
		printf("--%s %s\n", o->name, type);
	}
	if (bit == HAIL)
		printf("file 1 1\n");
}
