/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: moving a running machine to another node, where a process with the same
 * hardware waits for its memory and state. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/hv/kvm/hv_kvm_net.h"

/* The number of passes over changed memory before postcopy begins. */
#define POSTCOPY_ROUNDS 2

/* Before this version QEMU lost what an emulated guest wrote while its memory
 * was copied: on the target it stood still, with a lock held that it had let go
 * of (7.2: every fifth time). */
#define EMULATED_LIVE_VERSION 9

/* Five seconds for a monitor that does not answer, or its process to end. */
#define ANSWER_WAIT_MS 250
#define ANSWER_TRIES 20

/* Half a second for the rest of the memory. */
#define SWITCH_WAIT_MS 10
#define SWITCH_WAITS 50

#define CANCEL_WAIT_MS 50
#define CANCEL_WAITS 400 /* twenty seconds for a transfer to be given up */

char *kvm_migration_info(const struct paths *p, const json_t *instance,
			 struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *notes = kvm_read_notes(p, name);

	if (notes == NULL || kvm_running_pid(p, name) == 0) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Instance %s does not run here", name);
		return NULL;
	}
	if (kvm_ganeti_check_move(name, notes, err) < 0)
		return NULL;
	return json_text(notes);
}

char *kvm_migration_uri(const json_t *instance, const char *target)
{
	bool six = strchr(target, ':') != NULL;

	return xprintf("tcp:%s%s%s:%jd", six ? "[" : "", target, six ? "]" : "",
		       (intmax_t)json_int(json_get(instance, "hvparams"),
					  "migration_port", 8102));
}

/* The machine as it runs on the source: with the hardware of its start, and
 * what was plugged since. */
static json_t *as_it_runs(const json_t *instance, const json_t *notes)
{
	json_t *copy = json_copy(json_unconst(instance));
	json_t *nics = json_object_get(notes, "nics");
	json_t *hv = json_overlay(json_get(instance, "hvparams"),
				  json_get(notes, "hvparams"));
	json_t *beparams = json_overlay(json_get(instance, "beparams"), NULL);

	json_set_int(beparams, "vcpus",
		     json_int(notes, "vcpus", json_int(beparams, "vcpus", 1)));
	json_object_set_new(copy, "beparams", beparams);
	json_object_set_new(copy, "hvparams", hv);
	if (*json_str(json_get(notes, "hvparams"), "vga", "") == '\0')
		json_set_str(hv, "vga", kvm_unnoted_card(copy, hv));
	if (nics != NULL)
		json_object_set(copy, "nics", nics);
	return copy;
}

/* Keep the disks that it knows, in their order (all, where nothing is noted);
 * returns their number. */
static size_t known_disks(const struct hv_disk *disks, size_t n,
			  const json_t *places, struct hv_disk *ret)
{
	size_t n_known = 0;

	for (size_t i = 0; i < n; i++) {
		auto_free char *id = kvm_device_id("disk", disks[i].disk, i);

		if (json_object_size(places) == 0 ||
		    json_get(places, id) != NULL)
			ret[n_known++] = disks[i];
	}
	return n_known;
}

/* What the source says of the machine, also one that is Ganeti's. */
static json_t *read_info(const struct paths *p, const char *name,
			 const char *info, struct error *err)
{
	auto_json json_t *notes = json_parse(info, strlen(info), err);

	return json_is_array(notes) ? kvm_ganeti_notes(p, name, notes)
				    : steal(&notes);
}

int kvm_accept(const struct paths *p, const json_t *instance,
	       const struct hv_disk *disks, size_t n_disks, const char *info,
	       const char *target, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *notes = read_info(p, name, info, err);
	auto_free char *uri = kvm_migration_uri(instance, target);
	auto_free struct hv_disk *known =
		xcalloc(n_disks + 1, sizeof(struct hv_disk));
	auto_json json_t *running = as_it_runs(instance, notes);
	auto_json json_t *places =
		json_overlay(json_get(notes, "places"), NULL);
	struct kvm_start start = {
		/* The same hardware as on the source, even if this node would
		 * choose another. */
		.size = json_int(notes, "size", 0),
		.memory = json_int(notes, "memory", 0),
		.incoming = uri,
		.command = json_get(notes, "command"),
		.places = places,
	};

	if (start.size <= 0 || start.memory <= 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Invalid migration information for instance "
				 "%s",
				 name);
	if (kvm_ganeti_check_move(name, notes, err) < 0)
		return -1;
	n_disks = known_disks(disks, n_disks, start.places, known);
	return kvm_launch(p, running, known, n_disks, &start, err);
}

