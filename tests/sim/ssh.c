/* SPDX-License-Identifier: BSD-2-Clause */
/* SSH keys of a scripted node: numbers in place of keys.  What it lets in is
 * text, edited as real nodes do. */
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/files/ssh_keys.h"
#include "tests/sim/sim.h"

static char *key_id(unsigned key)
{
	return xprintf("ssh-rsa %u", key);
}

static unsigned new_key(void)
{
	return (unsigned)random_below(1u << 30) + 1;
}

static json_t *key_or_null(unsigned key)
{
	auto_free char *id = key_id(key);

	return key == 0 ? json_null() : json_string(id);
}

static void let_in(struct sim_node *n, const json_t *what)
{
	auto_strv struct strv authorized = {0}, withdrawn = {0};
	struct ssh_keys_change change = {&authorized, &withdrawn,
					 json_bool(what, "complete", false)};
	auto_free char *before = n->ssh_authorized;

	json_to_strv(json_get(what, "authorized"), &authorized);
	json_to_strv(json_get(what, "withdrawn"), &withdrawn);
	n->ssh_authorized =
		ssh_keys_authorize(before == NULL ? "" : before, &change);
}

static void write_public(struct sim_node *n, const json_t *keys)
{
	struct disk *disk = &n->disk.disk;
	auto_free char *text = ssh_keys_public_text(keys);
	struct error ignored;

	disk->write_atomic(disk, path(n->paths, PATH_SSH_PUB_KEYS), text,
			   strlen(text), 0600, &ignored);
}

json_t *sim_ssh_keys(struct sim_node *n, const json_t *args)
{
	const char *step = json_string_value(json_array_get(args, 0));
	const json_t *what = json_array_get(args, 1);

	if (str_eq(n->fail_on, step))
		return json_make("[b, s]", 0, "it was told to fail");
	if (str_eq(step, "give")) {
		let_in(n, what);
		write_public(n, json_get(what, "public"));
		return json_make("[b, n]", 1);
	}
	if (str_eq(step, "make") && n->ssh_key == 0)
		n->ssh_key = new_key();
	if (str_eq(step, "stage"))
		n->ssh_next = new_key();
	if (str_eq(step, "switch") && n->ssh_next != 0)
		n->ssh_key = n->ssh_next;
	if (str_eq(step, "switch") || str_eq(step, "finish"))
		n->ssh_next = 0;
	return json_make("[b, {s:[o], s:o, s:[]}]", 1, "keys",
			 key_or_null(n->ssh_key), "staged",
			 key_or_null(n->ssh_next), "host_keys");
}

bool sim_ssh_lets_in(const struct sim_node *to, const struct sim_node *from)
{
	auto_free char *id = key_id(from->ssh_key);
	auto_free char *start = xprintf("%s ", id);

	return to->ssh_authorized != NULL &&
	       strstr(to->ssh_authorized, start) != NULL;
}
