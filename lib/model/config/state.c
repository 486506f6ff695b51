/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers in force are built in layers: presets, cluster, group, node.  A
 * measured number goes on top only where no level has a chosen one.  A change
 * edits a copy of the member, which replaces the old one when all of the change
 * is valid. */
#include "lib/model/config/state.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

#define KEY_HV "hv_state_static"
#define KEY_DISK "disk_state_static"

/* This value removes an entry, so that the one of the group or cluster is in
 * force. */
#define VALUE_DEFAULT "default"

static const struct number {
	const char *name;
	int preset;
} hv_numbers[] = {{"cpu_node", 1}, {"cpu_total", 1}, {"mem_hv", 0},
		  {"mem_node", 0}, {"mem_total", 0}, {NULL, 0}},
  disk_numbers[] = {{"disk_overhead", 0},
		    {"disk_reserved", 0},
		    {"disk_total", 0},
		    {NULL, 0}};

/* --- what is in force --- */

static json_t *presets(const struct number *numbers)
{
	json_t *filled = json_object();

	for (; numbers->name != NULL; numbers++)
		json_set_int(filled, numbers->name, numbers->preset);
	return filled;
}

/* A measured number stands beside the chosen ones; its name has this suffix. */
#define MEASURED "_measured"

/* Numbers of ours for which Ganeti's format has no place.  They stand among the
 * hypervisors of the cluster, under a name that no hypervisor has. */
#define KEY_OWN "gantry"

static void put_over(json_t *filled, const json_t *own)
{
	const char *number;
	json_t *value;

	json_object_foreach (json_unconst(own), number, value)
		if (!str_ends(number, MEASURED))
			json_object_set(filled, number, value);
}

/* The numbers of one level for a hypervisor, or (with key2) for a storage. */
static const json_t *own_numbers(const json_t *level, const char *member,
				 const char *key, const char *key2)
{
	const json_t *own = json_get(json_get(level, member), key);

	return key2 == NULL ? own : json_get(own, key2);
}

/* The levels, those that win first. */
static bool is_chosen(const json_t *const levels[3], const char *member,
		      const char *key, const char *key2, const char *number)
{
	for (size_t i = 0; i < 3; i++) {
		const json_t *own = own_numbers(levels[i], member, key, key2);

		if (json_get(own, number) != NULL &&
		    (i > 0 || json_int(own, number, 0) != 0))
			return true;
	}
	return false;
}

static const json_t *measured(const json_t *own, const char *number)
{
	auto_free char *key = xprintf("%s" MEASURED, number);

	return json_get(own, key);
}

static void put_measured(json_t *filled, const json_t *const levels[3],
			 const struct number *numbers, const char *member,
			 const char *key, const char *key2)
{
	const json_t *own = own_numbers(levels[2], member, key, key2);

	for (; numbers->name != NULL; numbers++) {
		const json_t *value = measured(own, numbers->name);

		if (value != NULL &&
		    !is_chosen(levels, member, key, key2, numbers->name))
			json_object_set(filled, numbers->name,
					json_unconst(value));
	}
}

static json_t *fill(const json_t *const levels[3], const struct number *numbers,
		    const char *member, const char *key, const char *key2)
{
	json_t *filled = presets(numbers);

	for (size_t i = 0; i < 3; i++)
		put_over(filled, own_numbers(levels[i], member, key, key2));
	put_measured(filled, levels, numbers, member, key, key2);
	return filled;
}

json_t *state_fill_hv(const json_t *cluster, const json_t *group,
		      const json_t *node, const char *hypervisor)
{
	const json_t *const levels[] = {cluster, group, node};

	return fill(levels, hv_numbers, KEY_HV, hypervisor, NULL);
}

json_t *state_fill_disk(const json_t *cluster, const json_t *group,
			const json_t *node, const char *storage,
			const char *name)
{
	const json_t *const levels[] = {cluster, group, node};

	return fill(levels, disk_numbers, KEY_DISK, storage, name);
}

bool state_hv_is_chosen(const json_t *cluster, const json_t *group,
			const json_t *node, const char *hypervisor,
			const char *number)
{
	const json_t *const levels[] = {cluster, group, node};

	return is_chosen(levels, KEY_HV, hypervisor, NULL, number);
}

bool state_disk_is_chosen(const json_t *cluster, const json_t *group,
			  const json_t *node, const char *storage,
			  const char *name, const char *number)
{
	const json_t *const levels[] = {cluster, group, node};

	return is_chosen(levels, KEY_DISK, storage, name, number);
}

const json_t *state_hv_measured(const json_t *node, const char *hypervisor,
				const char *number)
{
	return measured(own_numbers(node, KEY_HV, hypervisor, NULL), number);
}

const json_t *state_disk_measured(const json_t *node, const char *storage,
				  const char *name, const char *number)
{
	return measured(own_numbers(node, KEY_DISK, storage, name), number);
}

json_t *state_fill_hv_all(const json_t *cluster, const json_t *group,
			  const json_t *node)
{
	const json_t *levels[] = {cluster, group, node};
	json_t *all = json_object(), *own;
	const char *hv;

	for (size_t i = 0; i < 3; i++)
		json_object_foreach (json_unconst(json_get(levels[i], KEY_HV)),
				     hv, own)
			if (json_object_get(all, hv) == NULL &&
			    strcmp(hv, KEY_OWN) != 0)
				json_object_set_new(all, hv,
						    state_fill_hv(cluster,
								  group, node,
								  hv));
	return all;
}

