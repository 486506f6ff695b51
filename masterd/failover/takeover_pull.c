/* SPDX-License-Identifier: BSD-2-Clause */
/* A node has newer data: bring it here.  The configuration comes whole, the
 * queue by difference: hashes of the files first, then those that differ. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_digest.h"
#include "lib/model/files/content.h"
#include "lib/model/files/copy_position.h"
#include "lib/model/files/queue_files.h"
#include "lib/model/files/term.h"
#include "lib/store/store.h"
#include "masterd/failover/takeover_private.h"

#define CONFIG_MODE 0640
#define FILE_MAX (256u * 1024 * 1024)
#define PULL_MS 60000u

/* Files asked for in one call; the node sends fewer when they are large. */
#define FILES_PER_CALL 500

/* As many jobs are in a folder of the archive that gets no more. */
#define FOLDER_FULL 10000

static WAITS json_t *ask(struct candidacy *c, const struct vote_node *from,
			 const char *procedure, json_t *args STEALS,
			 struct error *err)
{
	return noderpc_call(c->rpc, takeover_object(c, from),
			    rpc_within(rpc_unchecked(procedure, args), PULL_MS),
			    err);
}

/* --- the configuration --- */

/* To be freed. */
static WAITS char *config_text(struct candidacy *c,
			       const struct vote_node *from, size_t *ret_len,
			       struct error *err)
{
	auto_json json_t *content =
		ask(c, from, "config_read", json_array(), err);
	char *text = NULL;

	if (content == NULL)
		return NULL;
	task_leave(); /* the answer is ours alone */
	text = content_read(content, ret_len, err);
	task_enter();
	if (text == NULL)
		error_wrap(err,
			   "Cannot use what node %s answered to "
			   "config_read",
			   from->name);
	return text;
}

json_t *takeover_read_config(struct candidacy *c, const struct vote_node *from,
			     struct error *err)
{
	size_t len;
	auto_free char *text = config_text(c, from, &len, err);
	json_t *document = NULL;

	if (text == NULL)
		return NULL;
	task_leave(); /* the text is ours alone */
	document = json_parse(text, len, err);
	task_enter();
	return document;
}

int takeover_pull_config(struct candidacy *c, const struct vote_node *from,
			 struct error *err)
{
	const struct takeover *t = c->t;
	size_t len;
	auto_free char *text = config_text(c, from, &len, err);
	struct config_term term = {.term = from->config.term,
				   .serial = (int64_t)from->config.number};
	int rc;

	if (text == NULL)
		return -1;
	task_leave(); /* the text is ours alone, the paths never change */
	rc = t->disk->write_atomic(t->disk, path(t->paths, PATH_CONFIG_DATA),
				   text, len, CONFIG_MODE, err);
	if (rc == 0)
		rc = term_save_config(t->disk, t->paths, &term, err);
	if (rc == 0)
		rc = config_digest_note(t->disk, t->paths, text, len, err);
	task_enter();
	return rc;
}

/* --- the queue --- */

/* The copy here while it is being changed. */
struct local {
	struct store *store;
	struct disk *disk;
	int lock;
};

static void on_fatal(void *arg, const struct error *err)
{
	(void)arg; /* whoever commits is told */
	(void)err;
}

static WAITS int local_open(struct local *l, const struct takeover *t,
			    struct error *err)
{
	struct store_config config = {.disk = t->disk,
				      .dir = path(t->paths, PATH_QUEUE_DIR),
				      .fatal = on_fatal};

	*l = (struct local){.disk = t->disk, .lock = -1};
	if (t->disk->mkdirs(t->disk, config.dir, 0750, err) < 0)
		return -1;
	if (t->disk->lock != NULL) {
		l->lock = t->disk->lock(t->disk,
					path(t->paths, PATH_QUEUE_LOCK), err);
		if (l->lock < 0)
			return -1;
	}
	l->store = store_open(&config, err);
	return l->store == NULL ? -1 : store_settle(l->store, err);
}

/* What was committed is in the journal, for the master to replay. */
static WAITS void local_close(struct local *l)
{
	if (l->store != NULL)
		store_abandon(l->store);
	store_close(l->store);
	if (l->lock >= 0)
		l->disk->unlock(l->disk, l->lock);
}

static WAITS int write_one(struct local *l, const char *name, const char *text,
			   struct error *err)
{
	struct store_change *change = store_change_new();

	change->may_fail = true;
	if (text != NULL)
		store_change_write(change, name, xstrdup(text));
	else
		store_change_remove(change, name);
	return store_commit(l->store, change, err);
}

/* Is our file another than theirs, or missing? */
static WAITS bool differs(struct local *l, const char *name, const char *hash)
{
	struct error ignored;
	auto_free char *text = NULL;
	char own[17];
	size_t len;

	if (!store_exists(l->store, name))
		return true;
	text = store_read(l->store, name, FILE_MAX, &len, &ignored);
	if (text == NULL)
		return true;
	snprintf(own, sizeof(own), "%016" PRIx64, bytes_hash(text, len));
	return !str_eq(own, hash);
}

static WAITS int write_files(struct local *l, const json_t *files,
			     struct error *err)
{
	struct store_change *change = store_change_new();
	const char *name;
	json_t *text;

	change->may_fail = true;
	json_object_foreach (json_unconst(files), name, text)
		if (json_is_string(text) && queue_file_is_known(name))
			store_change_write(change, name,
					   xstrdup(json_string_value(text)));
	if (change->n_ops > 0)
		return store_commit(l->store, change, err);
	store_change_drop(change);
	return 0;
}

