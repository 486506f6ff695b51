/* SPDX-License-Identifier: BSD-2-Clause */
/* Another server's files, when the log does not go back far enough.  The
 * configuration comes whole, the queue by difference: hashes of the files
 * first, then those that differ.  That server goes on meanwhile, so some files
 * are newer than others; the entries that follow in the log set all of them
 * right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/content.h"
#include "lib/model/files/queue_files.h"
#include "lib/model/rpc/rpc.h"
#include "masterd/rpc/noderpc.h"
#include "masterd/state/state_private.h"

#define FILE_MAX (256u * 1024 * 1024)
#define PULL_MS 60000u
#define HALF_MODE 0640
#define HALF_MAX 100

/* Files asked for in one call; the node sends fewer when they are large. */
#define FILES_PER_CALL 500

/* As many jobs are in a folder of the archive that gets no more. */
#define FOLDER_FULL 10000

/* The names of more full folders than a queue ever has. */
#define WHOLE_MAX (1024u * 1024)
#define WHOLE_MODE 0640

/* From where. */
struct pull {
	struct state *s;
	struct noderpc *rpc;
	const json_t *node;
	struct strv *full; /* folders of the archive that are, there */
};

static WAITS json_t *ask(const struct pull *p, const char *procedure,
			 json_t *args STEALS, struct error *err)
{
	return noderpc_call(p->rpc, p->node,
			    rpc_within(rpc_unchecked(procedure, args), PULL_MS),
			    err);
}

/* --- half of each --- */

static char *half_file(const struct state *s)
{
	return xprintf("%s/half", path(s->config.paths, PATH_CONSENSUS_DIR));
}

bool state_is_half(const struct state *s)
{
	auto_free char *file = half_file(s);

	return s->config.disk->exists(s->config.disk, file);
}

static int begin_half(struct state *s, uint64_t index, struct error *err)
{
	auto_free char *file = half_file(s);
	auto_free char *text = xprintf("%" PRIu64 "\n", index);

	return s->config.disk->write_atomic(s->config.disk, file, text,
					    strlen(text), HALF_MODE, err);
}

int state_end_half(struct state *s, uint64_t index, struct error *err)
{
	auto_free char *file = half_file(s);
	struct disk *disk = s->config.disk;
	auto_free char *text = NULL;
	uint64_t fetched = 0;
	const char *rest;
	size_t len;

	if (!disk->exists(disk, file))
		return 0;
	text = disk->read(disk, file, HALF_MAX, &len, err);
	if (text == NULL)
		return -1;
	if (!str_to_number(text, UINT64_MAX, &fetched, &rest) ||
	    fetched > index)
		return 0;
	return disk->remove(disk, file, err);
}

/* --- what is whole --- */

/* The full folders of the archive that were compared and are durable, a name a
 * line.  Without that a folder may have all its files, but some of them with
 * nothing in them: a power cut leaves such when it comes before the sync. */
static char *whole_file(const struct state *s)
{
	return xprintf("%s/archive-whole",
		       path(s->config.paths, PATH_CONSENSUS_DIR));
}

/* One that cannot be read costs a comparison. */
static void read_whole(const struct state *s, struct strv *ret)
{
	auto_free char *file = whole_file(s);
	struct disk *disk = s->config.disk;
	auto_free char *text = NULL;
	struct error err;
	size_t len;

	if (!disk->exists(disk, file))
		return;
	text = disk->read(disk, file, WHOLE_MAX, &len, &err);
	if (text == NULL)
		log_warning("%s, ignoring", err.text);
	else if (len > 0)
		str_split(ret, text, '\n');
}

static int write_whole(struct state *s, const struct strv *folders,
		       struct error *err)
{
	auto_free char *file = whole_file(s);
	auto_free char *text = strv_join(folders, "\n");

	return s->config.disk->write_atomic(s->config.disk, file, text,
					    strlen(text), WHOLE_MODE, err);
}

