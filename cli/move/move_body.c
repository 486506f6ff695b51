/* SPDX-License-Identifier: BSD-2-Clause */
/* An instance as it is on the source, as the destination shall make it: its own
 * parameters, those that it has from its cluster being the other cluster's, and
 * over them what the options say. */
#include "cli/move/move_body.h"

#include <string.h>

#include "cli/move/move_options.h"
#include "cli/move/move_source.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* "-key" of the command line takes the instance's own value away. */
static json_t *merged(const json_t *own, const json_t *over)
{
	json_t *result = json_overlay(own, over);
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(over), key, value)
		if (json_is_null(value))
			json_object_del(result, key);
	return result;
}

/* "memory" stands for both amounts. */
static json_t *backend(const struct move_options *o, const json_t *instance)
{
	auto_json json_t *own =
		json_copy(json_unconst(json_get(instance, "be_instance")));

	if (json_get(o->beparams, "memory") != NULL) {
		json_object_del(own, "minmem");
		json_object_del(own, "maxmem");
	}
	return merged(own, o->beparams);
}

/* --- disks --- */

/* Storage of the site names its provider: [provider, volume]. */
static void add_provider(json_t *disk, const json_t *from, const char *template)
{
	const json_t *provider =
		json_array_get(json_get(from, "logical_id"), 0);

	if (str_eq(template, "ext") &&
	    str_eq(json_str(from, "dev_type", NULL), "ext") &&
	    json_is_string(provider))
		json_object_set(disk, "provider", json_unconst(provider));
}

static json_t *make_disk(const json_t *from, const char *template)
{
	json_t *disk = json_make("{s:O, s:O}", "size", json_get(from, "size"),
				 "mode", json_get(from, "mode"));
	const json_t *name = json_get(from, "name");
	const json_t *spindles = json_get(from, "spindles");

	if (name != NULL)
		json_object_set(disk, "name", json_unconst(name));
	if (json_is_integer(spindles))
		json_object_set(disk, "spindles", json_unconst(spindles));
	add_provider(disk, from, template);
	return disk;
}

/* As large as they really are, where the source tells that. */
static json_t *make_disks(const json_t *instance, const json_t *prepared,
			  const char *template)
{
	const json_t *sizes = json_get(prepared, "disk_sizes"), *real;
	json_t *disks = json_array();
	const json_t *disk;
	size_t i;

	json_array_foreach (json_get(instance, "disks"), i, disk) {
		json_t *made = make_disk(disk, template);

		real = json_array_get(sizes, i);
		if (real != NULL)
			json_object_set(made, "size", json_unconst(real));
		json_array_append_new(disks, made);
	}
	return disks;
}

/* --- network interfaces --- */

static void take(json_t *nic, const char *key, const json_t *from, size_t place)
{
	const json_t *value = json_array_get(from, place);

	if (value != NULL && !json_is_null(value))
		json_object_set(nic, key, json_unconst(value));
}

/* Whether the interface is in a network there; over is what options say. */
static bool in_network(const json_t *from, const json_t *over)
{
	const json_t *given = json_object_get(over, "network");

	if (given != NULL)
		return json_is_string(given) &&
		       strcmp(json_string_value(given), "none") != 0;
	return json_is_string(json_array_get(from, SOURCE_NIC_NETWORK));
}

/* In a network, mode and link are those that its connection to the group says,
 * and must not be given. */
static json_t *make_nic(const json_t *from, const json_t *over)
{
	auto_json json_t *own = json_object();

	take(own, "name", from, SOURCE_NIC_NAME);
	take(own, "mac", from, SOURCE_NIC_MAC);
	take(own, "ip", from, SOURCE_NIC_IP);
	take(own, "network", from, SOURCE_NIC_NETWORK);
	if (!in_network(from, over)) {
		const json_t *vlan = json_array_get(from, SOURCE_NIC_VLAN);

		take(own, "mode", from, SOURCE_NIC_MODE);
		take(own, "link", from, SOURCE_NIC_LINK);
		if (json_string_length(vlan) > 0)
			take(own, "vlan", from, SOURCE_NIC_VLAN);
	}
	return merged(own, over);
}

/* What the options say of one interface, as one object; to be freed. */
static json_t *nic_options(const struct move_options *o, size_t index)
{
	json_t *over = json_object();
	const json_t *pair;
	size_t i;

	json_array_foreach (o->nics, i, pair) {
		const char *text = json_string_value(json_array_get(pair, 0));
		uint64_t number;

		if (str_to_number(text, INT32_MAX, &number, NULL) &&
		    number == index)
			json_object_update(over, json_array_get(pair, 1));
	}
	return over;
}

