/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers are always verified: the user may change everything there. */
#include "cli/move/move_cluster.h"

#include <inttypes.h>
#include <string.h>

#include "cli/move/move_options.h"
#include "cli/move/move_tell.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/client/rapi.h"
#include "lib/json/json.h"

/* Digits of a job's number. */
#define JOB_ID_MAX 20

int move_cluster_init(struct move_cluster *c, const struct move_access *access,
		      bool debug, struct error *err)
{
	*c = (struct move_cluster){
		.name = access->cluster, .debug = debug, .access = access};
	if (access->ca_file != NULL && !fs_exists(access->ca_file))
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "There is no file %s with certificates",
				 access->ca_file);
	if (access->password_file == NULL)
		return 0;
	c->password = move_options_password(access->password_file, err);
	return c->password == NULL
		       ? error_wrap(err, "Cannot read the password for %s",
				    c->name)
		       : 0;
}

void move_cluster_done(struct move_cluster *c)
{
	move_cluster_leave(c);
	if (c->password != NULL)
		explicit_bzero(c->password, strlen(c->password));
	free(c->password);
	c->password = NULL;
}

void move_cluster_leave(struct move_cluster *c)
{
	rapi_free(steal(&c->rapi));
}

struct rapi *move_cluster_client(const struct move_cluster *c)
{
	const struct move_access *a = c->access;
	bool bare = strchr(a->cluster, ':') != NULL; /* an address of IPv6 */
	auto_free char *url =
		xprintf(bare ? "https://[%s]:%" PRId64 : "https://%s:%" PRId64,
			a->cluster, a->port);
	struct rapi *r = rapi_new(url);

	rapi_verify(r, a->ca_file);
	if (a->user != NULL)
		rapi_login(r, a->user, c->password);
	return r;
}

void move_cluster_show(const struct move_cluster *c, const char *method,
		       const char *resource)
{
	if (c->debug)
		move_tell(stderr, c->name, "%s %s", method, resource);
}

json_t *move_cluster_ask(struct move_cluster *c, const char *method,
			 const char *resource, const json_t *body,
			 struct error *err)
{
	if (c->rapi == NULL)
		c->rapi = move_cluster_client(c);
	move_cluster_show(c, method, resource);
	return rapi_request(c->rapi, method, resource, body, err);
}

/* A text or a number: digits alone, as it becomes part of a path. */
static char *job_id(const json_t *answer)
{
	const char *text = json_string_value(answer);

	if (json_is_integer(answer) && json_integer_value(answer) >= 0)
		return xprintf("%" JSON_INTEGER_FORMAT,
			       json_integer_value(answer));
	if (text != NULL && str_all_digits(text) && strlen(text) <= JOB_ID_MAX)
		return xstrdup(text);
	return NULL;
}

char *move_cluster_submit(struct move_cluster *c, const char *method,
			  const char *resource, const json_t *body,
			  struct error *err)
{
	auto_json json_t *answer =
		move_cluster_ask(c, method, resource, body, err);
	char *id;

	if (answer == NULL)
		return NULL;
	id = job_id(answer);
	if (id == NULL)
		error_set(err, ERR_RESULT, NULL,
			  "%s has answered with something that is no job: %s "
			  "'%s'",
			  c->name, method, resource);
	return id;
}

bool move_cluster_cancel(struct move_cluster *c, const char *job)
{
	auto_free char *resource = xprintf("/2/jobs/%s?kill=1", job);
	struct error ignored; /* it ends by itself */
	auto_json json_t *answer =
		move_cluster_ask(c, "DELETE", resource, NULL, &ignored);

	return json_is_true(json_array_get(answer, 0));
}
