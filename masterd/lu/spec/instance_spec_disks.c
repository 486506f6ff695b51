/* SPDX-License-Identifier: BSD-2-Clause */
/* The disks of a new instance as they are asked for.  The rules for their
 * parameters are those of Ganeti; which template knows which of them says the
 * table of templates. */
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/spec/instance_spec.h"

#define DISK_SIZE_MAX_MIB (1024 * 1024 * 1024)

/* MiB from a number or its text, also with a unit, as Terraform's provider
 * sends it; -1 if it is neither. */
static int64_t disk_size(const json_t *given)
{
	const char *text = json_str(given, "size", NULL);
	struct error ignored;
	int64_t size;

	if (text == NULL)
		return json_int(given, "size", -1);
	if (str_to_int64(text, &size))
		return size;
	return params_parse_size(text, &size, &ignored) == 0 ? size : -1;
}

static bool adopts(const struct template_info *t)
{
	return t->adopts != ADOPTS_NEVER;
}

static bool has_access(const struct template_info *t)
{
	return t->access;
}

static bool has_formats(const struct template_info *t)
{
	return t->formats;
}

static bool has_provider(const struct template_info *t)
{
	return t->provider;
}

/* Parameters that not all templates know, and the sentence that names those
 * that do. */
static const struct special {
	const char *key;
	bool (*known)(const struct template_info *t);
	const char *before, *after;
} special[] = {
	{"adopt", adopts, "only disks of the templates ", " can be adopted"},
	{"access", has_access, "only the templates ", " know ways of access"},
	{"format", has_formats, "only the templates ", " know formats"},
	{"provider", has_provider, "only the template ", " has providers"},
};

/* "ext, gluster and rbd"; to be freed. */
static char *who_knows(const struct special *s)
{
	auto_strv struct strv names = {0};
	struct buf text = {0};

	for (const char *const *t = template_names; *t != NULL; t++)
		if (s->known(template_get(*t)))
			strv_add(&names, *t);
	for (size_t i = 0; i < names.n; i++)
		buf_addf(&text, "%s%s",
			 i == 0		   ? ""
			 : i + 1 < names.n ? ", "
					   : " and ",
			 names.items[i]);
	return buf_steal(&text);
}

static int check_special(const struct special *s, const char *template,
			 const json_t *given, size_t i, struct error *err)
{
	auto_free char *who = NULL;

	if (json_get(given, s->key) == NULL || s->known(template_get(template)))
		return 0;
	who = who_knows(s);
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disk %zu: parameter '%s' is not available: %s%s%s", i,
			 s->key, s->before, who, s->after);
}

/* Parameters of other storage: as in Ganeti they are refused if they would
 * promise something, and ignored (volume groups) if they only name a place. */
static int check_keys(const char *template, const json_t *given, size_t i,
		      struct error *err)
{
	static const char *const known[] = {
		"size",	  "mode",     "name",	"vg",	    "metavg", "adopt",
		"access", "provider", "format", "spindles", NULL};

	for (size_t k = 0; k < ARRAY_SIZE(special); k++)
		if (check_special(&special[k], template, given, i, err) < 0)
			return -1;
	if (!template_get(template)->provider)
		return spec_check_keys("Disk", i, given, known, err);
	if (json_str(given, "provider", NULL) == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk %zu: missing provider for template "
				 "'%s'",
				 i, template);
	return 0;
}

static int check_size(const json_t *given, size_t i, struct error *err)
{
	bool adopted = json_get(given, "adopt") != NULL;
	int64_t size = disk_size(given);

	if (adopted) /* the device says it */
		return 0;
	if (json_get(given, "size") == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk %zu has no size", i);
	if (size <= 0 || size > DISK_SIZE_MAX_MIB)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk %zu has an invalid size; it must be 1 "
				 "to %d MiB",
				 i, DISK_SIZE_MAX_MIB);
	return 0;
}

