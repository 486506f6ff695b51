/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks in other logical units: found by name, and as variables of hooks. */
#include "masterd/lu/parts/lu_net.h"

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"

const json_t *lu_net_find(struct lu *lu, const char *name, struct error *err)
{
	return lu_keep(lu,
		       config_expect(lu->m->config, CONFIG_NETWORK, name, err));
}

void lu_net_env(const json_t *network, const char *prefix, json_t *env)
{
	static const struct {
		const char *variable, *key;
	} table[] = {
		{"NETWORK_NAME", "name"},
		{"NETWORK_SUBNET", "network"},
		{"NETWORK_GATEWAY", "gateway"},
		{"NETWORK_SUBNET6", "network6"},
		{"NETWORK_GATEWAY6", "gateway6"},
		{"NETWORK_MAC_PREFIX", "mac_prefix"},
		{"NETWORK_UUID", "uuid"},
	};
	auto_strv struct strv tags = {0};
	auto_free char *text = NULL, *tags_name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *value = json_str(network, table[i].key, NULL);
		auto_free char *name =
			xprintf("%s%s", prefix, table[i].variable);

		if (value != NULL)
			json_set_str(env, name, value);
	}
	json_to_strv(network_tags(network), &tags);
	text = strv_join(&tags, " ");
	tags_name = xprintf("%sNETWORK_TAGS", prefix);
	if (tags.n > 0 || *prefix != '\0')
		json_set_str(env, tags_name, text);
}
