/* SPDX-License-Identifier: BSD-2-Clause */
/* Several lock levels stand for one kind of object: a node and its resources,
 * an instance and its disks.  Locks are named by UUID; the text for people has
 * the object's name, or the UUID where the object is unknown. */
#include "masterd/jobs/lock_object.h"

#include "lib/base/mem.h"
#include "masterd/config/config.h"

int lock_object_kind(enum lock_level level)
{
	switch (level) {
	case LOCK_INSTANCE:
	case LOCK_INSTANCE_DISKS:
		return CONFIG_INSTANCE;
	case LOCK_NODEGROUP:
		return CONFIG_GROUP;
	case LOCK_NODE:
	case LOCK_NODE_RES:
		return CONFIG_NODE;
	case LOCK_NETWORK:
		return CONFIG_NETWORK;
	default:
		return -1;
	}
}

const char *lock_object_word(enum lock_level level)
{
	switch (level) {
	case LOCK_NODE_RES:
		return lock_level_name(LOCK_NODE);
	case LOCK_INSTANCE_DISKS:
		return lock_level_name(LOCK_INSTANCE);
	default:
		return lock_level_name(level);
	}
}

char *lock_object_text(const struct config *c, enum lock_level level,
		       const char *name)
{
	int kind = lock_object_kind(level);
	const json_t *object = NULL;

	if (name != NULL && kind >= 0)
		object = config_get(c, (enum config_kind)kind, name);
	if (object != NULL) /* by UUID */
		name = config_name(c, (enum config_kind)kind, name);
	return xprintf("%s/%s", lock_level_name(level),
		       name == NULL ? "[lockset]" : name);
}