/* The storages of one level that are not in all yet. */
static void add_names(json_t *all, const json_t *level)
{
	const char *storage, *name;
	json_t *names, *own;

	json_object_foreach (json_unconst(json_get(level, KEY_DISK)), storage,
			     names) {
		if (json_object_get(all, storage) == NULL)
			json_object_set_new(all, storage, json_object());
		json_object_foreach (names, name, own)
			json_object_set_new(json_object_get(all, storage), name,
					    json_null());
	}
}

json_t *state_fill_disk_all(const json_t *cluster, const json_t *group,
			    const json_t *node)
{
	json_t *all = json_object(), *names, *own;
	const char *storage, *name;

	add_names(all, cluster);
	add_names(all, group);
	add_names(all, node);
	json_object_foreach (all, storage, names)
		json_object_foreach (names, name, own)
			json_object_set_new(names, name,
					    state_fill_disk(cluster, group,
							    node, storage,
							    name));
	return all;
}

/* --- what was measured --- */

/* The member as an object that may be changed, since objects of the
 * configuration share theirs with older versions. */
static json_t *own_member(json_t *object, const char *key)
{
	json_t *copy = json_overlay(json_get(object, key), NULL);

	json_object_set_new(object, key, copy);
	return copy;
}

static void set_measured(json_t *own, const char *number, int64_t value)
{
	auto_free char *key = xprintf("%s" MEASURED, number);

	json_set_int(own, key, value);
}

void state_measure_hv(json_t *node, const char *hypervisor, const char *number,
		      int64_t value)
{
	set_measured(own_member(own_member(node, KEY_HV), hypervisor), number,
		     value);
}

void state_measure_disk(json_t *node, const char *storage, const char *name,
			const char *number, int64_t value)
{
	json_t *names = own_member(own_member(node, KEY_DISK), storage);

	set_measured(own_member(names, name), number, value);
}

/* --- numbers of ours --- */

int64_t state_own(const json_t *cluster, const char *key, int64_t missing)
{
	return json_int(own_numbers(cluster, KEY_HV, KEY_OWN, NULL), key,
			missing);
}

void state_set_own(json_t *cluster, const char *key, int64_t value)
{
	json_set_int(own_member(own_member(cluster, KEY_HV), KEY_OWN), key,
		     value);
}

void state_forget_own(json_t *cluster, const char *key)
{
	json_object_del(own_member(own_member(cluster, KEY_HV), KEY_OWN), key);
}

/* --- changes --- */

static bool is_known(const struct number *numbers, const char *key)
{
	while (numbers->name != NULL && strcmp(numbers->name, key) != 0)
		numbers++;
	return numbers->name != NULL;
}

static int set_number(json_t *state, const char *what, const char *key,
		      const json_t *value, struct error *err)
{
	const char *text = json_string_value(value);
	int64_t number = json_integer_value(value);

	if (str_eq(text, VALUE_DEFAULT)) {
		auto_free char *too = xprintf("%s" MEASURED, key);

		json_object_del(state, key);
		json_object_del(state, too); /* to be measured anew */
		return 0;
	}
	if (text != NULL ? !str_to_int64(text, &number)
			 : !json_is_integer(value))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s: '%s' has to be an integer", what, key);
	if (number < 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s: '%s' must not be negative", what, key);
	json_set_int(state, key, number);
	return 0;
}

/* Numbers by name: those that there were, changed by the new ones. */
static int set_numbers(json_t *state, const char *what, const json_t *changes,
		       const struct number *known, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(changes))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s needs a dictionary of numbers", what);
	json_object_foreach (json_unconst(changes), key, value) {
		if (!is_known(known, key))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "%s has no value '%.100s'", what, key);
		if (set_number(state, what, key, value, err) < 0)
			return -1;
	}
	return 0;
}

int state_set_hv(json_t *object, const json_t *changes, struct error *err)
{
	auto_json json_t *all = json_overlay(json_get(object, KEY_HV), NULL);
	const char *hv;
	json_t *own;

	if (json_object_size(changes) == 0)
		return 0;
	json_object_foreach (json_unconst(changes), hv, own) {
		json_t *state = json_overlay(json_get(all, hv), NULL);

		json_object_set_new(all, hv, state);
		if (!hypervisor_find(hv))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Unknown hypervisor '%.100s'", hv);
		if (set_numbers(state, "Hypervisor state", own, hv_numbers,
				err) < 0)
			return -1;
	}
	json_object_set(object, KEY_HV, all);
	return 0;
}

/* The storages whose space nodes report and on which disks are counted. */
static bool is_storage(const char *type)
{
	for (size_t i = 0; i < STORAGE_COUNT; i++)
		if (str_eq(type, storage_table[i].recorded_as))
			return true;
	return false;
}

int state_set_disk(json_t *object, const json_t *changes, struct error *err)
{
	auto_json json_t *all = json_overlay(json_get(object, KEY_DISK), NULL);
	const char *storage, *name;
	json_t *units, *own;

	if (json_object_size(changes) == 0)
		return 0;
	json_object_foreach (json_unconst(changes), storage, units) {
		json_t *mine = json_overlay(json_get(all, storage), NULL);

		json_object_set_new(all, storage, mine);
		if (!is_storage(storage))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Disk state: space of storage type "
					 "'%.100s' is not recorded; give "
					 "plain/VOLUME-GROUP, or file, "
					 "sharedfile or gluster/FOLDER",
					 storage);
		if (!json_is_object(units))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Disk state needs a dictionary of "
					 "storages by type and name");
		json_object_foreach (units, name, own) {
			json_t *state =
				json_overlay(json_get(mine, name), NULL);

			json_object_set_new(mine, name, state);
			if (set_numbers(state, "Disk state", own, disk_numbers,
					err) < 0)
				return -1;
		}
	}
	json_object_set(object, KEY_DISK, all);
	return 0;
}