static void split_capabilities(const json_t *hv, struct strv *ret)
{
	const char *text = json_str(hv, "migration_caps", "");

	if (*text != '\0')
		str_split(ret, text, ':');
}

json_t *kvm_capabilities(const json_t *hv)
{
	auto_strv struct strv names = {0};
	json_t *list = json_array();

	split_capabilities(hv, &names);
	for (size_t i = 0; i < names.n; i++)
		json_array_append_new(list,
				      json_make("{s:s, s:b}", "capability",
						names.items[i], "state", 1));
	if (names.n > 0)
		return json_make("{s:o}", "capabilities", list);
	json_decref(list);
	return NULL;
}

int kvm_check_capabilities(const json_t *hv, struct error *err)
{
	auto_strv struct strv names = {0};

	split_capabilities(hv, &names);
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.items[i];

		if (*name == '\0' ||
		    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789"
				      "-")] != '\0')
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "migration_caps: '%s' is no name of a "
					 "capability",
					 name);
	}
	return 0;
}

/* With postcopy the machine continues on the target, which fetches memory that
 * changed too fast to be copied. */
static bool wants_postcopy(const json_t *hv, const json_t *ram)
{
	auto_strv struct strv names = {0};

	split_capabilities(hv, &names);
	return (strv_has(&names, "postcopy-ram") ||
		strv_has(&names, "x-postcopy-ram")) &&
	       json_int(ram, "dirty-sync-count", 0) >= POSTCOPY_ROUNDS;
}

json_t *kvm_migration_limits(const json_t *hv)
{
	json_int_t bandwidth = json_int(hv, "migration_bandwidth", 32);
	json_int_t downtime = json_int(hv, "migration_downtime", 30);

	return json_make("{s:I, s:I}", "max-bandwidth", bandwidth * 1024 * 1024,
			 "downtime-limit", downtime);
}

static json_t *pause_at_end(void)
{
	return json_make("{s:[{s:s, s:b}]}", "capabilities", "capability",
			 "pause-before-switchover", "state", 1);
}

/* 1 if it must not run while its memory is copied, 0, or -1. */
static WAITS int must_stop(const struct paths *p, const char *name,
			   struct error *err)
{
	auto_json json_t *kvm = kvm_monitor(p, name, "query-kvm", NULL, err);
	auto_json json_t *version = NULL;

	if (kvm == NULL)
		return -1;
	if (json_bool(kvm, "enabled", false))
		return 0;
	version = kvm_monitor(p, name, "query-version", NULL, err);
	if (version == NULL)
		return -1;
	return json_int(json_get(version, "qemu"), "major", 0) <
	       EMULATED_LIVE_VERSION;
}

static WAITS int stop_before(const struct paths *p, const char *name, bool live,
			     struct error *err)
{
	int rc = live ? must_stop(p, name, err) : 1;

	return rc == 1 ? kvm_order(p, name, "stop", NULL, err) : rc;
}

/* NULL: nobody in particular wants it. */
static bool has_to_ask(const struct hv_caller *caller)
{
	return caller != NULL && caller->mirrored != NULL;
}

int kvm_migrate(const struct paths *p, const char *cluster_name,
		const json_t *instance, const char *target, bool live,
		const struct hv_caller *caller, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	const char *name = json_str(instance, "name", "");
	auto_free char *uri = kvm_migration_uri(instance, target);
	json_t *capabilities = kvm_capabilities(hv);

	(void)cluster_name;
	/* Its disks have to be complete there before it goes on
	 * (kvm_migration_status()). */
	if ((has_to_ask(caller) || kvm_mirrors(p, name) > 0) &&
	    kvm_order(p, name, "migrate-set-capabilities", pause_at_end(),
		      err) < 0)
		return -1;
	if (capabilities != NULL &&
	    kvm_order(p, name, "migrate-set-capabilities", capabilities, err) <
		    0)
		return -1;
	if (hv_in_force(caller, err) < 0 ||
	    stop_before(p, name, live, err) < 0 || hv_in_force(caller, err) < 0)
		return -1;
	if (kvm_order(p, name, "migrate-set-parameters",
		      kvm_migration_limits(hv), err) < 0 ||
	    hv_in_force(caller, err) < 0)
		return -1;
	return kvm_order(p, name, "migrate", json_make("{s:s}", "uri", uri),
			 err);
}

