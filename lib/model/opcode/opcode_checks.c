/* SPDX-License-Identifier: BSD-2-Clause */
/* The value checks of the opcode table.  The type of a parameter has been
 * checked before (string, boolean, number), except for those that are JSON. */
#include "lib/model/opcode/opcode_checks.h"

#include <arpa/inet.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"

#define DISKS_MAX 16
#define ADDRESS_MAX 64

typedef bool check_fn(const json_t *value);

/* --- lists and dicts of one kind of member --- */

static bool list_of(const json_t *value, check_fn *ok)
{
	size_t i;
	json_t *item;

	if (!json_is_array(value))
		return false;
	json_array_foreach (value, i, item)
		if (!ok(item))
			return false;
	return true;
}

static bool dict_of(const json_t *value, check_fn *ok)
{
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return false;
	json_object_foreach (json_unconst(value), key, item)
		if (!ok(item))
			return false;
	return true;
}

/* --- single values --- */

static bool is_array(const json_t *value)
{
	return json_is_array(value);
}

static bool is_dict(const json_t *value)
{
	return json_is_object(value);
}

static bool is_str(const json_t *value)
{
	return json_is_string(value);
}

static bool is_bool(const json_t *value)
{
	return json_is_boolean(value);
}

static bool is_int(const json_t *value)
{
	return json_is_integer(value);
}

static bool is_nonempty(const json_t *value)
{
	return json_is_string(value) && json_string_length(value) > 0;
}

/* These texts get into lines of files, such as ssconf's, so they must not
 * contain a line break. */
static bool is_line(const json_t *value)
{
	return json_is_string(value) &&
	       str_valid_line(json_string_value(value));
}

static bool is_name(const json_t *value)
{
	return is_nonempty(value) && is_line(value);
}

static bool is_nonneg(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_positive(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) > 0;
}

static bool is_disk_index(const json_t *value)
{
	return is_nonneg(value) && json_integer_value(value) < DISKS_MAX;
}

static bool is_address(const json_t *value, int family)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return json_is_string(value) &&
	       inet_pton(family, json_string_value(value), bytes) == 1;
}

/* address/prefix length */
static bool is_network(const json_t *value, int family, int bits_max)
{
	const char *text = json_string_value(value);
	const char *slash = text == NULL ? NULL : strchr(text, '/');
	unsigned char bytes[sizeof(struct in6_addr)];
	char address[ADDRESS_MAX] = "";
	int64_t bits;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
		return false;
	memcpy(address, text, (size_t)(slash - text));
	return inet_pton(family, address, bytes) == 1 &&
	       str_to_int64(slash + 1, &bits) && bits >= 0 && bits <= bits_max;
}

static bool is_ip4(const json_t *value)
{
	return is_address(value, AF_INET);
}

static bool is_ip6(const json_t *value)
{
	return is_address(value, AF_INET6);
}

static bool is_ip4_network(const json_t *value)
{
	return is_network(value, AF_INET, 32);
}

static bool is_ip6_network(const json_t *value)
{
	return is_network(value, AF_INET6, 128);
}

/* --- words --- */

static bool is_word(const json_t *value, const char *const *words)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text != NULL && words[i] != NULL; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static const char *const os_changes[] = {"add", "attach", "detach", "remove",
					 NULL};
static const char *const changes[] = {"add",	"attach", "detach",
				      "modify", "remove", NULL};
static const char *const skip_checks[] = {"nplusone_mem", "hvparam_assessment",
					  NULL};
static const char *const final_states[] = {"canceled", "success", "error",
					   NULL};
const char *const op_verify_errors[] = {
#define CODE(code, kind) #code,
#include "lib/model/verify_codes.def"
#undef CODE
	NULL};

static bool is_hypervisor(const json_t *value)
{
	return is_word(value, hypervisor_names);
}

static bool is_disk_template(const json_t *value)
{
	return is_word(value, template_names);
}

static bool is_skip_check(const json_t *value)
{
	return is_word(value, skip_checks);
}

static bool is_verify_error(const json_t *value)
{
	return is_word(value, op_verify_errors);
}

static bool is_final_state(const json_t *value)
{
	return is_word(value, final_states);
}

/* --- small structures --- */

static bool is_list_nonempty(const json_t *value)
{
	return list_of(value, is_nonempty);
}

static bool is_list_str(const json_t *value)
{
	return list_of(value, is_str);
}

static bool is_list_dict(const json_t *value)
{
	return list_of(value, is_dict);
}

static bool is_list_ip4(const json_t *value)
{
	return list_of(value, is_ip4);
}

static bool is_list_hypervisor(const json_t *value)
{
	return list_of(value, is_hypervisor);
}

static bool is_list_disk_template(const json_t *value)
{
	return list_of(value, is_disk_template);
}

static bool is_list_skip_check(const json_t *value)
{
	return list_of(value, is_skip_check);
}

