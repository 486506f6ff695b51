/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: what xl prints.  A line of xl list ends with five columns that have no
 * blanks in them; all before is the name.  A line that cannot be read is an
 * error, as a domain that is overlooked would be taken for stopped, and started
 * elsewhere. */
#include <inttypes.h>
#include <string.h>

#include "lib/json/json.h"
#include "noded/hv/xen/hv_xen.h"

#define COLUMNS 5
/* More memory, CPUs, ids than a host can have. */
#define NUMBER_MAX (UINT64_C(1) << 40)
#define DOM0 "Domain-0"
#define LIST_TRIES 5
#define LIST_AGAIN_MS 500

void xen_domains_done(struct xen_domains *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->items[i].name);
	free(d->items);
	*d = (struct xen_domains){0};
}

/* --- xl list --- */

/* The flags r b p s and d, each in its place or "-", and before d the reason of
 * a shutdown. */
static bool is_state(const char *s)
{
	static const char *const allowed[] = {"r-", "b-",     "p-",
					      "s-", "-rscw?", "d-"};

	for (size_t i = 0; i < 6; i++)
		if (s[i] == '\0' || strchr(allowed[i], s[i]) == NULL)
			return false;
	return s[6] == '\0';
}

/* It has ended by a crash; xl makes it anew, or it goes. */
static bool has_crashed(const char *state)
{
	return state[4] == 'c' || (state[3] == 's' && state[4] == 'w');
}

/* A domain that is suspended or reboots is on its way back. */
static int64_t state_of(const char *state)
{
	return state[3] == 's' && state[4] != 'r' && state[4] != 's'
		       ? HV_SHUTDOWN
		       : HV_RUNNING;
}

/* Cut the last word off the line; NULL: there is none. */
static char *last_word(char *line)
{
	size_t len = strlen(line);
	char *at;

	while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
		len--;
	line[len] = '\0';
	for (at = line + len; at > line && strchr(" \t", at[-1]) == NULL; at--)
		;
	if (*at == '\0')
		return NULL;
	if (at > line)
		at[-1] = '\0';
	return at == line ? NULL : at;
}

static bool read_number(const char *word, int64_t *ret)
{
	uint64_t n;

	if (!str_to_number(word, NUMBER_MAX, &n, NULL))
		return false;
	*ret = (int64_t)n;
	return true;
}

/* The columns of one line; false: it is none.  *ret_state lies in line. */
static bool read_line(char *line, struct xen_domain *ret,
		      const char **ret_state)
{
	char *words[COLUMNS]; /* from the last */
	struct hv_info info = {0};

	for (size_t i = 0; i < COLUMNS; i++) {
		words[i] = last_word(line);
		if (words[i] == NULL)
			return false;
	}
	if (!str_to_double(words[0], &info.time) || info.time < 0 ||
	    !is_state(words[1]) || !read_number(words[2], &info.vcpus) ||
	    !read_number(words[3], &info.memory) ||
	    !read_number(words[4], &ret->id))
		return false;
	info.state = state_of(words[1]);
	for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--)
		line[n - 1] = '\0';
	ret->info = info;
	ret->name = line;
	*ret_state = words[1];
	return true;
}

static bool is_heading(const char *line)
{
	return str_starts(line, "Name ") && strstr(line, "State") != NULL;
}

int xen_parse_list(const char *text, struct xen_domains *ret, struct error *err)
{
	auto_strv struct strv lines = {0};
	auto_domains struct xen_domains found = {0};
	const char *state;

	str_split(&lines, text, '\n');
	if (!is_heading(text))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Can't parse instance list: it has no "
				 "heading");
	found.items = xcalloc(lines.n + 1, sizeof(*found.items));
	for (size_t i = 1; i < lines.n; i++) {
		auto_free char *line = xstrdup(lines.items[i]);
		struct xen_domain domain = {0};

		if (line[strspn(line, " \t\r")] == '\0')
			continue;
		if (!read_line(line, &domain, &state)) {
			str_repair_utf8(lines.items[i]);
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "Can't parse instance list, line: %s",
					 lines.items[i]);
		}
		/* One that is about to be gone has lost its name. */
		if (has_crashed(state) || !str_valid_hostname(domain.name))
			continue;
		domain.name = xstrdup(domain.name);
		found.items[found.n++] = domain;
	}
	*ret = found;
	found = (struct xen_domains){0};
	return 0;
}

