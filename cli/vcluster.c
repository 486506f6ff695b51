/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of gnt-vcluster. */
#include "cli/vcluster.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bootstrap.h"
#include "cli/run.h"
#include "gantry-config.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define NODES_DEFAULT 3

enum { EXIT_USAGE = 2 };

static const char help_text[] =
	"Usage: gnt-vcluster COMMAND DIR ...\n"
	"\n"
	"Clusters of several nodes on this machine, each node a folder below "
	"DIR with\n"
	"daemons of its own on a loopback address.\n"
	"\n"
	"  create DIR [--nodes N] [--hypervisor fake|kvm] [--base-ip "
	"127.1.0.0]\n"
	"      Make a cluster of N nodes (3) and start it.\n"
	"  env DIR NODE\n"
	"      Print the lines that make commands work on NODE:\n"
	"      eval \"$(gnt-vcluster env DIR node1)\"\n"
	"  exec DIR NODE -- COMMAND...\n"
	"      Run COMMAND with that environment.\n"
	"  list DIR [--format table|json]\n"
	"      Show the nodes.\n"
	"  start|stop|kill DIR [NODE [masterd|noded]]\n"
	"      Start or end the daemons of all nodes, or of one (kill: at "
	"once, "
	"with\n"
	"      SIGKILL).  The master daemon is started where the master is.\n"
	"  destroy DIR\n"
	"      End everything and remove DIR.\n";

/* --- options --- */

struct arguments {
	struct vcluster_options options;
	bool json;
	char **words;
	int n;
};

static int read_nodes(const char *text, size_t *ret, struct error *err)
{
	int64_t n;

	if (!str_to_int64(text, &n) || n < 1 || n > VCLUSTER_NODES_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--nodes takes a number from 1 to %d, not "
				 "'%s'",
				 VCLUSTER_NODES_MAX, text);
	*ret = (size_t)n;
	return 0;
}

static int read_option(struct arguments *a, int c, struct error *err)
{
	switch (c) {
	case 'n':
		return read_nodes(optarg, &a->options.n_nodes, err);
	case 'H':
		a->options.hypervisor = optarg;
		if (strcmp(optarg, "fake") == 0 || strcmp(optarg, "kvm") == 0)
			return 0;
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--hypervisor is fake or kvm, not '%s'",
				 optarg);
	case 'b':
		a->options.base_ip = optarg;
		return 0;
	case 'f':
		a->json = strcmp(optarg, "json") == 0;
		if (a->json || strcmp(optarg, "table") == 0)
			return 0;
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--format is table or json, not '%s'", optarg);
	default:
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "see gnt-vcluster --help");
	}
}

static int read_arguments(int argc, char **argv, struct arguments *a,
			  struct error *err)
{
	static const struct option options[] = {
		{"nodes", required_argument, NULL, 'n'},
		{"hypervisor", required_argument, NULL, 'H'},
		{"base-ip", required_argument, NULL, 'b'},
		{"format", required_argument, NULL, 'f'},
		{0},
	};
	int c;

	a->options.n_nodes = NODES_DEFAULT;
	a->options.hypervisor = "fake";
	optind = 1;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (read_option(a, c, err) < 0)
			return -1;
	a->words = argv + optind;
	a->n = argc - optind;
	return 0;
}

/* --- commands --- */

/* The folder of our programs, to be freed. */
static char *own_folder(void)
{
	auto_free char *program = run_find("gantry-noded");
	char *slash = strrchr(program, '/');
	auto_free char *folder =
		slash == NULL ? xstrdup(GANTRY_BINDIR)
			      : xstrndup(program, (size_t)(slash - program));
	char *real = realpath(folder, NULL);

	return real == NULL ? steal(&folder) : real;
}

static int do_create(struct arguments *a, struct error *err)
{
	int64_t begin = clock_mono_us();

	a->options.dir = a->words[0];
	if (vcluster_create(&a->options, err) < 0)
		return -1;
	printf("Virtual cluster of %zu node%s is ready in %s (%.1f s)\n",
	       a->options.n_nodes, a->options.n_nodes == 1 ? "" : "s",
	       a->words[0], (double)(clock_mono_us() - begin) / 1e6);
	printf("Use it with: eval \"$(gnt-vcluster env %s node1)\"\n",
	       a->words[0]);
	return 0;
}

/* Print s so that a shell reads it as one word. */
static void print_quoted(const char *s)
{
	putchar('\'');
	for (; *s != '\0'; s++)
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	putchar('\'');
}

static int do_env(struct vcluster *v, struct arguments *a, struct error *err)
{
	const struct vcluster_node *node = vcluster_node(v, a->words[1], err);
	auto_free char *folder = own_folder();

	if (node == NULL)
		return -1;
	printf("export GANETI_ROOTDIR=");
	print_quoted(node->paths->root);
	printf("\nexport GANETI_HOSTNAME=");
	print_quoted(node->name);
	printf("\nexport PATH=");
	print_quoted(folder);
	printf(":\"$PATH\"\n");
	return 0;
}

