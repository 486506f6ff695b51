/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and setting the members of config.data's objects, so that a member
 * that does not exist and one of another type do not compile.  From each line
 * of config_fields.def come
 *
 *   node_offline(node)              reads the member
 *   node_set_offline(object, value) sets it
 *   node_own_tags(object)           the value, to be changed where it stands
 *   node_offline_or(node, fallback) reads it with a fallback of one's own
 *   node_offline_value(node)        the value as it stands there, NULL where it
 *                                   is missing or null
 *   node_has_offline(node)          whether there is one that is not null
 *   node_drop_offline(object)       takes it away
 *
 * with the object's name in front: object (any), document, cluster, node,
 * group, inst, disk, nic, network, job_filter, ipolicy, bounds, collector. From
 * each line of params.def's tables be, nic and nd comes a reader of the filled
 * parameters: be_maxmem(be), nicparams_link(filled), nd_ssh_port(nd).
 *
 * CONFIG_MEMBER(cluster, os_hvp) is the member's name as a text, for a function
 * that does the same with several.
 *
 * What a reader returns is borrowed from the object.  Where the member is
 * missing or null, and where there is no object (NULL), it is the table's
 * fallback.  A file in which a member has another
 * type is not loaded (config_check.h).
 *
 * The object that is set must be one's own, new or from config_edit().  Texts
 * are copied, and a text that is NULL becomes null.  A VALUE is given away. */
#ifndef MODEL_CONFIG_CONFIG_OBJECTS_H
#define MODEL_CONFIG_CONFIG_OBJECTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/model/params/params_read.h"

typedef const char *config_take_STR, *config_give_STR;
typedef bool config_take_BOOL, config_give_BOOL;
typedef int64_t config_take_INT, config_give_INT;
typedef double config_take_NUM, config_give_NUM;
typedef const json_t *config_take_VALUE;
typedef json_t *config_give_VALUE;

#define CONFIG_READ_STR json_str
#define CONFIG_READ_BOOL json_bool
#define CONFIG_READ_INT json_int
#define CONFIG_READ_NUM json_num
#define CONFIG_READ_VALUE config_read_value

static inline const json_t *config_read_value(const json_t *object,
					      const char *member,
					      const json_t *fallback)
{
	const json_t *value = json_get(object, member);

	return value == NULL ? fallback : value;
}

#define CONFIG_WRITE_STR json_set_str
#define CONFIG_WRITE_BOOL json_set_bool
#define CONFIG_WRITE_INT json_set_int
#define CONFIG_WRITE_NUM(object, member, value)                                \
	json_object_set_new(object, member, json_real(value))
#define CONFIG_WRITE_VALUE json_object_set_new

#define FIELD_AS(object, name, member, kind, fallback, form, needed)           \
	static inline config_take_##kind object##_##name(const json_t *from)   \
	{                                                                      \
		return CONFIG_READ_##kind(from, member, fallback);             \
	}                                                                      \
	static inline config_take_##kind object##_##name##_or(                 \
		const json_t *from, config_take_##kind otherwise)              \
	{                                                                      \
		return CONFIG_READ_##kind(from, member, otherwise);            \
	}                                                                      \
	static inline void object##_set_##name(json_t *changed,                \
					       config_give_##kind value)       \
	{                                                                      \
		CONFIG_WRITE_##kind(changed, member, value);                   \
	}                                                                      \
	static inline const json_t *object##_##name##_value(                   \
		const json_t *from)                                            \
	{                                                                      \
		return json_get(from, member);                                 \
	}                                                                      \
	static inline bool object##_has_##name(const json_t *from)             \
	{                                                                      \
		return json_get(from, member) != NULL;                         \
	}                                                                      \
	static inline json_t *object##_own_##name(json_t *changed)             \
	{                                                                      \
		return json_object_get(changed, member);                       \
	}                                                                      \
	static inline void object##_drop_##name(json_t *changed)               \
	{                                                                      \
		json_object_del(changed, member);                              \
	}
#define FIELD(object, member, ...)                                             \
	FIELD_AS(object, member, #member, __VA_ARGS__)
#include "lib/model/config/config_fields.def"
#undef FIELD
#undef FIELD_AS

/* The text, and a name that does not compile if there is no such member. */
#define CONFIG_MEMBER(object, member) ((void)&object##_has_##member, #member)

#endif
