/* SPDX-License-Identifier: BSD-2-Clause */
/* What values an opcode's parameters may have, beyond their type.  Private to
 * the opcode table. */
#ifndef MODEL_OPCODE_OPCODE_CHECKS_H
#define MODEL_OPCODE_OPCODE_CHECKS_H

#include <jansson.h>
#include <stdbool.h>

/* How a value is checked: by a list of words, or by a predicate (neither: any
 * value of the type is good); and a text that says what is expected. */
struct op_rule {
	const char *const *words;
	bool (*ok)(const json_t *value);
	const char *expects;
};

#define OP_RULES(X)                                                            \
	X(ANY)                                                                 \
	X(NONEMPTY)                                                            \
	X(NAME)                                                                \
	X(LINE)                                                                \
	X(NONNEG)                                                              \
	X(POSITIVE)                                                            \
	X(DISK_INDEX)                                                          \
	X(IP4)                                                                 \
	X(IP4_NETWORK)                                                         \
	X(IP6)                                                                 \
	X(IP6_NETWORK)                                                         \
	X(EXPORT_MODE)                                                         \
	X(MASTER_FAILOVER)                                                     \
	X(SSH_KEY_TYPE)                                                        \
	X(HYPERVISOR)                                                          \
	X(DISK_TEMPLATE)                                                       \
	X(ALLOC_POLICY)                                                        \
	X(FILE_DRIVER)                                                         \
	X(CREATE_MODE)                                                         \
	X(MIGRATION_MODE)                                                      \
	X(REBOOT_TYPE)                                                         \
	X(REPLACE_MODE)                                                        \
	X(ADMIN_STATE_SOURCE)                                                  \
	X(NIC_MODE)                                                            \
	X(EVAC_MODE)                                                           \
	X(OOB_COMMAND)                                                         \
	X(QUERY_RESOURCE)                                                      \
	X(TAG_KIND)                                                            \
	X(STORAGE_TYPE)                                                        \
	X(ALLOCATOR_DIRECTION)                                                 \
	X(ALLOCATOR_MODE)                                                      \
	X(DICT)                                                                \
	X(DICT_OF_DICT)                                                        \
	X(DICT_BOOL)                                                           \
	X(DICT_INT)                                                            \
	X(DISK_PARAMS)                                                         \
	X(NODE_OR_LIST)                                                        \
	X(LIST)                                                                \
	X(LIST_STR)                                                            \
	X(LIST_NONEMPTY)                                                       \
	X(LIST_DICT)                                                           \
	X(LIST_RANGE)                                                          \
	X(LIST_IP4)                                                            \
	X(LIST_HYPERVISOR)                                                     \
	X(LIST_DISK_TEMPLATE)                                                  \
	X(LIST_OS_CHANGE)                                                      \
	X(LIST_SKIP_CHECK)                                                     \
	X(LIST_VERIFY_ERROR)                                                   \
	X(LIST_DISK_INDEX)                                                     \
	X(LIST_RECREATE)                                                       \
	X(LIST_CHANGE)                                                         \
	X(PRIORITY)                                                            \
	X(DEPENDS)                                                             \
	X(REASON)

#define X(name) extern const struct op_rule op_rule_##name;
OP_RULES(X)
#undef X

/* The problems that a cluster verification may name; NULL ends. */
extern const char *const op_verify_errors[];

/* Whether the value is one that the rule allows. */
bool op_rule_ok(const struct op_rule *rule, const json_t *value);

/* "one of 'a', 'b'" or "a list of ..."; to be freed. */
char *op_rule_text(const struct op_rule *rule);

#endif