static int do_exec(struct vcluster *v, struct arguments *a, struct error *err)
{
	const struct vcluster_node *node = vcluster_node(v, a->words[1], err);
	auto_free char *folder = own_folder();
	const char *old = getenv("PATH");
	auto_free char *search =
		xprintf("%s:%s", folder, old == NULL ? "/usr/bin:/bin" : old);

	if (node == NULL)
		return -1;
	setenv("GANETI_ROOTDIR", node->paths->root, 1);
	setenv("GANETI_HOSTNAME", node->name, 1);
	setenv("PATH", search, 1);
	execvp(a->words[2], a->words + 2);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot run %s: %m",
			 a->words[2]);
}

static void list_json(struct vcluster *v, const struct vcluster_node *master)
{
	auto_json json_t *nodes = json_array();
	auto_json json_t *all = NULL;
	auto_free char *text = NULL;

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(nodes,
				      json_make("{s:s, s:s, s:s, s:b}", "name",
						v->nodes[i].name, "root",
						v->nodes[i].paths->root, "ip",
						v->nodes[i].ip, "master",
						&v->nodes[i] == master));
	all = json_make("{s:O}", "nodes", nodes);
	text = json_text(all);
	puts(text);
}

static int do_list(struct vcluster *v, struct arguments *a, struct error *err)
{
	const struct vcluster_node *master = vcluster_master(v);

	(void)err;
	if (a->json) {
		list_json(v, master);
		return 0;
	}
	printf("%-24s %-15s %-6s %-7s %-7s %s\n", "Node", "IP", "Master",
	       "masterd", "noded", "Root");
	for (size_t i = 0; i < v->n; i++) {
		const struct vcluster_node *n = &v->nodes[i];

		printf("%-24s %-15s %-6s %-7s %-7s %s\n", n->name, n->ip,
		       n == master ? "Y" : "N",
		       bootstrap_pid(n->paths, DAEMON_MASTERD) ? "up" : "-",
		       bootstrap_pid(n->paths, DAEMON_NODED) ? "up" : "-",
		       n->paths->root);
	}
	return 0;
}

static int do_start(struct vcluster *v, struct arguments *a, struct error *err)
{
	return vcluster_start(v, a->words + 1, a->n - 1, err);
}

static int do_stop(struct vcluster *v, struct arguments *a, struct error *err)
{
	return vcluster_stop(v, a->words + 1, a->n - 1, false, err);
}

static int do_kill(struct vcluster *v, struct arguments *a, struct error *err)
{
	return vcluster_stop(v, a->words + 1, a->n - 1, true, err);
}

static int do_destroy(struct vcluster *v, struct arguments *a,
		      struct error *err)
{
	(void)a;
	return vcluster_destroy(v, err);
}

static const struct command {
	const char *name;
	int min_words, max_words; /* DIR counts */
	int (*run)(struct vcluster *v, struct arguments *a, struct error *err);
} commands[] = {
	{"env", 2, 2, do_env},	       {"exec", 3, 1000, do_exec},
	{"list", 1, 1, do_list},       {"start", 1, 3, do_start},
	{"stop", 1, 3, do_stop},       {"kill", 1, 3, do_kill},
	{"destroy", 1, 1, do_destroy},
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int run_command(const struct command *c, struct arguments *a,
		       struct error *err)
{
	struct vcluster *v;
	int rc;

	if (a->n < c->min_words || a->n > c->max_words)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s: wrong number of arguments, see "
				 "gnt-vcluster --help",
				 c->name);
	v = vcluster_load(a->words[0], err);
	if (v == NULL)
		return -1;
	rc = c->run(v, a, err);
	vcluster_free(v);
	return rc;
}

static bool is_help(const char *word)
{
	return str_eq(word, "--help") || str_eq(word, "-h");
}

int vcluster_main(int argc, char **argv)
{
	const struct command *c;
	struct arguments a = {0};
	struct error err;
	int rc;

	if (argc < 2 || is_help(argv[1]) || (argc == 3 && is_help(argv[2]))) {
		fputs(help_text, argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_SUCCESS;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("gnt-vcluster (gantry) %s\n", GANTRY_VERSION);
		return EXIT_SUCCESS;
	}
	c = find_command(argv[1]);
	if (c == NULL && strcmp(argv[1], "create") != 0) {
		fprintf(stderr,
			"gnt-vcluster: unknown command '%s', see gnt-vcluster "
			"--help\n",
			argv[1]);
		return EXIT_USAGE;
	}
	rc = read_arguments(argc - 1, argv + 1, &a, &err);
	if (rc == 0 && c == NULL && a.n != 1)
		rc = error_set(&err, ERR_PREREQ, ECODE_INVAL,
			       "create takes one folder");
	if (rc == 0)
		rc = c == NULL ? do_create(&a, &err) : run_command(c, &a, &err);
	if (rc < 0)
		fprintf(stderr, "gnt-vcluster: %s\n", err.text);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
