/* SPDX-License-Identifier: BSD-2-Clause */
/* spec_read() fills the specification part by part, in an order in which each
 * part finds what it needs: the hypervisor's defaults depend on the OS, the
 * check of an OS image on the disks.  Disks, NIC addresses and the policy have
 * files of their own in this folder. */
#include "masterd/lu/spec/instance_spec.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/opcode/os_image.h"
#include "lib/model/params/params.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/config/reserve.h"
#include "masterd/lu/parts/tags.h"

void spec_done(struct inst_spec *s)
{
	json_decref(s->beparams);
	json_decref(s->filled_be);
	json_decref(s->hvparams);
	json_decref(s->filled_hv);
	json_decref(s->osparams);
	json_decref(s->osparams_private);
	json_decref(s->nics);
	json_decref(s->disks);
	json_decref(s->tags);
	*s = (struct inst_spec){0};
}

char *spec_lowered(const char *text)
{
	char *copy = xstrdup(text);

	for (char *p = copy; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}

static int unknown_key(const char *what, size_t i, const char *key,
		       const char *const *known, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	for (size_t k = 0; known[k] != NULL; k++)
		strv_add(&names, known[k]);
	strv_sort(&names);
	list = strv_join(&names, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s %zu: parameter '%.200s' is not available in this "
			 "version; there are: %s",
			 what, i, key, list);
}

/* An unknown parameter is an error, not ignored. */
int spec_check_keys(const char *what, size_t i, const json_t *given,
		    const char *const *known, struct error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(given), key, value) {
		size_t k = 0;

		while (known[k] != NULL && strcmp(known[k], key) != 0)
			k++;
		if (known[k] == NULL && !json_is_null(value))
			return unknown_key(what, i, key, known, err);
	}
	return 0;
}

/* A NIC as given; "auto" stands for the address of the instance's name. */
static json_t *with_ip(const json_t *given, const char *ip, struct error *err)
{
	json_t *copy = json_copy(json_unconst(given));

	if (strcasecmp(json_str(given, "ip", ""), "auto") != 0)
		return copy;
	json_set_str(copy, "ip", ip == NULL ? "" : ip);
	if (ip != NULL)
		return copy;
	json_decref(copy);
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "IP address set to auto but name checks have been skipped");
	return NULL;
}

static json_t *read_nic(struct lu *lu, const json_t *given, const char *ip,
			size_t i, struct error *err)
{
	auto_json json_t *own = with_ip(given, ip, err);
	auto_json json_t *nic =
		own == NULL || spec_check_nic_network(own, i, err) < 0
			? NULL
			: spec_nic(lu, own, i, err);

	if (nic == NULL || !spec_nic_lacks_ip(lu, nic))
		return steal(&nic);
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Routed nic mode requires an ip address if not attached to a "
		  "network");
	return NULL;
}

static int read_nics(struct lu *lu, const json_t *given, bool communicates,
		     struct inst_spec *s, struct error *err)
{
	auto_json json_t *all = json_copy(json_unconst(given));
	size_t n;

	if (communicates) {
		auto_free char *name = spec_communication_nic(s->name);

		json_array_append_new(all, spec_communication_params(lu, name));
	}
	n = json_array_size(all);
	if (n > SPEC_NICS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "An instance has at most %d NICs, not %zu",
				 SPEC_NICS_MAX, n);
	s->nics = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *nic =
			read_nic(lu, json_array_get(all, i), s->ip, i, err);

		if (nic == NULL)
			return -1;
		json_array_append_new(s->nics, nic);
	}
	return 0;
}

int spec_reserve_port(struct lu *lu, struct inst_spec *s, struct error *err)
{
	if (!hypervisor_get(s->hypervisor)->port)
		return 0;
	s->port = reserve_port(lu->m->reserve, lu->job_id, err);
	return s->port == 0 ? error_as(err, ERR_PREREQ, ECODE_NORES) : 0;
}

/* --- the rest --- */

/* The first entry of one of the cluster's lists, kept, as that may change
 * during waits. */
static const char *keep_first(struct lu *lu, const json_t *list)
{
	const char *first = json_string_value(json_array_get(list, 0));

	return first == NULL ? NULL : lu_keep_str(lu, xstrdup(first));
}

static int read_template(struct lu *lu, const struct op_instance_create *op,
			 struct inst_spec *s, struct error *err)
{
	const json_t *enabled =
		cluster_enabled_disk_templates(config_cluster(lu->m->config));

