/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that templates.def becomes, and what can be asked of a template by
 * its name.  There are few rows: names are looked for one after the other. */
#include "lib/model/kinds/template.h"

#include "lib/base/array.h"
#include "lib/base/str.h"

/* clang-format off */
const struct storage_info storage_table[STORAGE_COUNT] = {
#define STORAGE(id, name_, listed, ...) \
	[STORAGE_##id] = {.name = name_, __VA_ARGS__},
#define DISK_TEMPLATE(id, ...)
#include "lib/model/kinds/templates.def"
#undef STORAGE
};

const char *const storage_names[] = {
#define STORAGE(id, name, ...) name,
#include "lib/model/kinds/templates.def"
#undef STORAGE
	NULL};

const char *const storage_listed_names[] = {
#define LISTED(name) name,
#define UNLISTED(name)
#define STORAGE(id, name, listed, ...) listed(name)
#include "lib/model/kinds/templates.def"
#undef LISTED
#undef UNLISTED
#undef STORAGE
#undef DISK_TEMPLATE
	NULL};

const struct template_info template_table[TEMPLATE_COUNT] = {
#define STORAGE(id, ...)
#define DISK_TEMPLATE(id, class, driver, number, name_, ...) \
	[number] = {.name = name_, __VA_ARGS__},
#include "lib/model/kinds/templates.def"
#undef DISK_TEMPLATE
};

const char *const template_names[] = {
#define DISK_TEMPLATE(id, class, driver, number, name, ...) name,
#include "lib/model/kinds/templates.def"
#undef DISK_TEMPLATE
#undef STORAGE
	NULL};
/* clang-format on */

static const struct template_info unknown = {.storage = STORAGE_DISKLESS};

const struct storage_info *storage_find(const char *name)
{
	for (size_t i = 0; i < STORAGE_COUNT; i++)
		if (str_eq(storage_table[i].name, name))
			return &storage_table[i];
	return NULL;
}

const struct template_info *template_find(const char *name)
{
	for (size_t i = 0; i < TEMPLATE_COUNT; i++)
		if (str_eq(template_table[i].name, name))
			return &template_table[i];
	return NULL;
}

const struct template_info *template_get(const char *name)
{
	const struct template_info *found = template_find(name);

	return found == NULL ? &unknown : found;
}

const char *template_of_data(const struct template_info *t)
{
	return t->below == NULL ? t->name : t->below;
}

const struct storage_info *template_storage(const struct template_info *t)
{
	return &storage_table[t->storage];
}

bool template_is_file(const char *name)
{
	return template_get(name)->file;
}

bool template_is_mirrored(const char *name)
{
	return template_get(name)->mirror != MIRROR_NONE;
}

bool template_is_everywhere(const char *name)
{
	return template_get(name)->mirror == MIRROR_EXTERNAL;
}

bool template_is_pair(const char *name)
{
	return template_get(name)->mirror == MIRROR_INTERNAL;
}

bool template_is_on_volumes(const char *name)
{
	return template_get(name)->storage == STORAGE_LVM_VG;
}

bool template_is_volume(const char *name)
{
	return template_get(name)->named == NAMED_AS_VOLUME;
}
