/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts about parameters are made of key_texts.def; those about --disk and
 * --net stand here.  An entry for the parameter's own table goes before one for
 * its whole family, wherever the two stand in the list. */
#include "cli/values/key_texts.h"

#include <string.h>

const struct key_text key_texts[] = {
#define TEXT(family, table, name, text) {FAMILY_##family, table, name, text},
#include "cli/values/key_texts.def"
#undef TEXT
	{.name = NULL},
};

const struct key_text key_texts_disk[] = {
	{.name = "size", .text = "Its size, in MiB or with a unit (m, g, t)"},
	{.name = "mode", .text = "rw, or ro where the guest shall only read"},
	{.name = "name",
	 .text = "A name by which modify knows it; none takes it away"},
	{.name = "vg", .text = "The volume group, of plain and drbd"},
	{.name = "metavg",
	 .text = "The volume group of DRBD's own data, of drbd"},
	{.name = "adopt", .text = "A volume or device that is there already"},
	{.name = "access",
	 .text = "kernelspace or userspace, of external storage and rbd"},
	{.name = "provider",
	 .text = "Whose external storage it is; other keys are for it"},
	{.name = "format", .text = "raw or qcow2, of file and sharedfile"},
	{.name = "spindles", .text = "How many, where storage is exclusive"},
	{.name = NULL},
};

const struct key_text key_texts_nic[] = {
	{.name = "mac", .text = "Its MAC address, or auto or generate"},
	{.name = "ip",
	 .text = "Its address, none, or pool for one of its network"},
	{.name = "network", .text = "The network that it is in, or none"},
	{.name = "name", .text = "A name by which modify knows it"},
	{.name = NULL},
};

const char *key_text(enum param_family family, const char *table,
		     const char *name)
{
	const char *general = NULL;

	for (const struct key_text *t = key_texts; t->name != NULL; t++) {
		if (t->family != family || strcmp(t->name, name) != 0)
			continue;
		if (strcmp(t->table, table) == 0)
			return t->text;
		if (*t->table == '\0')
			general = t->text;
	}
	return general;
}