/* From now on routes lead to this node. */
static WAITS int connect_late(const struct paths *p, const json_t *instance,
			      const struct hv_caller *caller, struct error *err)
{
	auto_json json_t *notes =
		kvm_read_notes(p, json_str(instance, "name", ""));
	const json_t *nics = json_get(notes, "nics");

	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		auto_free char *id = kvm_device_id("nic", nic, i);
		const struct kvm_nic late = {
			.instance = instance,
			.nic = nic,
			.seq = i,
			.tap = json_str(json_get(notes, "taps"), id, ""),
		};

		if (kvm_net_is_late(nic) && *late.tap != '\0' &&
		    (hv_in_force(caller, err) < 0 ||
		     kvm_net_up(p, &late, err) < 0))
			return -1;
	}
	return 0;
}

/* The balloon has moved with its size; set it again, as the source may have
 * been changing it at the end. */
static WAITS void balloon_again(const struct paths *p, const json_t *instance)
{
	auto_json json_t *notes =
		kvm_read_notes(p, json_str(instance, "name", ""));
	int64_t memory = json_int(notes, "memory", 0);
	struct error err;

	if (memory < json_int(notes, "size", 0) &&
	    kvm_balloon(p, instance, memory, &err) < 0)
		log_warning("Instance %s has come with more memory than %jd "
			    "MiB: %s",
			    json_str(instance, "name", ""), (intmax_t)memory,
			    err.text);
}

/* As "query-status" names it, to be freed; NULL with err. */
static WAITS char *run_state(const struct paths *p, const char *name,
			     struct error *err)
{
	auto_json json_t *state =
		kvm_monitor(p, name, "query-status", NULL, err);

	return state == NULL ? NULL : xstrdup(json_str(state, "status", ""));
}

/* End a process that waits for its machine, or whose machine has gone to where
 * it is recorded now.  One that has it is the instance.  It may just be ending
 * by itself, as the source has given up. */
static WAITS int end_other_half(const struct paths *p, const char *name,
				struct error *err)
{
	auto_free char *state = NULL;

	for (int i = 0; i < ANSWER_TRIES && state == NULL; i++) {
		if (kvm_running_pid(p, name) == 0)
			return kvm_end_process(p, name, err);
		state = run_state(p, name, err);
		if (state == NULL)
			task_sleep(ANSWER_WAIT_MS);
	}
	if (state == NULL)
		return -1;
	if (str_eq(state, "inmigrate") || str_eq(state, "postmigrate"))
		return kvm_end_process(p, name, err);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Instance %s has arrived here already", name);
}

int kvm_finalize_dst(const struct paths *p, const json_t *instance,
		     const char *info, bool success,
		     const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");

	(void)info;
	if (!success)
		return end_other_half(p, name, err);
	/* Nobody writes to its disks but itself; mostly nobody did. */
	kvm_nbd_stop(p, name);
	if (hv_in_force(caller, err) < 0 ||
	    kvm_order(p, name, "cont", NULL, err) < 0 ||
	    hv_in_force(caller, err) < 0)
		return -1;
	balloon_again(p, instance);
	return connect_late(p, instance, caller, err);
}

/* Wait until the transfer is over; its status, to be freed, NULL with err.  A
 * process that was itself a target says "completed" of that. */
static WAITS char *give_up(const struct paths *p, const char *name,
			   struct error *err)
{
	static const char *const over[] = {"none", "cancelled", "failed",
					   "completed"};

	if (kvm_order(p, name, "migrate_cancel", NULL, err) < 0)
		return NULL;
	for (int i = 0; i < CANCEL_WAITS; i++) {
		auto_json json_t *state =
			kvm_monitor(p, name, "query-migrate", NULL, err);
		const char *status = json_str(state, "status", "none");

		if (state == NULL)
			return NULL;
		for (size_t k = 0; k < ARRAY_SIZE(over); k++)
			if (strcmp(status, over[k]) == 0)
				return xstrdup(status);
		task_sleep(CANCEL_WAIT_MS);
	}
	error_set(err, ERR_HYPERVISOR, NULL,
		  "The migration of instance %s does not end", name);
	return NULL;
}

/* It goes on here, unless it has arrived on the target.  One that was started
 * paused has never run, and stays so. */
