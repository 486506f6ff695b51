/* SPDX-License-Identifier: BSD-2-Clause */
/* The first use opens the store, and uses at the same time share it; `users`
 * counts them.  Closing waits until there are none and holds back new ones.
 * Who only looks while another process has the queue reads that one's files
 * (store_peek()). */
#include "noded/replica/replica.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/files/queue_files.h"
#include "lib/store/store.h"

#define JOB_FILE_MAX (256u * 1024 * 1024)

struct replica {
	struct replica_config config;
	char *dir;
	struct store *store; /* NULL: closed */
	int lock;
	size_t users; /* calls that use the store now */
	bool leaving; /* to be closed when there is no user left */
	struct cond changed;
	bool failed;	/* a sync has, */
	bool can_go_on; /* or only a write: to be opened anew */
	struct error why;
};

struct replica *replica_create(const struct replica_config *config)
{
	struct replica *r = xalloc(sizeof(*r));

	r->config = *config;
	r->dir = xstrdup(config->dir);
	r->config.dir = r->dir;
	if (r->config.journal_size == 0)
		r->config.journal_size = REPLICA_JOURNAL_SIZE;
	r->lock = -1;
	cond_init(&r->changed);
	return r;
}

static void close_store(struct replica *r)
{
	if (r->store == NULL)
		return;
	store_close(steal(&r->store));
	r->config.unlock(r->config.arg, r->lock);
	r->lock = -1;
}

void replica_destroy(struct replica *r)
{
	if (r == NULL)
		return;
	assert(r->users == 0);
	close_store(r);
	free(r->dir);
	free(r);
}

/* --- open and closed --- */

static void on_fatal(void *arg, const struct error *err)
{
	struct replica *r = arg;

	r->can_go_on = store_lost_nothing(r->store);
	log_error("%s; this node takes no more changes of the job queue until "
		  "%s",
		  err->text,
		  r->can_go_on ? "it can write again"
			       : "its node daemon is started anew");
	r->failed = true;
	r->why = *err;
}

static WAITS int open_store(struct replica *r, struct error *err)
{
	struct store_config config = {
		.disk = r->config.disk,
		.dir = r->dir,
		.journal_size = r->config.journal_size,
		.arg = r,
		.fatal = on_fatal,
	};

	if (r->config.disk->mkdirs(r->config.disk, r->dir, 0750, err) < 0)
		return -1;
	r->lock = r->config.lock(r->config.arg, err);
	if (r->lock < 0)
		return -1;
	r->store = store_open(&config, err);
	if (r->store != NULL && store_settle(r->store, err) == 0)
		return 0;
	store_close(steal(&r->store));
	r->config.unlock(r->config.arg, r->lock);
	r->lock = -1;
	return -1;
}

/* Nobody uses it and nobody begins to until it is closed. */
static WAITS void leave(struct replica *r, WAITS void (*how)(struct store *s))
{
	while (r->leaving)
		cond_wait(&r->changed);
	r->leaving = true;
	while (r->users > 0)
		cond_wait(&r->changed);
	if (r->store != NULL)
		how(r->store);
	close_store(r);
	r->leaving = false;
	cond_signal(&r->changed);
}

/* Each use is between these two; -1 when it cannot be opened. */
static WAITS int begin(struct replica *r, struct error *err)
{
	while (r->leaving)
		cond_wait(&r->changed);
	if (r->failed && r->can_go_on) {
		r->failed = false;
		leave(r, store_abandon);
	}
	if (r->failed) {
		*err = r->why;
		error_wrap(err, "The copy of the job queue has failed before");
		return -1;
	}
	if (r->store == NULL && open_store(r, err) < 0)
		return -1;
	r->users++;
	return 0;
}

static void end(struct replica *r)
{
	r->users--;
	cond_signal(&r->changed);
}

/* For who only looks: false, nothing to end, when it is not open here.  It is
 * not opened then, as the lock would stay with this daemon, and a master daemon
 * that starts later could not have it. */
static WAITS bool begin_look(struct replica *r)
{
	struct error ignored;

	while (r->leaving)
		cond_wait(&r->changed);
	return r->store != NULL && begin(r, &ignored) == 0;
}