static int check_indices(const struct move_options *o, size_t n,
			 struct error *err)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (o->nics, i, pair) {
		const char *text = json_string_value(json_array_get(pair, 0));
		uint64_t number;

		if (!str_to_number(text, INT32_MAX, &number, NULL) ||
		    number >= n)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "--net is about interface %s, and "
					 "the instance has %zu (they count "
					 "from 0)",
					 text, n);
	}
	return 0;
}

static json_t *make_nics(const struct move_options *o, const json_t *instance,
			 struct error *err)
{
	const json_t *list = json_get(instance, "nics"), *nic;
	json_t *nics;
	size_t i;

	if (check_indices(o, json_array_size(list), err) < 0)
		return NULL;
	nics = json_array();
	json_array_foreach (list, i, nic) {
		auto_json json_t *over = nic_options(o, i);

		json_array_append_new(nics, make_nic(nic, over));
	}
	return nics;
}

/* --- the whole --- */

static void add_place(const struct move_options *o, json_t *body)
{
	if (o->primary != NULL)
		json_set_str(body, "pnode", o->primary);
	if (o->secondary != NULL)
		json_set_str(body, "snode", o->secondary);
	if (o->allocator != NULL)
		json_set_str(body, "iallocator", o->allocator);
}

/* What the destination needs to take it from the source. */
static void add_transfer(const struct move_options *o, json_t *body,
			 const json_t *instance, const json_t *prepared)
{
	json_object_set(body, "source_handshake",
			json_unconst(json_get(prepared, "handshake")));
	json_object_set(body, "source_x509_ca",
			json_unconst(json_get(prepared, "x509_ca")));
	json_set_str(body, "source_instance_name",
		     json_str(instance, "name", NULL));
	json_set_str(body, "compress", o->compress);
	if (o->shutdown_s >= 0)
		json_set_int(body, "source_shutdown_timeout", o->shutdown_s);
}

/* Its name and address were checked when it was made, and are used until it has
 * moved. */
static json_t *make_head(const struct move_options *o, const json_t *instance,
			 const char *template)
{
	const char *name = o->dest_name != NULL
				   ? o->dest_name
				   : json_str(instance, "name", NULL);
	json_t *body = json_make(
		"{s:i, s:s, s:s, s:b, s:b, s:b, s:s, s:s}", "__version__", 1,
		"mode", "remote-import", "name", name, "ip_check", 0,
		"name_check", 0, "start", 0, /* when all of it is there */
		"hypervisor", json_str(instance, "hypervisor", NULL),
		"disk_template", template);
	const char *os = json_str(instance, "os", "");

	if (*os != '\0')
		json_set_str(body, "os", os);
	return body;
}

json_t *move_body_create(const struct move_options *o, const json_t *instance,
			 const json_t *tags, const json_t *prepared,
			 bool opportunistic, struct error *err)
{
	const char *template =
		o->disk_template != NULL
			? o->disk_template
			: json_str(instance, "disk_template", "");
	json_t *nics = make_nics(o, instance, err), *body;

	if (nics == NULL)
		return NULL;
	body = make_head(o, instance, template);
	json_object_set_new(body, "disks",
			    make_disks(instance, prepared, template));
	json_object_set_new(body, "nics", nics);
	json_object_set_new(body, "beparams", backend(o, instance));
	json_object_set_new(
		body, "hvparams",
		merged(json_get(instance, "hv_instance"), o->hvparams));
	json_object_set_new(
		body, "osparams",
		merged(json_get(instance, "os_instance"), o->osparams));
	if (json_array_size(tags) > 0)
		json_object_set(body, "tags", json_unconst(tags));
	json_set_bool(body, "opportunistic_locking", opportunistic);
	add_place(o, body);
	add_transfer(o, body, instance, prepared);
	return body;
}

json_t *move_body_export(const struct move_options *o, const json_t *prepared,
			 const json_t *import)
{
	json_t *body =
		json_make("{s:s, s:b, s:b, s:b, s:s, s:O, s:O, s:O}", "mode",
			  "remote", "shutdown", 1, "remove_instance", 0,
			  "long_sleep", 1, "compress", o->compress,
			  "destination", json_get(import, "disks"),
			  "x509_key_name", json_get(prepared, "x509_key_name"),
			  "destination_x509_ca", json_get(import, "x509_ca"));

	if (o->shutdown_s >= 0)
		json_set_int(body, "shutdown_timeout", o->shutdown_s);
	return body;
}