static WAITS int resume(const struct paths *p, const char *name,
			const char *status, struct error *err)
{
	auto_free char *state = run_state(p, name, err);

	if (state == NULL)
		return -1;
	if (str_eq(state, "running") || str_eq(state, "prelaunch"))
		return 0;
	if (str_eq(state, "postmigrate") && str_eq(status, "completed"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance %s has arrived on its target; "
				 "gnt-instance activate-disks, or migrate "
				 "--cleanup, records that",
				 name);
	return kvm_order(p, name, "cont", NULL, err);
}

int kvm_finalize_src(const struct paths *p, const json_t *instance,
		     bool success, bool live, const struct hv_caller *caller,
		     struct error *err)
{
	const char *name = json_str(instance, "name", "");

	auto_free char *status = NULL;

	(void)live;
	if (success)
		return kvm_end_process(p, name, err);
	status = give_up(p, name, err);
	if (status == NULL || hv_in_force(caller, err) < 0)
		return -1;
	return resume(p, name, status, err);
}

/* What the disks over there still lack is written; -1: that cannot be. */
static WAITS int complete_disks(const struct paths *p, const json_t *instance,
				const struct hv_caller *caller,
				struct error *err)
{
	if (has_to_ask(caller) &&
	    caller->mirrored(caller->arg, instance, err) < 0)
		return -1;
	return kvm_end_mirrors(p, json_str(instance, "name", ""), err);
}

/* What is left of the memory takes about as long as "downtime-limit" says, so
 * it is waited for here: who asks comes again much later, and the instance
 * stands still meanwhile.  The answer to "query-migrate", to be freed. */
static WAITS json_t *await_switch(const struct paths *p, const char *name,
				  struct error *err)
{
	for (int i = 0;; i++) {
		json_t *state =
			kvm_monitor(p, name, "query-migrate", NULL, err);
		const char *status = json_str(state, "status", "");

		if (i == SWITCH_WAITS || (!str_eq(status, "pre-switchover") &&
					  !str_eq(status, "device")))
			return state;
		json_decref(state);
		task_sleep(SWITCH_WAIT_MS);
	}
}

/* It is paused, and all its memory is there.  Without its disks it must not go
 * on. */
static WAITS json_t *switch_over(const struct paths *p, const json_t *instance,
				 const struct hv_caller *caller,
				 struct error *err)
{
	const char *name = json_str(instance, "name", "");
	struct error ignored;

	if (hv_in_force(caller, err) < 0)
		return NULL;
	if (complete_disks(p, instance, caller, err) < 0) {
		if (hv_in_force(caller, &ignored) == 0)
			kvm_order(p, name, "migrate_cancel", NULL, &ignored);
		return NULL;
	}
	if (hv_in_force(caller, err) < 0 ||
	    kvm_order(p, name, "migrate-continue",
		      json_make("{s:s}", "state", "pre-switchover"), err) < 0)
		return NULL;
	return await_switch(p, name, err);
}

static WAITS bool runs(const struct paths *p, const json_t *instance)
{
	struct error ignored;
	auto_free char *state =
		run_state(p, json_str(instance, "name", ""), &ignored);

	return str_eq(state, "running");
}

/* The answer to "query-migrate", to be freed, when what it asks for next has
 * been done; NULL with err. */
static WAITS json_t *go_on(const struct paths *p, const json_t *instance,
			   const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *state =
		kvm_monitor(p, name, "query-migrate", NULL, err);
	const char *status = json_str(state, "status", "none");

	if (str_eq(status, "pre-switchover"))
		return switch_over(p, instance, caller, err);
	if (str_eq(status, "active") &&
	    wants_postcopy(json_get(instance, "hvparams"),
			   json_get(state, "ram")) &&
	    (hv_in_force(caller, err) < 0 ||
	     kvm_order(p, name, "migrate-start-postcopy", NULL, err) < 0))
		return NULL;
	return steal(&state);
}

json_t *kvm_migration_status(const struct paths *p, const json_t *instance,
			     const struct hv_caller *caller, struct error *err)
{
	static const struct {
		const char *theirs, *ours;
	} names[] = {
		{"completed", "completed"}, {"failed", "failed"},
		{"cancelled", "cancelled"}, {"cancelling", "cancelled"},
		{"none", "failed"},
	};
	auto_json json_t *state = go_on(p, instance, caller, err);
	const json_t *ram = json_get(state, "ram");
	const char *ours = "active";

	if (state == NULL)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i].theirs, json_str(state, "status", "none")))
			ours = names[i].ours;
	/* It runs here, so that was when it came. */
	if (strcmp(ours, "completed") == 0 && runs(p, instance))
		ours = "failed";
	return json_make("{s:s, s:I, s:I}", "status", ours, "transferred_ram",
			 (json_int_t)json_int(ram, "transferred", 0),
			 "total_ram", (json_int_t)json_int(ram, "total", 0));
}
