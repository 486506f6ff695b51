/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-network info. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define MAP_WIDTH 64
#define RESERVED_WIDTH 64

/* The fields queried, in this order. */
enum {
	NAME,
	SUBNET,
	GATEWAY,
	SUBNET6,
	GATEWAY6,
	PREFIX,
	FREE,
	RESERVED,
	MAP,
	GROUPS,
	INSTANCES,
	EXTERNAL,
	SERIAL,
	UUID,
	FIELDS
};

static const char *const fields[FIELDS] = {
	"name",	     "network",	   "gateway",	 "network6",
	"gateway6",  "mac_prefix", "free_count", "reserved_count",
	"map",	     "group_list", "inst_list",	 "external_reservations",
	"serial_no", "uuid"};

static const char *text_at(const json_t *row, size_t i)
{
	const char *text = json_string_value(json_array_get(row, i));

	return text == NULL ? "" : text;
}

static void print_line(const char *title, const json_t *value)
{
	auto_free char *text = cli_str(value);

	printf("  %s: %s\n", title, text);
}

static void print_map(const char *map)
{
	size_t size = strlen(map);

	printf("  Usage map:\n");
	for (size_t at = 0; at < size; at += MAP_WIDTH) {
		size_t n = size - at < MAP_WIDTH ? size - at : MAP_WIDTH;

		/* The last line is filled up, as in Ganeti's. */
		printf("     %4zu %-*.*s %zu\n", at, MAP_WIDTH, (int)n,
		       map + at, at + MAP_WIDTH - 1);
	}
	printf("         (X) used    (.) free\n");
}

/* As many of the words on each line as it has room for. */
static void print_reserved(const char *text)
{
	auto_strv struct strv words = {0};
	size_t used = 0;

	printf("  externally reserved IPs:");
	str_split(&words, text, ' ');
	for (size_t i = 0; i < words.n; i++) {
		size_t len = strlen(words.items[i]);
		bool fits = used > 0 && used + 1 + len <= RESERVED_WIDTH;

		printf("%s%s", fits ? " " : "\n    ", words.items[i]);
		used = fits ? used + 1 + len : len;
	}
	printf("\n");
}

static void print_groups(const json_t *groups)
{
	const json_t *group;
	size_t i;

	if (json_array_size(groups) == 0) {
		printf("  not connected to any node group\n");
		return;
	}
	printf("  connected to node groups:\n");
	json_array_foreach (groups, i, group)
		printf("    %s (mode:%s link:%s vlan:%s)\n", text_at(group, 0),
		       text_at(group, 1), text_at(group, 2), text_at(group, 3));
}

/* "0:192.0.2.2, 1:192.0.2.3": the NICs that are in the network. */
static char *nics_text(const json_t *row, const char *uuid)
{
	const json_t *ips = json_array_get(row, 0);
	const json_t *networks = json_array_get(row, 1), *network;
	auto_strv struct strv parts = {0};
	size_t i;

	json_array_foreach (networks, i, network) {
		auto_free char *ip = NULL;

		if (!str_eq(json_string_value(network), uuid))
			continue;
		ip = cli_str(json_array_get(ips, i));
		strv_addf(&parts, "%zu:%s", i, ip);
	}
	return strv_join(&parts, ", ");
}

static int print_instances(struct cli *cli, const json_t *names,
			   const char *uuid, struct error *err)
{
	json_t *name;
	size_t i;

	if (json_array_size(names) == 0) {
		printf("  not used by any instances\n");
		return 0;
	}
	printf("  used by %zu instances:\n", json_array_size(names));
	json_array_foreach (names, i, name) {
		auto_json json_t *rows =
			cli_call(cli, "QueryInstances",
				 json_make("[[O], [s, s], b]", name, "nic.ips",
					   "nic.networks", 0),
				 err);
		auto_free char *nics = NULL;

		if (rows == NULL)
			return -1;
		nics = nics_text(json_array_get(rows, 0), uuid);
		printf("    %s: %s\n", text_at(names, i), nics);
	}
	return 0;
}

static int print_network(struct cli *cli, const json_t *row, struct error *err)
{
	const char *map = text_at(row, MAP), *uuid = text_at(row, UUID);
	double size = (double)strlen(map);
	double unused = json_number_value(json_array_get(row, FREE));

	printf("Network name: %s\nUUID: %s\n", text_at(row, NAME), uuid);
	printf("Serial number: %jd\n",
	       (intmax_t)json_integer_value(json_array_get(row, SERIAL)));
	print_line("Subnet", json_array_get(row, SUBNET));
	print_line("Gateway", json_array_get(row, GATEWAY));
	print_line("IPv6 Subnet", json_array_get(row, SUBNET6));
	print_line("IPv6 Gateway", json_array_get(row, GATEWAY6));
	print_line("Mac Prefix", json_array_get(row, PREFIX));
	printf("  Size: %.0f\n", size);
	printf("  Free: %.0f (%.2f%%)\n", unused,
	       size > 0 ? 100 * unused / size : 0);
	print_map(map);
	if (*text_at(row, EXTERNAL) != '\0')
		print_reserved(text_at(row, EXTERNAL));
	print_groups(json_array_get(row, GROUPS));
	if (print_instances(cli, json_array_get(row, INSTANCES), uuid, err) < 0)
		return -1;
	return 0;
}

static int info(struct cli *cli, struct error *err)
{
	json_t *names = cli_args(cli, 0), *wanted = json_array();
	auto_json json_t *rows = NULL;
	const json_t *row;
	size_t i;

	for (i = 0; i < FIELDS; i++)
		json_array_append_new(wanted, json_string(fields[i]));
	rows = cli_call(cli, "QueryNetworks",
			json_make("[o, o, b]", names, wanted, 0), err);
	if (rows == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		auto_json json_t *objects = cli_objects(rows, fields, FIELDS);

		cli_print_data(cli, objects);
		return CLI_OK;
	}
	json_array_foreach (rows, i, row)
		if (print_network(cli, row, err) < 0)
			return -1;
	return CLI_OK;
}

const struct cli_command network_info = {
	.name = "info",
	.args = "[<network-name>...]",
	.help = "Show all about networks",
	.max_args = -1,
	.options = {OPTS_INFO},
	.run = info,
};
