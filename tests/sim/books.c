/* SPDX-License-Identifier: BSD-2-Clause */
/* What instances have booked, summed anew from the objects (not by
 * masterd/resources/resources, which is what is tested). */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "masterd/config/config.h"
#include "masterd/config/reserve.h"
#include "masterd/resources/resources.h"
#include "tests/sim/schedules.h"

#define META_MIB 128

struct books {
	const struct config *c;
	struct table seen; /* what is booked: "MAC aa:..." */
	json_t *sums;	   /* {node UUID + what: MiB} */
	int64_t shared;	   /* MiB of storage that all nodes share */
	struct strv *problems;
};

/* --- once each --- */

static void once(struct books *b, const char *what, const char *value)
{
	auto_free char *key = xprintf("%s %s", what, value);

	if (*value != '\0' && table_put(&b->seen, key, b) != NULL)
		strv_addf(b->problems, "%s is booked twice", key);
}

static void once_number(struct books *b, const char *what, const json_t *value)
{
	auto_free char *text =
		xprintf("%jd", (intmax_t)json_integer_value(value));

	if (json_is_integer(value))
		once(b, what, text);
}

/* --- sums --- */

static void add(struct books *b, const char *node, const char *what,
		int64_t mib)
{
	auto_free char *key = xprintf("%s %s", node, what);

	json_set_int(b->sums, key, json_int(b->sums, key, 0) + mib);
}

static int64_t sum(const struct books *b, const char *node, const char *what)
{
	auto_free char *key = xprintf("%s %s", node, what);

	return json_int(b->sums, key, 0);
}

/* --- instances --- */

static void book_nic(struct books *b, const json_t *nic)
{
	const char *ip = json_str(nic, "ip", NULL);
	auto_free char *link = reserve_link(config_cluster(b->c), nic);
	auto_free char *address = xprintf("%s on %s", ip, link);

	once(b, "MAC", json_str(nic, "mac", ""));
	if (ip != NULL)
		once(b, "address", address);
}

/* A mirror: both nodes have its volumes and a minor. */
static void book_mirror(struct books *b, const json_t *disk)
{
	const json_t *id = json_get(disk, "logical_id");
	const json_t *children = json_get(disk, "children");

	once_number(b, "port", json_array_get(id, 2));
	for (size_t i = 0; i < 2; i++) {
		const char *node = json_string_value(json_array_get(id, i));
		auto_free char *what = xprintf("minor of %s:", node);

		once_number(b, what, json_array_get(id, 3 + i));
		add(b, node, "volumes", json_int(disk, "size", 0) + META_MIB);
		for (size_t k = 0; k < json_array_size(children); k++) {
			auto_free char *volume =
				sim_volume(node, json_array_get(children, k));

			once(b, "volume", volume);
		}
	}
}

static void book_disk(struct books *b, const char *node, const json_t *disk)
{
	const char *type = json_str(disk, "dev_type", "");
	const char *name = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 1));

	if (str_eq(type, "drbd"))
		return book_mirror(b, disk);
	once(b, "file", name == NULL ? "" : name);
	if (str_eq(type, "file"))
		add(b, node, "files", json_int(disk, "size", 0));
	else
		b->shared += json_int(disk, "size", 0);
}

static void book_memory(struct books *b, const char *node, const json_t *inst)
{
	auto_json json_t *be = NULL;

	if (str_eq(json_str(inst, "admin_state", ""), "offline"))
		return;
	be = params_fill_be(config_cluster(b->c), json_get(inst, "beparams"));
	add(b, node, "minmem", json_int(be, "minmem", 0));
}

static void book_instance(struct books *b, const json_t *inst)
{
	const char *node = json_str(inst, "primary_node", "");
	const json_t *item;
	size_t i;

	once(b, "name", json_str(inst, "name", ""));
	once_number(b, "port", json_get(inst, "network_port"));
	book_memory(b, node, inst);
	json_array_foreach (json_get(inst, "nics"), i, item)
		book_nic(b, item);
	json_array_foreach (json_get(inst, "disks"), i, item) {
		const char *uuid = json_string_value(item);
		const json_t *disk = config_get(b->c, CONFIG_DISK, uuid);

		once(b, "disk", uuid);
		if (disk == NULL)
			strv_addf(b->problems, "disk %s is not there", uuid);
		else
			book_disk(b, node, disk);
	}
}

/* --- nodes --- */

static void at_most(struct books *b, const char *node, const char *what,
		    int64_t booked, int64_t most)
{
	if (booked > most)
		strv_addf(b->problems,
			  "%s has promised too much: %jd MiB of %s, has %jd",
			  config_name(b->c, CONFIG_NODE, node),
			  (intmax_t)booked, what, (intmax_t)most);
}

static void check_storage(struct books *b, const char *node,
			  const char *template, const char *what,
			  int64_t booked)
{
	struct node_disk d;

	resources_disk_of(b->c, node, template, 0, &d);
	if (!d.recorded)
		strv_addf(b->problems, "%s has no record of %s",
			  config_name(b->c, CONFIG_NODE, node), what);
	at_most(b, node, what, booked, d.total - d.reserved - d.overhead);
}

static void check_node(struct books *b, const char *node)
{
	struct node_memory m;

	resources_memory(b->c, node, NULL, &m);
	if (!m.recorded)
		strv_addf(b->problems, "%s has no record",
			  config_name(b->c, CONFIG_NODE, node));
	/* maxmem is for creations and changes; moves need minmem. */
	at_most(b, node, "minmem", sum(b, node, "minmem"),
		resources_mem_capacity(&m));
	check_storage(b, node, "file", "files", sum(b, node, "files"));
	check_storage(b, node, "plain", "volumes", sum(b, node, "volumes"));
	check_storage(b, node, "sharedfile", "shared files", b->shared);
}

void books_check(const struct config *c, struct strv *ret_problems)
{
	struct books b = {
		.c = c, .sums = json_object(), .problems = ret_problems};
	const char *uuid;
	json_t *object;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     object)
		book_instance(&b, object);
	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     object)
		check_node(&b, uuid);
	table_done(&b.seen, NULL);
	json_decref(b.sums);
}

/* --- at rest --- */

static size_t n_reserved(const json_t *network)
{
	const char *c = json_str(network, "reservations", "");
	size_t n = 0;

	for (; *c != '\0'; c++)
		n += *c == '1';
	return n;
}

static size_t n_addresses(const struct config *c, const char *network)
{
	const char *uuid;
	json_t *inst;
	const json_t *nic;
	size_t n = 0, i;

	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     inst)
		json_array_foreach (json_get(inst, "nics"), i, nic)
			n += str_eq(json_str(nic, "network", NULL), network) &&
			     json_get(nic, "ip") != NULL;
	return n;
}

void books_check_quiet(const struct config *c, struct strv *ret_problems)
{
	const char *uuid;
	json_t *object;

	books_check(c, ret_problems);
	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     object)
		if (json_get(object, "reserved_by_job") != NULL)
			strv_addf(ret_problems, "%s is planned still",
				  json_str(object, "name", ""));
	json_object_foreach (json_unconst(config_all(c, CONFIG_NETWORK)), uuid,
			     object)
		if (n_reserved(object) != n_addresses(c, uuid))
			strv_addf(ret_problems,
				  "%s has %zu addresses reserved, instances "
				  "have %zu",
				  json_str(object, "name", ""),
				  n_reserved(object), n_addresses(c, uuid));
	config_verify(c, ret_problems);
}
