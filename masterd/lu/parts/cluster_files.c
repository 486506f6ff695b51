/* SPDX-License-Identifier: BSD-2-Clause */
/* Files are read on the master and sent to all nodes at once with the call
 * upload_file_single.  A failure on one node is a warning and
 * counted; the others still get the file.  Buffers with secrets are overwritten
 * when freed. */
#include "masterd/lu/parts/cluster_files.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/content.h"
#include "lib/model/files/owners.h"

#define SECRET_MAX (1024 * 1024)
#define RAPI_USERS_MODE 0640
#define HOSTS_MODE 0644

static void add_online(struct lu *lu, struct strv *ret)
{
	auto_strv struct strv all = {0};

	config_sorted(lu->m->config, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++)
		if (!node_offline(config_get(lu->m->config, CONFIG_NODE,
					     all.items[i])))
			strv_add(ret, all.items[i]);
}

size_t cluster_files_give(struct lu *lu, enum path_id id, mode_t mode,
			  const char *text, size_t len)
{
	const char *file = paths_plain(id);
	auto_strv struct strv uuids = {0};
	struct node_result *results;
	double now = clock_seconds();
	const char *user, *group;
	size_t n, failed = 0;

	owners_names(id, &user, &group);
	add_online(lu, &uuids);
	results = lu_call_nodes(
		lu, &uuids,
		rpc_upload_file_single(file, content_pack(text, len), mode,
				       user, group, now, now),
		&n);
	for (size_t i = 0; i < n; i++) {
		if (results[i].err == NULL)
			continue;
		failed++;
		lu_warn(lu, "Copy of file %s to node %s failed: %s", file,
			node_name(results[i].node), results[i].err->text);
	}
	node_results_free(results, n);
	return failed;
}

char *cluster_files_read(struct lu *lu, const char *file, size_t *ret_len,
			 struct error *err)
{
	struct disk *disk = lu->m->disk;
	char *text;

	task_leave();
	text = disk->read(disk, file, SECRET_MAX, ret_len, err);
	task_enter();
	return text;
}

void cluster_files_free(char *text, size_t len)
{
	if (text != NULL)
		explicit_bzero(text, len);
	free(text);
}

/* Give the nodes what is here, if anything is; how many nodes lack it then. */
static WAITS size_t give_present(struct lu *lu, enum path_id id, mode_t mode)
{
	const char *file = path(lu->m->paths, id);
	struct error err;
	size_t len, failed;
	char *text;

	if (!lu->m->disk->exists(lu->m->disk, file))
		return 0;
	text = cluster_files_read(lu, file, &len, &err);
	if (text == NULL) {
		lu_warn(lu, "%s", err.text);
		return 1;
	}
	failed = cluster_files_give(lu, id, mode, text, len);
	cluster_files_free(text, len);
	return failed;
}

void cluster_files_give_users(struct lu *lu)
{
	give_present(lu, PATH_RAPI_USERS, RAPI_USERS_MODE);
}

size_t cluster_files_give_hosts(struct lu *lu)
{
	if (!cluster_modify_etc_hosts(config_cluster(lu->m->config)))
		return 0;
	return give_present(lu, PATH_ETC_HOSTS, HOSTS_MODE);
}

size_t cluster_files_give_shared(struct lu *lu)
{
	size_t n, failed = 0;
	const struct secret_file *all = secret_files(&n);

	for (size_t i = 0; i < n; i++)
		if (all[i].shared || all[i].id == PATH_KNOWN_HOSTS)
			failed += give_present(lu, all[i].id, all[i].mode);
	failed += cluster_files_give_hosts(lu);
	return failed + give_present(lu, PATH_RAPI_USERS, RAPI_USERS_MODE);
}