/* The toolstack fails for a moment while it is restarted. */
int xen_list(struct xen_domains *ret, struct error *err)
{
	static const char *const words[] = {"list", NULL};
	auto_free char *out = NULL;
	int rc = -1;

	for (int i = 0; rc < 0 && i < LIST_TRIES; i++) {
		if (i > 0)
			task_sleep(LIST_AGAIN_MS);
		rc = xen_xl(words, XEN_COMMAND_MS, &out, err);
		if (rc < 0 && !hv_has_program(XEN_COMMAND))
			break;
	}
	if (rc < 0)
		return error_wrap(err, "Listing instances failed");
	return xen_parse_list(out, ret, err);
}

const struct xen_domain *xen_find(const struct xen_domains *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->items[i].name, name) == 0)
			return &d->items[i];
	return NULL;
}

int xen_look(const char *name, struct hv_info *ret, int64_t *ret_id,
	     struct error *err)
{
	auto_domains struct xen_domains all = {0};
	const struct xen_domain *domain;

	if (xen_list(&all, err) < 0)
		return -1;
	domain = xen_find(&all, name);
	if (domain == NULL)
		return 0;
	*ret = domain->info;
	if (ret_id != NULL)
		*ret_id = domain->id;
	return 1;
}

/* --- xl info --- */

/* The number behind "key   : "; -1: there is none. */
static int64_t number_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; *line != '\0';) {
		const char *value = line + len;
		uint64_t n;

		if (strncmp(line, key, len) == 0 &&
		    *(value += strspn(value, " \t")) == ':') {
			value++;
			value += strspn(value, " \t");
			return str_to_number(value, NUMBER_MAX, &n, &value)
				       ? (int64_t)n
				       : -1;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return -1;
}

static void add_known(json_t *info, const char *name, int64_t value)
{
	if (value >= 0)
		json_set_int(info, name, value);
}

static void add_version(json_t *info, const char *text)
{
	int64_t major = number_of(text, "xen_major");
	int64_t minor = number_of(text, "xen_minor");

	if (major >= 0 && minor >= 0)
		json_object_set_new(info, "hv_version",
				    json_make("[I, I]", (json_int_t)major,
					      (json_int_t)minor));
}

json_t *xen_parse_info(const char *text, const struct xen_domains *domains,
		       struct error *err)
{
	int64_t total = number_of(text, "total_memory");
	int64_t free_memory = number_of(text, "free_memory");
	int64_t cpus = number_of(text, "nr_cpus");
	int64_t a_socket = number_of(text, "cores_per_socket") *
			   number_of(text, "threads_per_core");
	const struct xen_domain *dom0 = xen_find(domains, DOM0);
	int64_t used = 0;
	json_t *info;

	if (total < 0 || free_memory < 0 || cpus < 0) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Can't parse the answer of 'xl info': it does not "
			  "tell total_memory, free_memory and nr_cpus");
		return NULL;
	}
	info = json_object();
	json_set_int(info, "memory_total", total);
	json_set_int(info, "memory_free", free_memory);
	json_set_int(info, "cpu_total", cpus);
	add_known(info, "cpu_nodes", number_of(text, "nr_nodes"));
	json_set_int(info, "cpu_sockets", a_socket > 0 ? cpus / a_socket : 1);
	add_version(info, text);
	for (size_t i = 0; i < domains->n; i++)
		used += domains->items[i].info.memory;
	if (dom0 != NULL) {
		json_set_int(info, "memory_dom0", dom0->info.memory);
		json_set_int(info, "cpu_dom0", dom0->info.vcpus);
	}
	json_set_int(info, "memory_hv", total - free_memory - used);
	return info;
}