	s->template = op->disk_template != NULL ? op->disk_template
						: keep_first(lu, enabled);
	if (s->template == NULL || !json_array_has_str(enabled, s->template))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk template '%s' is not enabled on this "
				 "cluster (gnt-cluster modify "
				 "--enabled-disk-templates)",
				 s->template == NULL ? "" : s->template);
	if (template_is_on_volumes(s->template) &&
	    *cluster_volume_group_name(config_cluster(lu->m->config)) == '\0')
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cluster does not support lvm-based instances "
				 "(gnt-cluster modify --vg-name)");
	return 0;
}

static int read_hypervisor(struct lu *lu, const struct op_instance_create *op,
			   struct inst_spec *s, struct error *err)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const json_t *enabled = cluster_enabled_hypervisors(cluster);

	s->hypervisor = op->hypervisor != NULL ? op->hypervisor
					       : keep_first(lu, enabled);
	if (s->hypervisor == NULL ||
	    !json_array_has_str(enabled, s->hypervisor))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Selected hypervisor (%s) not enabled in the "
				 "cluster",
				 s->hypervisor == NULL ? "" : s->hypervisor);
	if (params_check_hv_own(op->hvparams, err) < 0 ||
	    params_update_hv(s->hypervisor, NULL, op->hvparams, &s->hvparams,
			     err) < 0)
		return -1;
	s->filled_hv =
		params_fill_hv(cluster, s->hypervisor, s->os, s->hvparams);
	return 0;
}

static int read_backend(struct lu *lu, const struct op_instance_create *op,
			struct inst_spec *s, struct error *err)
{
	if (params_update_be(NULL, op->beparams, &s->beparams, err) < 0)
		return -1;
	spec_std_backend(config_cluster(lu->m->config), s->beparams);
	s->filled_be =
		params_fill_be(config_cluster(lu->m->config), s->beparams);
	if (be_minmem(s->filled_be) > be_maxmem(s->filled_be))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "minmem (%jd MiB) is more than maxmem (%jd "
				 "MiB)",
				 (intmax_t)be_minmem(s->filled_be),
				 (intmax_t)be_maxmem(s->filled_be));
	return 0;
}

const char *spec_name(struct lu *lu, const struct op_instance_create *op)
{
	return lu_keep_str(lu, spec_lowered(op->instance_name));
}

/* From another cluster. */
static bool is_move(const struct op_instance_create *op)
{
	return strcmp(op->mode, "remote-import") == 0;
}

static int check_combined(const struct op_instance_create *op,
			  struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} of_moves[] = {
		{"source_handshake", op->source_handshake != NULL},
		{"source_instance_name", op->source_instance_name != NULL},
		{"source_x509_ca", op->source_x509_ca != NULL},
	};

	if (strcmp(op->mode, "create") != 0 && !is_move(op))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "An instance in a series of many is made, not "
				 "brought (mode '%s')",
				 op->mode);
	for (size_t i = 0; !is_move(op) && i < ARRAY_SIZE(of_moves); i++)
		if (of_moves[i].given)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Parameter '%s' is only for the mode "
					 "remote-import",
					 of_moves[i].name);
	if (op->forthcoming && op->commit)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Forthcoming generation and commiting are "
				 "mutually exclusive");
	return 0;
}

/* The tags, each once; they keep to the rules of tags that come later. */
static int read_tags(const json_t *given, struct inst_spec *s,
		     struct error *err)
{
	auto_strv struct strv tags = {0};

	if (tags_check(given, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(given); i++)
		strv_add_unique(&tags,
				json_string_value(json_array_get(given, i)));
	strv_sort(&tags);
	s->tags = json_from_strv(&tags);
	return 0;
}

static bool is_blacklisted(const json_t *cluster, const char *os)
{
	const json_t *list = cluster_blacklisted_os(cluster);
	auto_free char *name = xstrndup(os, strcspn(os, "+"));

	return json_array_has_str(list, os) || json_array_has_str(list, name);
}

static int read_os(struct lu *lu, const struct op_instance_create *op,
		   struct inst_spec *s, struct error *err)
{
	bool installs = op->no_install != 1 && !is_move(op);

	if (strcmp(op->mode, "create") == 0 &&
	    os_image_read(op->osparams, &s->os_image, err) < 0)
		return -1;
	if (s->os == NULL && s->os_image == NULL && installs)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No guest OS or OS image specified (-o, -O "
				 "os-image=...), and the installation is not "
				 "disabled (--no-install)");
	if (s->os != NULL && installs &&
	    is_blacklisted(config_cluster(lu->m->config), s->os))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Guest OS '%s' is not allowed for "
				 "installation, it is blacklisted (gnt-os "
				 "modify --blacklisted=no)",
				 s->os);
	s->osparams = params_update_os(NULL, op->osparams);
	s->osparams_private = params_update_os(NULL, op->osparams_private);
	s->osparams_secret = op->osparams_secret;
	return 0;
}