static bool is_list_verify_error(const json_t *value)
{
	return list_of(value, is_verify_error);
}

static bool is_list_disk_index(const json_t *value)
{
	return list_of(value, is_disk_index);
}

static bool is_dict_of_dict(const json_t *value)
{
	return dict_of(value, is_dict);
}

static bool is_dict_bool(const json_t *value)
{
	return dict_of(value, is_bool);
}

static bool is_dict_int(const json_t *value)
{
	return dict_of(value, is_int);
}

static bool is_disk_params(const json_t *value)
{
	const char *key;
	json_t *item;

	if (!is_dict_of_dict(value))
		return false;
	json_object_foreach (json_unconst(value), key, item) {
		auto_json json_t *name = json_string(key);

		if (!is_disk_template(name))
			return false;
	}
	return true;
}

static bool is_node_or_list(const json_t *value)
{
	return is_nonempty(value) || json_is_array(value);
}

static bool is_range(const json_t *value)
{
	return json_array_size(value) == 2 && list_of(value, is_int);
}

static bool is_list_range(const json_t *value)
{
	return list_of(value, is_range);
}

static bool is_os_change(const json_t *value)
{
	return json_array_size(value) == 2 &&
	       is_word(json_array_get(value, 0), os_changes) &&
	       is_nonempty(json_array_get(value, 1));
}

static bool is_list_os_change(const json_t *value)
{
	return list_of(value, is_os_change);
}

/* A disk's index, or [index, {parameters}]. */
static bool is_recreate(const json_t *value)
{
	if (json_is_integer(value))
		return is_disk_index(value);
	return json_array_size(value) == 2 &&
	       is_disk_index(json_array_get(value, 0)) &&
	       json_is_object(json_array_get(value, 1));
}

static bool is_list_recreate(const json_t *value)
{
	return list_of(value, is_recreate);
}

/* [action, index or name, {parameters}]; the form before Ganeti 2.7 was [action
 * or index, {parameters}]. */
static bool is_change(const json_t *value)
{
	const json_t *first = json_array_get(value, 0);
	const json_t *second = json_array_get(value, 1);
	size_t n = json_array_size(value);

	if (n == 3)
		return is_word(first, changes) &&
		       (json_is_integer(second) || json_is_string(second)) &&
		       json_is_object(json_array_get(value, 2));
	return n == 2 && (json_is_integer(first) || is_word(first, changes)) &&
	       json_is_object(second);
}

static bool is_list_change(const json_t *value)
{
	return list_of(value, is_change);
}

/* --- parameters of every opcode --- */

static bool is_priority(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return json_is_integer(value) && (n == -10 || n == 0 || n == 10);
}

/* A job's id (as a number or text), or a negative number that counts back from
 * this job among the jobs of the same submission. */
static bool is_job(const json_t *value)
{
	int64_t n;

	if (json_is_string(value))
		return str_to_int64(json_string_value(value), &n) && n > 0;
	return json_is_integer(value) && json_integer_value(value) != 0;
}

static bool is_dependency(const json_t *value)
{
	return json_array_size(value) == 2 &&
	       is_job(json_array_get(value, 0)) &&
	       list_of(json_array_get(value, 1), is_final_state);
}

static bool is_depends(const json_t *value)
{
	return list_of(value, is_dependency);
}

static bool is_reason_step(const json_t *value)
{
	return json_array_size(value) == 3 &&
	       json_is_string(json_array_get(value, 0)) &&
	       json_is_string(json_array_get(value, 1)) &&
	       json_is_number(json_array_get(value, 2));
}

static bool is_reason(const json_t *value)
{
	return list_of(value, is_reason_step);
}

/* --- the rules --- */

#define RULE(name, fn, text)                                                   \
	const struct op_rule op_rule_##name = {.ok = fn, .expects = text};
#define WORDS(name, ...)                                                       \
	const struct op_rule op_rule_##name = {                                \
		.words = (const char *const[]){__VA_ARGS__, NULL}};