static int note_whole(struct state *s, const struct strv *folders,
		      struct error *err)
{
	auto_strv struct strv noted = {0};
	auto_free char *text = strv_join(folders, "\n"), *before = NULL;

	read_whole(s, &noted);
	before = strv_join(&noted, "\n");
	return strcmp(text, before) == 0 ? 0 : write_whole(s, folders, err);
}

/* --- the configuration --- */

static WAITS int pull_config(const struct pull *p, struct error *err)
{
	auto_json json_t *content = ask(p, "config_read", json_array(), err);
	auto_free char *text = NULL;
	size_t len;

	if (content == NULL)
		return -1;
	task_leave(); /* the answer is ours alone */
	text = content_read(content, &len, err);
	task_enter();
	if (text == NULL || config_image_load(p->s->image, text, len, err) < 0)
		return error_wrap(err,
				  "Cannot use what node %s answered to "
				  "config_read",
				  node_name(p->node));
	p->s->origin = CONFIG_WHOLE; /* it is the log's now */
	state_config_changed(p->s);
	if (p->s->config.nodes_changed != NULL)
		p->s->config.nodes_changed(p->s->config.arg);
	return 0;
}

/* --- the queue --- */

/* Is our file another than theirs, or missing? */
static WAITS bool differs(const struct pull *p, const char *name,
			  const char *hash)
{
	struct error ignored;
	auto_free char *text = NULL;
	char own[17];
	size_t len;

	if (!store_exists(p->s->store, name))
		return true;
	text = store_read(p->s->store, name, FILE_MAX, &len, &ignored);
	if (text == NULL)
		return true;
	snprintf(own, sizeof(own), "%016" PRIx64, bytes_hash(text, len));
	return !str_eq(own, hash);
}

static void take_files(const struct pull *p, const json_t *files)
{
	const char *name;
	json_t *text;

	json_object_foreach (json_unconst(files), name, text)
		if (json_is_string(text) && queue_file_is_known(name))
			store_take_file(p->s->store, name,
					xstrdup(json_string_value(text)));
}

/* Get these files; a call may bring only some of them, in their order. */
static WAITS int fetch(const struct pull *p, const struct strv *names,
		       struct error *err)
{
	size_t at = 0;

	while (at < names->n) {
		auto_json json_t *files = NULL;
		json_t *some = json_array();
		size_t before = at;

		for (size_t i = at; i < names->n && i - at < FILES_PER_CALL;
		     i++)
			json_array_append_new(some,
					      json_string(names->items[i]));
		files = ask(p, "jobqueue_read", json_make("[o]", some), err);
		if (files == NULL)
			return -1;
		take_files(p, files);
		while (at < names->n &&
		       json_get(files, names->items[at]) != NULL)
			at++;
		if (at == before) /* it went away meanwhile */
			store_take_file(p->s->store, names->items[at++], NULL);
	}
	return 0;
}

/* Remove our files of the folder that they do not have. */
static WAITS int prune(const struct pull *p, const char *folder,
		       const json_t *theirs, struct error *err)
{
	auto_strv struct strv ours = {0};

	if (store_list(p->s->store, folder, &ours, err) < 0)
		return -1;
	for (size_t i = 0; i < ours.n; i++) {
		auto_free char *name =
			*folder == '\0'
				? xstrdup(ours.items[i])
				: xprintf("%s/%s", folder, ours.items[i]);

		if (queue_file_is_known(name) && json_get(theirs, name) == NULL)
			store_take_file(p->s->store, name, NULL);
	}
	return 0;
}

/* Make our folder as theirs: `theirs` has the hashes. */
static WAITS int pull_folder(const struct pull *p, const char *folder,
			     const json_t *theirs, struct error *err)
{
	auto_strv struct strv wanted = {0};
	const char *name;
	json_t *hash;

	json_object_foreach (json_unconst(theirs), name, hash)
		if (json_is_string(hash) && queue_file_is_known(name) &&
		    differs(p, name, json_string_value(hash)))
			strv_add(&wanted, name);
	if (fetch(p, &wanted, err) < 0)
		return -1;
	return prune(p, folder, theirs, err);
}