static int check_image(const struct inst_spec *s, struct error *err)
{
	if (s->os_image == NULL ||
	    (json_array_size(s->disks) > 0 && !spec_adopts(s)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "An OS image needs a new disk to be put on; instance "
			 "'%s' has none",
			 s->name);
}

static void drop_same(json_t *own, json_t *defaults STEALS)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(
		own, next, key,
		value) if (json_equal(value, json_object_get(defaults, key)))
		json_object_del(own, key);
	json_decref(defaults);
}

/* Values that equal the cluster's are not stored, so that they follow it. */
static void drop_defaults(const json_t *cluster, struct inst_spec *s)
{
	drop_same(s->hvparams,
		  params_fill_hv(cluster, s->hypervisor, s->os, NULL));
	drop_same(s->beparams, params_fill_be(cluster, NULL));
	if (s->os != NULL)
		drop_same(s->osparams, params_fill_os(cluster, s->os, NULL));
	for (size_t i = 0; i < json_array_size(s->nics); i++)
		drop_same(nic_own_nicparams(json_array_get(s->nics, i)),
			  params_fill_nic(cluster, NULL));
}

int spec_read(struct lu *lu, const struct op_instance_create *op,
	      struct inst_spec *s, struct error *err)
{
	if (s->name == NULL)
		s->name = spec_name(lu, op);
	s->os = op->os_type;
	s->group_name = op->group_name;
	if (!str_valid_hostname(s->name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid instance name '%s'", s->name);
	if (check_combined(op, err) < 0 || read_os(lu, op, s, err) < 0 ||
	    read_template(lu, op, s, err) < 0 ||
	    read_hypervisor(lu, op, s, err) < 0 ||
	    read_backend(lu, op, s, err) < 0 ||
	    spec_read_disks(lu, op, s, err) < 0 || check_image(s, err) < 0 ||
	    read_nics(lu, op->nics, op->instance_communication, s, err) < 0 ||
	    read_tags(op->tags, s, err) < 0)
		return -1;
	if (op->identify_defaults)
		drop_defaults(config_cluster(lu->m->config), s);
	return 0;
}

/* A NIC in the form of a request: as stored; mode and link beside it are for
 * old programs, and unknown in a network, as they depend on the group. */
static json_t *requested_nic(struct lu *lu, const json_t *nic)
{
	auto_json json_t *params = params_fill_nic(
		config_cluster(lu->m->config), nic_nicparams(nic));
	const char *mode = nicparams_mode(params);
	const char *link = nicparams_link(params);
	json_t *row = json_copy(json_unconst(nic));

	if (nic_has_network(nic))
		return row;
	json_set_str(row, "mode", mode);
	json_set_str(row, "link", link);
	if (strcmp(mode, "bridged") == 0)
		json_set_str(row, "bridge", link);
	return row;
}

/* With the members that programs look for whether they are set or not. */
static json_t *requested_disks(struct lu *lu, const json_t *disks)
{
	const char *vg = cluster_volume_group_name_or(
		config_cluster(lu->m->config), NULL);
	json_t *list = json_array();
	const json_t *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		json_t *row = json_copy(json_unconst(disk));

		if (json_get(row, "vg") == NULL)
			json_set_str(row, "vg", vg);
		if (json_get(row, "name") == NULL)
			json_set_str(row, "name", NULL);
		json_array_append_new(list, row);
	}
	return list;
}

json_t *spec_request(struct lu *lu, struct inst_spec *s, struct error *err)
{
	auto_json json_t *nics = json_array();
	auto_json json_t *disks = requested_disks(lu, s->disks);
	struct iallocator_instance inst = {
		.name = s->name,
		.os = s->os,
		.disk_template = s->template,
		.hypervisor = s->hypervisor,
		.group_name = s->group_name,
		.memory = be_maxmem(s->filled_be),
		.minmem = be_minmem(s->filled_be),
		.stays = !be_auto_balance(s->filled_be),
		.vcpus = be_vcpus(s->filled_be),
		.spindle_use = be_spindle_use(s->filled_be),
		.disks = disks,
		.nics = nics,
		.tags = s->tags,
	};

	if (spec_reserve_macs(lu, s, err) < 0)
		return NULL;
	for (size_t i = 0; i < json_array_size(s->nics); i++)
		json_array_append_new(
			nics, requested_nic(lu, json_array_get(s->nics, i)));
	return iallocator_allocate(lu->m, &inst);
}