/* clang-format off */
const struct op_rule op_rule_ANY = {.expects = "a value"};
const struct op_rule op_rule_HYPERVISOR = {.words = hypervisor_names};
const struct op_rule op_rule_DISK_TEMPLATE = {.words = template_names};
const struct op_rule op_rule_STORAGE_TYPE = {.words = storage_names};
RULE(NONEMPTY, is_nonempty, "a string that is not empty")
RULE(NAME, is_name, "a name without control characters")
RULE(LINE, is_line, "a string without control characters")
RULE(NONNEG, is_nonneg, "an integer that is not negative")
RULE(POSITIVE, is_positive, "an integer greater than 0")
RULE(DISK_INDEX, is_disk_index, "a disk's index from 0 to 15")
RULE(IP4, is_ip4, "an IPv4 address")
RULE(IP4_NETWORK, is_ip4_network, "an IPv4 network (address/bits)")
RULE(IP6, is_ip6, "an IPv6 address")
RULE(IP6_NETWORK, is_ip6_network, "an IPv6 network (address/bits)")
RULE(DICT, is_dict, "a dictionary")
RULE(DICT_OF_DICT, is_dict_of_dict, "a dictionary of dictionaries")
RULE(DICT_BOOL, is_dict_bool, "a dictionary of booleans")
RULE(DICT_INT, is_dict_int, "a dictionary of integers")
RULE(DISK_PARAMS, is_disk_params, "a dictionary of dictionaries by disk template")
RULE(NODE_OR_LIST, is_node_or_list, "a node's name or a list")
RULE(LIST, is_array, "a list")
RULE(LIST_STR, is_list_str, "a list of strings")
RULE(LIST_NONEMPTY, is_list_nonempty, "a list of strings that are not empty")
RULE(LIST_DICT, is_list_dict, "a list of dictionaries")
RULE(LIST_RANGE, is_list_range, "a list of [first, last]")
RULE(LIST_IP4, is_list_ip4, "a list of IPv4 addresses")
RULE(LIST_HYPERVISOR, is_list_hypervisor, "a list of hypervisors")
RULE(LIST_DISK_TEMPLATE, is_list_disk_template, "a list of disk templates")
RULE(LIST_OS_CHANGE, is_list_os_change, "a list of [\"add\" or \"remove\", OS name]")
RULE(LIST_SKIP_CHECK, is_list_skip_check, "a list of checks (\"nplusone_mem\")")
RULE(LIST_VERIFY_ERROR, is_list_verify_error, "a list of error codes of gnt-cluster verify")
RULE(LIST_DISK_INDEX, is_list_disk_index, "a list of disk indices from 0 to 15")
RULE(LIST_RECREATE, is_list_recreate, "a list of disk indices or of [index, {parameters}]")
RULE(LIST_CHANGE, is_list_change, "a list of [action, index or name, {parameters}]")
RULE(PRIORITY, is_priority, "-10 (high), 0 (normal) or 10 (low)")
RULE(DEPENDS, is_depends, "a list of [job, [states]]")
RULE(REASON, is_reason, "a list of [source, text, nanoseconds]")
WORDS(EXPORT_MODE, "local", "remote")
WORDS(MASTER_FAILOVER, "manual", "automatic")
WORDS(SSH_KEY_TYPE, "dsa", "ecdsa", "rsa")
WORDS(ALLOC_POLICY, "preferred", "last_resort", "unallocable")
WORDS(FILE_DRIVER, "loop", "blktap", "blktap2")
WORDS(CREATE_MODE, "create", "import", "remote-import")
WORDS(MIGRATION_MODE, "live", "non-live")
WORDS(REBOOT_TYPE, "soft", "hard", "full")
WORDS(REPLACE_MODE, "replace_on_primary", "replace_on_secondary",
      "replace_new_secondary", "replace_auto")
WORDS(ADMIN_STATE_SOURCE, "admin", "user")
WORDS(NIC_MODE, "bridged", "openvswitch", "pool", "routed")
WORDS(EVAC_MODE, "all", "primary-only", "secondary-only")
WORDS(OOB_COMMAND, "health", "power-cycle", "power-off", "power-on",
      "power-status")
WORDS(QUERY_RESOURCE, "cluster", "export", "extstorage", "filter", "group",
      "instance", "job", "lock", "network", "node", "os")
WORDS(TAG_KIND, "cluster", "instance", "network", "node", "nodegroup")
WORDS(ALLOCATOR_DIRECTION, "in", "out")
WORDS(ALLOCATOR_MODE, "allocate", "allocate-secondary", "change-group",
      "multi-allocate", "node-evacuate", "relocate")
/* clang-format on */

bool op_rule_ok(const struct op_rule *rule, const json_t *value)
{
	if (rule->words != NULL)
		return is_word(value, rule->words);
	return rule->ok == NULL || rule->ok(value);
}

static void add_words(struct buf *text, const char *const *words)
{
	for (size_t i = 0; words[i] != NULL; i++)
		buf_addf(text, "%s'%s'", i == 0 ? "" : ", ", words[i]);
}

char *op_rule_text(const struct op_rule *rule)
{
	struct buf text = {0};

	if (rule->words != NULL) {
		buf_adds(&text, "one of ");
		add_words(&text, rule->words);
		return buf_steal(&text);
	}
	buf_adds(&text, rule->expects);
	if (rule == &op_rule_LIST_HYPERVISOR ||
	    rule == &op_rule_LIST_DISK_TEMPLATE) {
		buf_adds(&text, " (");
		add_words(&text, rule == &op_rule_LIST_HYPERVISOR
					 ? hypervisor_names
					 : template_names);
		buf_addc(&text, ')');
	}
	return buf_steal(&text);
}