static bool is_archive_folder(const char *name)
{
	return str_starts(name, "archive/") &&
	       str_all_digits(name + strlen("archive/"));
}

static WAITS size_t count_jobs(const struct pull *p, const char *folder)
{
	auto_strv struct strv ours = {0};
	struct error ignored;

	return store_list(p->s->store, folder, &ours, &ignored) < 0
		       ? 0
		       : queue_file_count_jobs(&ours);
}

/* Full folders of the archive never change: of one that is whole a look at its
 * size will do.  What is not whole any more is not noted as such while it is
 * being written. */
static WAITS int find_whole(const struct pull *p, struct strv *ret,
			    struct error *err)
{
	auto_strv struct strv noted = {0};

	read_whole(p->s, &noted);
	for (size_t i = 0; i < noted.n; i++)
		if (strv_has(p->full, noted.items[i]) &&
		    count_jobs(p, noted.items[i]) == FOLDER_FULL)
			strv_add(ret, noted.items[i]);
	return note_whole(p->s, ret, err);
}

static void find_full(const struct pull *p, const json_t *sizes)
{
	const char *folder;
	json_t *size;

	json_object_foreach (json_unconst(sizes), folder, size)
		if (is_archive_folder(folder) &&
		    json_integer_value(size) == FOLDER_FULL)
			strv_add(p->full, folder);
}

static WAITS int pull_archive(const struct pull *p, const json_t *sizes,
			      struct error *err)
{
	auto_strv struct strv whole = {0};
	const char *folder;
	json_t *size;

	find_full(p, sizes);
	if (find_whole(p, &whole, err) < 0)
		return -1;
	json_object_foreach (json_unconst(sizes), folder, size) {
		auto_json json_t *theirs = NULL;

		if (!is_archive_folder(folder) || strv_has(&whole, folder))
			continue;
		theirs = ask(p, "jobqueue_list",
			     json_make("[s, b]", folder, false), err);
		if (theirs == NULL || pull_folder(p, folder, theirs, err) < 0)
			return -1;
	}
	return 0;
}

/* Folders of ours that they do not have at all. */
static WAITS int prune_archive(const struct pull *p, const json_t *sizes,
			       struct error *err)
{
	auto_json json_t *nothing = json_object();
	auto_strv struct strv folders = {0};

	if (store_list(p->s->store, "archive", &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.n; i++) {
		auto_free char *folder =
			xprintf("archive/%s", folders.items[i]);

		if (is_archive_folder(folder) &&
		    json_get(sizes, folder) == NULL &&
		    prune(p, folder, nothing, err) < 0)
			return -1;
	}
	return 0;
}

/* A job that is archived meanwhile must be found in one of both places: so the
 * folder that it leaves is looked at first. */
static WAITS int pull_queue(const struct pull *p, struct error *err)
{
	auto_json json_t *theirs =
		ask(p, "jobqueue_list", json_make("[s, b]", "", false), err);

	if (theirs == NULL || pull_folder(p, "", theirs, err) < 0 ||
	    pull_archive(p, theirs, err) < 0)
		return -1;
	return prune_archive(p, theirs, err);
}

int state_pull(struct state *s, struct noderpc *rpc, const json_t *node,
	       uint64_t index, struct error *err)
{
	const char *folder = path(s->config.paths, PATH_QUEUE_DIR);
	auto_strv struct strv full = {0};
	struct pull p = {.s = s, .rpc = rpc, .node = node, .full = &full};
	int rc;

	if (begin_half(s, index, err) < 0 || pull_config(&p, err) < 0 ||
	    pull_queue(&p, err) < 0 || state_write_out(s, err) < 0)
		return -1;
	/* Files that are the same already may be what a life before has written
	 * and not synced. */
	task_leave(); /* the path is constant */
	rc = s->config.disk->sync_all(s->config.disk, folder, err);
	task_enter();
	return rc < 0 ? -1 : note_whole(s, &full, err);
}