static bool owner_runs(const struct replica *r)
{
	return r->config.owner_runs != NULL &&
	       r->config.owner_runs(r->config.arg);
}

void replica_release(struct replica *r)
{
	leave(r, store_abandon);
}

void replica_finish(struct replica *r)
{
	leave(r, store_flush);
}

void replica_tidy(struct replica *r)
{
	auto_free char *journal = xprintf("%s/journal", r->dir);

	struct error err;

	if (!r->config.disk->exists(r->config.disk, journal) || owner_runs(r))
		return;
	if (begin(r, &err) < 0) {
		log_warning("%s, ignoring", err.text);
		return;
	}
	end(r);
	leave(r, store_flush);
}

/* --- changes --- */

static WAITS int commit(struct replica *r, struct store_change *c STEALS,
			struct error *err)
{
	int rc;

	c->may_fail = true;
	if (begin(r, err) < 0) {
		store_change_drop(c);
		return -1;
	}
	rc = store_commit(r->store, c, err);
	end(r);
	return rc;
}

static int check_file(const struct replica_file *f, struct error *err)
{
	if (!queue_file_is_known(f->name))
		return error_set(err, ERR_REQUEST, NULL,
				 "Not a file of the job queue: '%s'", f->name);
	if (f->text != NULL && strlen(f->text) != f->len)
		return error_set(err, ERR_REQUEST, NULL,
				 "File %s of the job queue has a NUL in it",
				 f->name);
	return 0;
}

int replica_update(struct replica *r, struct replica_file *files, size_t n,
		   struct error *err)
{
	struct store_change *c;

	for (size_t i = 0; i < n; i++)
		if (check_file(&files[i], err) < 0)
			return -1;
	if (n == 0)
		return 0;
	c = store_change_new();
	for (size_t i = 0; i < n; i++)
		if (files[i].text == NULL)
			store_change_remove(c, files[i].name);
		else
			store_change_write(c, files[i].name,
					   steal(&files[i].text));
	return commit(r, c, err);
}

int replica_move(struct replica *r, const char *from, const char *to,
		 struct error *err)
{
	struct store_change *c;
	bool there, done;

	if (!queue_file_is_known(from) || !queue_file_is_known(to))
		return error_set(err, ERR_REQUEST, NULL,
				 "Not files of the job queue: '%s', '%s'", from,
				 to);
	if (begin(r, err) < 0)
		return -1;
	there = store_exists(r->store, from);
	done = !there && store_exists(r->store, to);
	end(r);
	if (done)
		return 0;
	if (!there)
		return error_set(err, ERR_QUEUE, ECODE_NOENT,
				 "There is no file %s in the job queue", from);
	c = store_change_new();
	store_change_move(c, from, to);
	return commit(r, c, err);
}

/* --- looking --- */

/* The queue as it is: our store, or a look at what somebody else of this node
 * has. */
struct look {
	struct replica *r;
	struct store *store; /* NULL: it cannot be read */
	bool ours;
};

static WAITS struct look look_begin(struct replica *r)
{
	struct look l = {.r = r, .ours = begin_look(r)};
	struct error err;

	l.store = l.ours ? r->store : store_peek(r->config.disk, r->dir, &err);
	if (l.store == NULL)
		log_error("%s", err.text);
	return l;
}

static void look_end(struct look *l)
{
	if (l->ours)
		end(l->r);
	else
		store_close(l->store);
}

/* A file that is there and cannot be read is none that has gone: whoever makes
 * a copy would remove it. */
static WAITS char *look_read_sure(const struct look *l, const char *name,
				  size_t *ret_len, bool *ret_gone,
				  struct error *err)
{
	char *text;

	*ret_gone = false;
	if (l->store == NULL) {
		error_set(err, ERR_QUEUE, ECODE_ENVIRON,
			  "The job queue in %s cannot be read", l->r->dir);
		return NULL;
	}
	text = store_read(l->store, name, JOB_FILE_MAX, ret_len, err);
	*ret_gone = text == NULL && !store_exists(l->store, name);
	return text;
}