/* Get these files; a call may bring only some of them, in their order. */
static WAITS int fetch(struct candidacy *c, const struct vote_node *from,
		       struct local *l, struct strv *names, struct error *err)
{
	size_t at = 0;

	while (at < names->n) {
		json_t *some = json_array();
		auto_json json_t *files = NULL;

		for (size_t i = at; i < names->n && i - at < FILES_PER_CALL;
		     i++)
			json_array_append_new(some,
					      json_string(names->items[i]));
		files = ask(c, from, "jobqueue_read", json_make("[o]", some),
			    err);
		if (files == NULL || write_files(l, files, err) < 0)
			return -1;
		if (json_get(files, names->items[at]) == NULL)
			return error_set(
				err, ERR_RPC, NULL,
				"Node %s has listed the file %s of the "
				"job queue and does not send it",
				from->name, names->items[at]);
		while (at < names->n &&
		       json_get(files, names->items[at]) != NULL)
			at++;
	}
	return 0;
}

/* Remove our files of the folder that they do not have. */
static WAITS int prune(struct local *l, const char *folder,
		       const json_t *theirs, struct error *err)
{
	auto_strv struct strv ours = {0};

	if (store_list(l->store, folder, &ours, err) < 0)
		return -1;
	for (size_t i = 0; i < ours.n; i++) {
		auto_free char *name =
			*folder == '\0'
				? xstrdup(ours.items[i])
				: xprintf("%s/%s", folder, ours.items[i]);

		if (queue_file_is_known(name) &&
		    strcmp(name, STORE_POSITION) != 0 &&
		    json_get(theirs, name) == NULL &&
		    write_one(l, name, NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* Make our folder as theirs: `theirs` has the hashes.  The position is left
 * out. */
static WAITS int pull_folder(struct candidacy *c, const struct vote_node *from,
			     struct local *l, const char *folder,
			     const json_t *theirs, struct error *err)
{
	auto_strv struct strv wanted = {0};
	const char *name;
	json_t *hash;

	json_object_foreach (json_unconst(theirs), name, hash)
		if (json_is_string(hash) && queue_file_is_known(name) &&
		    strcmp(name, STORE_POSITION) != 0 &&
		    differs(l, name, json_string_value(hash)))
			strv_add(&wanted, name);
	if (fetch(c, from, l, &wanted, err) < 0)
		return -1;
	return prune(l, folder, theirs, err);
}

static bool is_archive_folder(const char *name)
{
	return str_starts(name, "archive/") &&
	       str_all_digits(name + strlen("archive/"));
}

/* Full folders of the archive never change; a look at their size will do. */
static WAITS bool is_same_size(struct local *l, const char *folder,
			       const json_t *size)
{
	auto_strv struct strv ours = {0};
	struct error ignored;

	return store_list(l->store, folder, &ours, &ignored) == 0 &&
	       json_integer_value(size) == FOLDER_FULL && ours.n == FOLDER_FULL;
}

static WAITS int pull_archive(struct candidacy *c, const struct vote_node *from,
			      struct local *l, const json_t *sizes,
			      struct error *err)
{
	const char *folder;
	json_t *size;

	json_object_foreach (json_unconst(sizes), folder, size) {
		auto_json json_t *theirs = NULL;

		if (!is_archive_folder(folder) || is_same_size(l, folder, size))
			continue;
		theirs = ask(c, from, "jobqueue_list", json_make("[s]", folder),
			     err);
		if (theirs == NULL ||
		    pull_folder(c, from, l, folder, theirs, err) < 0)
			return -1;
	}
	return 0;
}

/* Folders of ours that they do not have at all. */
static WAITS int prune_archive(struct local *l, const json_t *sizes,
			       struct error *err)
{
	auto_json json_t *nothing = json_object();
	auto_strv struct strv folders = {0};

	if (store_list(l->store, "archive", &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.n; i++) {
		auto_free char *folder =
			xprintf("archive/%s", folders.items[i]);

		if (is_archive_folder(folder) &&
		    json_get(sizes, folder) == NULL &&
		    prune(l, folder, nothing, err) < 0)
			return -1;
	}
	return 0;
}

/* Half of theirs and half of ours is nothing to begin with. */
static WAITS int begin_anew(struct local *l, struct error *err)
{
	auto_free char *before = NULL, *text = NULL;

	if (store_read_if_there(l->store, STORE_POSITION, FILE_MAX, &before,
				err) < 0)
		return -1;
	text = copy_position_halved(before);
	return write_one(l, STORE_POSITION, text, err);
}

static WAITS int pull_all(struct candidacy *c, const struct vote_node *from,
			  struct local *l, struct error *err)
{
	auto_free char *position =
		xprintf("%" PRIu64 " %" PRIu64 "\n", from->queue.term,
			from->queue.number);
	auto_json json_t *theirs =
		ask(c, from, "jobqueue_list", json_make("[s]", ""), err);

	if (theirs == NULL || begin_anew(l, err) < 0 ||
	    pull_archive(c, from, l, theirs, err) < 0 ||
	    prune_archive(l, theirs, err) < 0 ||
	    pull_folder(c, from, l, "", theirs, err) < 0)
		return -1;
	return write_one(l, STORE_POSITION, position, err);
}

int takeover_pull_queue(struct candidacy *c, const struct vote_node *from,
			struct error *err)
{
	struct local l;
	int rc = local_open(&l, c->t, err);

	if (rc == 0)
		rc = pull_all(c, from, &l, err);
	local_close(&l);
	return rc;
}