/* A member that is one of two words, where it is given. */
static int check_word(const json_t *given, const char *key, const char *what,
		      const char *a, const char *b, size_t i, struct error *err)
{
	const char *text = json_str(given, key, a);

	if (strcmp(text, a) == 0 || strcmp(text, b) == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disk %zu: invalid %s '%s', must be %s or %s", i, what,
			 text, a, b);
}

json_t *spec_disk(const char *template, const json_t *given, size_t i,
		  struct error *err)
{
	const char *name = json_str(given, "name", NULL);
	json_t *disk;

	if (check_keys(template, given, i, err) < 0 ||
	    check_size(given, i, err) < 0 ||
	    check_word(given, "mode", "access mode", "rw", "ro", i, err) < 0 ||
	    check_word(given, "access", "way of access", "kernelspace",
		       "userspace", i, err) < 0 ||
	    check_word(given, "format", "format", "raw", "qcow2", i, err) < 0)
		return NULL;
	disk = json_copy(json_unconst(given));
	disk_set_size_mib(
		disk, json_get(given, "adopt") != NULL ? 0 : disk_size(given));
	disk_set_mode(disk, json_str(given, "mode", "rw"));
	if (name == NULL || strcasecmp(name, "none") == 0)
		disk_drop_name(disk);
	return disk;
}

/* --- all of them --- */

static int check_number(const struct op_instance_create *op,
			const struct inst_spec *s, struct error *err)
{
	bool diskless = template_get(s->template)->no_disks;
	size_t n = json_array_size(op->disks);

	if (!diskless && n == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No disks given; disk template %s needs at "
				 "least one",
				 s->template);
	if (n > SPEC_DISKS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "An instance has at most %d disks, not %zu",
				 SPEC_DISKS_MAX, n);
	return 0;
}

static int check_adoption(const struct op_instance_create *op,
			  const struct inst_spec *s, struct error *err)
{
	size_t n = json_array_size(s->disks), adopted = 0;

	for (size_t i = 0; i < n; i++)
		adopted +=
			json_get(json_array_get(s->disks, i), "adopt") != NULL;
	if (adopted == 0 && template_get(s->template)->adopts == ADOPTS_ALWAYS)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk template %s requires disk adoption, but "
				 "no 'adopt' parameter given",
				 s->template);
	if (adopted == 0)
		return 0;
	if (adopted < n)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Either all disks are adopted or none is");
	if (op->iallocator != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk adoption not allowed with an iallocator "
				 "script");
	if (strcmp(op->mode, "create") != 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk adoption not allowed for instance "
				 "import");
	return 0;
}

static int check_access(const struct inst_spec *s, struct error *err)
{
	for (size_t i = 0; i < json_array_size(s->disks); i++) {
		const char *access = json_str(json_array_get(s->disks, i),
					      "access", "kernelspace");

		if (strcmp(access, "userspace") == 0 &&
		    !hypervisor_get(s->hypervisor)->userspace_disks)
			return error_set(err, ERR_PREREQ, ECODE_STATE,
					 "Selected hypervisor (%s) cannot be "
					 "used with %s disk access param",
					 s->hypervisor, access);
	}
	return 0;
}

bool spec_adopts(const struct inst_spec *s)
{
	return json_get(json_array_get(s->disks, 0), "adopt") != NULL;
}

int spec_read_disks(struct lu *lu, const struct op_instance_create *op,
		    struct inst_spec *s, struct error *err)
{
	if (check_number(op, s, err) < 0)
		return -1;
	s->disks = json_array();
	/* Disks of an instance that can have none are left out, as clients
	 * rely on it: sipgate's tests make one so. */
	if (template_get(s->template)->no_disks)
		return 0;
	for (size_t i = 0; i < json_array_size(op->disks); i++) {
		auto_json json_t *whole =
			spec_std_disk(config_cluster(lu->m->config),
				      json_array_get(op->disks, i));
		json_t *disk = spec_disk(s->template, whole, i, err);

		if (disk == NULL)
			return -1;
		json_array_append_new(s->disks, disk);
	}
	return check_adoption(op, s, err) < 0 ? -1 : check_access(s, err);
}