static WAITS int look_list(const struct look *l, const char *folder,
			   struct strv *ret, struct error *err)
{
	if (l->store != NULL)
		return store_list(l->store, folder, ret, err);
	return error_set(err, ERR_QUEUE, ECODE_ENVIRON,
			 "The job queue in %s cannot be read", l->r->dir);
}

static WAITS int add_hash(const struct look *l, const char *name,
			  json_t *result, struct error *err)
{
	bool gone;
	size_t len;
	auto_free char *text = look_read_sure(l, name, &len, &gone, err);
	char hash[17];

	if (text == NULL)
		return gone ? 0 : -1;
	snprintf(hash, sizeof(hash), "%016" PRIx64, bytes_hash(text, len));
	json_object_set_new(result, name, json_string(hash));
	return 0;
}

static WAITS int add_archive_sizes(const struct look *l, json_t *result,
				   struct error *err)
{
	auto_strv struct strv folders = {0};

	if (look_list(l, "archive", &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.n; i++) {
		auto_free char *folder =
			xprintf("archive/%s", folders.items[i]);
		auto_strv struct strv names = {0};

		if (!str_all_digits(folders.items[i]))
			continue;
		if (look_list(l, folder, &names, err) < 0)
			return -1;
		/* What a write that was cut off has left is none. */
		json_object_set_new(
			result, folder,
			json_integer(
				(json_int_t)queue_file_count_jobs(&names)));
	}
	return 0;
}

static WAITS int list_folder(const struct look *l, const char *folder,
			     json_t *result, struct error *err)
{
	auto_strv struct strv names = {0};

	if (look_list(l, folder, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *name =
			*folder == '\0'
				? xstrdup(names.items[i])
				: xprintf("%s/%s", folder, names.items[i]);

		if (queue_file_is_known(name) &&
		    add_hash(l, name, result, err) < 0)
			return -1;
	}
	return *folder == '\0' ? add_archive_sizes(l, result, err) : 0;
}

/* Only the files of a store that we have open are sure to be there after a
 * power cut: one that another process writes, and one whose sync has failed,
 * show what may be nowhere but in memory. */
static WAITS int look_begin_own(struct replica *r, struct look *ret,
				struct error *err)
{
	if (begin(r, err) < 0)
		return -1;
	*ret = (struct look){.r = r, .ours = true, .store = r->store};
	return 0;
}

json_t *replica_list(struct replica *r, const char *folder, bool own,
		     struct error *err)
{
	auto_json json_t *result = json_object();
	struct look l;
	int rc;

	if (*folder != '\0' && (!str_starts(folder, "archive/") ||
				!str_all_digits(folder + strlen("archive/")))) {
		error_set(err, ERR_REQUEST, NULL,
			  "Not a folder of the job queue: '%s'", folder);
		return NULL;
	}
	if (!own)
		l = look_begin(r);
	else if (look_begin_own(r, &l, err) < 0)
		return NULL;
	rc = list_folder(&l, folder, result, err);
	look_end(&l);
	return rc < 0 ? NULL : steal(&result);
}

json_t *replica_read(struct replica *r, const json_t *names, struct error *err)
{
	auto_json json_t *result = json_object();
	bool gone, failed = false;
	size_t total = 0, len, i;
	const json_t *item;
	struct look l;

	json_array_foreach (names, i, item) {
		const char *name = json_string_value(item);

		if (name != NULL && queue_file_is_known(name))
			continue;
		error_set(err, ERR_REQUEST, NULL,
			  "Not a file of the job queue: '%s'",
			  name != NULL ? name : "?");
		return NULL;
	}
	l = look_begin(r);
	json_array_foreach (names, i, item) {
		const char *name = json_string_value(item);
		auto_free char *text =
			look_read_sure(&l, name, &len, &gone, err);

		if (text == NULL && gone)
			continue;
		failed = text == NULL;
		if (failed || (total > 0 && total + len > REPLICA_READ_MAX))
			break;
		total += len;
		json_object_set_new(result, name, json_stringn(text, len));
	}
	look_end(&l);
	return failed ? NULL : steal(&result);
}
