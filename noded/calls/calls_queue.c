/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the job queue's files: Ganeti's for the copy that a candidate of
 * its master keeps, and ours for a server of the log that fetches the state
 * (doc/design/log.md). */
#include <stdlib.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/files/content.h"
#include "lib/model/files/queue_files.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"

/* From a virtual path to the name below the queue's folder, to be freed; NULL
 * with err when it is not in the queue. */
static char *queue_name(const struct call *c, const char *virtual_path,
			struct error *err)
{
	const char *folder = path(c->paths, PATH_QUEUE_DIR);
	size_t len = strlen(folder);
	auto_free char *file = paths_local(c->paths, virtual_path);

	if (strncmp(file, folder, len) == 0 && file[len] == '/' &&
	    queue_file_is_known(file + len + 1))
		return xstrdup(file + len + 1);
	error_set(err, ERR_REQUEST, NULL, "Not a file of the job queue: '%s'",
		  virtual_path);
	return NULL;
}

static void free_files(struct replica_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(files[i].name);
		free(files[i].text);
	}
	free(files);
}

/* The arguments of a call about one file. */
static int read_file(const struct call *c, const char *name,
		     const json_t *content, struct replica_file *ret,
		     struct error *err)
{
	ret->name = queue_name(c, name, err);
	if (ret->name == NULL)
		return -1;
	ret->text = content_read(content, &ret->len, err);
	return ret->text != NULL ? 0 : -1;
}

WAITS json_t *call_jobqueue_update(struct call *c,
				   const struct rpc_args_jobqueue_update *args,
				   struct error *err)
{
	struct replica_file *file = xalloc(sizeof(*file));
	int rc = read_file(c, args->file, args->content, file, err);

	if (rc == 0)
		rc = replica_update(c->n->candidate.queue, file, 1, err);
	free_files(file, 1);
	return rc < 0 ? NULL : json_null();
}

static WAITS int rename_one(struct call *c, const json_t *pair,
			    struct error *err)
{
	const char *from = json_string_value(json_array_get(pair, 0));
	const char *to = json_string_value(json_array_get(pair, 1));
	auto_free char *old_name = NULL, *new_name = NULL;

	if (from == NULL || to == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Call %s takes a list of [old, new]",
				 c->procedure);
	old_name = queue_name(c, from, err);
	new_name = old_name != NULL ? queue_name(c, to, err) : NULL;
	if (new_name == NULL)
		return -1;
	return replica_move(c->n->candidate.queue, old_name, new_name, err);
}

WAITS json_t *call_jobqueue_rename(struct call *c,
				   const struct rpc_args_jobqueue_rename *args,
				   struct error *err)
{
	auto_json json_t *result = json_array();
	const json_t *pair;
	size_t i;

	json_array_foreach (args->pairs, i, pair) {
		if (calls_in_force(c, err) < 0 || rename_one(c, pair, err) < 0)
			return NULL;
		json_array_append_new(result, json_null());
	}
	return steal(&result);
}

WAITS json_t *call_jobqueue_purge(struct call *c, struct error *err)
{
	const char *folder = path(c->paths, PATH_QUEUE_DIR);
	auto_strv struct strv names = {0};

	replica_finish(c->n->candidate.queue);
	if (calls_in_force(c, err) < 0)
		return NULL;
	if (!fs_is_dir(folder))
		return json_null();
	if (fs_list(folder, &names, err) < 0)
		return NULL;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", folder, names.items[i]);

		/* The lock file must stay, or its holder would lose the
		 * lock. */
		if (strcmp(names.items[i], "lock") != 0 &&
		    fs_remove_tree(file, err) < 0)
			return NULL;
	}
	return json_null();
}

WAITS json_t *call_jobqueue_set_drain_flag(
	struct call *c, const struct rpc_args_jobqueue_set_drain_flag *args,
	struct error *err)
{
	struct replica_file *file = xalloc(sizeof(*file));
	int rc;

	file->name = xstrdup("drain");
	file->text = args->drained ? xstrdup("") : NULL;
	rc = replica_update(c->n->candidate.queue, file, 1, err);
	free_files(file, 1);
	return rc < 0 ? NULL : json_null();
}

/* --- not of Ganeti: the state is fetched --- */

WAITS json_t *call_jobqueue_list(struct call *c,
				 const struct rpc_args_jobqueue_list *args,
				 struct error *err)
{
	return replica_list(c->n->candidate.queue, args->folder, args->digests,
			    err);
}

WAITS json_t *call_jobqueue_read(struct call *c,
				 const struct rpc_args_jobqueue_read *args,
				 struct error *err)
{
	return replica_read(c->n->candidate.queue, args->names, err);
}
