/* SPDX-License-Identifier: BSD-2-Clause */
/* Which instances are known, and when the service listens.  The answers are in
 * metad_answer.c. */
#include "noded/metad/metad.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/event/https_server.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "noded/metad/metad_private.h"

/* Guests may be slow, but have nothing long to send. */
#define BODY_MAX ((size_t)64 * 1024)
#define CONNECTIONS_MAX 256
#define CONNECTIONS_PER_IP_MAX 4
#define REQUESTS_MAX 16
#define REQUEST_MS 10000

/* The form of addresses in a virtual cluster. */
#define REAL_PREFIX "169.254."
#define VIRTUAL_PREFIX "127.254."

void metad_init(struct metad *m, const struct paths *p)
{
	*m = (struct metad){.paths = p};
	list_init(&m->instances);
}

void metad_listen_at(struct metad *m, const char *node_address)
{
	bool is_virtual = m->paths->root[0] != '\0';

	m->address = is_virtual ? node_address : METADATA_ADDRESS;
	m->port = is_virtual ? METADATA_PORT_VIRTUAL : METADATA_PORT;
}

/* --- who is known --- */

static void instance_free(struct metad_instance *i)
{
	list_remove(&i->link);
	free(i->name);
	free(i->ip);
	json_decref(i->object);
	json_decref(i->secret);
	free(i);
}

static struct metad_instance *find(struct metad *m, const char *name)
{
	struct metad_instance *i;

	list_each (i, &m->instances, link)
		if (strcmp(i->name, name) == 0)
			return i;
	return NULL;
}

struct metad_instance *metad_at(struct metad *m, const char *peer_ip)
{
	auto_free char *ip =
		m->paths->root[0] != '\0' && str_starts(peer_ip, VIRTUAL_PREFIX)
			? xprintf(REAL_PREFIX "%s",
				  peer_ip + strlen(VIRTUAL_PREFIX))
			: xstrdup(peer_ip);
	struct metad_instance *i;

	list_each (i, &m->instances, link)
		if (strcmp(i->ip, ip) == 0)
			return i;
	return NULL;
}

/* The address of its metadata NIC, or NULL. */
static const char *address_of(const json_t *instance)
{
	const json_t *nic;
	size_t k;

	json_array_foreach (json_get(instance, "nics"), k, nic)
		if (str_starts(json_str(nic, "name", ""),
			       COMMUNICATION_NIC_PREFIX))
			return json_str(nic, "ip", NULL);
	return NULL;
}

/* --- listening --- */

static void handle(void *arg, struct https_request *r)
{
	struct metad_answer answer;

	metad_answer(arg, r->peer_ip, r->method, r->path, &answer);
	r->allow = answer.allow;
	if (answer.fd >= 0)
		https_reply_file(r, answer.fd, answer.size);
	else
		https_reply(r, answer.status, answer.type, answer.text,
			    answer.text == NULL ? 0 : strlen(answer.text));
}

static int open_door(struct metad *m, struct error *err)
{
	struct https_server_config config = {
		.address = m->address,
		.port = m->port,
		.early = true,
		.reads = true,
		.body_max = BODY_MAX,
		.connections_max = CONNECTIONS_MAX,
		.connections_per_ip_max = CONNECTIONS_PER_IP_MAX,
		.requests_max = REQUESTS_MAX,
		.first_ms = REQUEST_MS,
		.body_ms = REQUEST_MS,
		.handle = handle,
		.arg = m,
	};

	if (m->address == NULL || m->server != NULL)
		return 0;
	m->server = https_server_create(&config, err);
	if (m->server == NULL)
		return error_wrap(err, "Cannot serve metadata to instances");
	log_info("metadata for instances at %s port %d", m->address,
		 https_server_port(m->server));
	return 0;
}

static void close_door(struct metad *m)
{
	if (list_empty(&m->instances) && m->server != NULL)
		https_server_destroy(steal(&m->server), NULL, NULL);
}

/* --- changes --- */

static void take_out(struct metad_instance *i)
{
	if (i != NULL)
		instance_free(i);
}

/* Another instance had this address and has gone without notice. */
static int put(struct metad *m, const json_t *instance, json_t *secret STEALS,
	       struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *ip = address_of(instance);
	struct metad_instance *i;

	take_out(find(m, name));
	if (ip == NULL) {
		json_decref(secret);
		close_door(m);
		return 0;
	}
	take_out(metad_at(m, ip));
	i = xalloc(sizeof(*i));
	i->name = xstrdup(name);
	i->ip = xstrdup(ip);
	i->object = json_copy(json_unconst(instance));
	json_object_del(i->object, "osparams_secret");
	i->secret = secret;
	list_append(&m->instances, &i->link);
	return open_door(m, err);
}

int metad_know(struct metad *m, const json_t *instance, struct error *err)
{
	return put(m, instance, json_ref(json_get(instance, "osparams_secret")),
		   err);
}

void metad_start(struct metad *m, const json_t *instance)
{
	struct metad_instance *i = find(m, json_str(instance, "name", ""));
	struct error err;

	if (put(m, instance, i == NULL ? NULL : json_incref(i->secret), &err) <
	    0)
		log_warning("%s", err.text);
}

void metad_forget(struct metad *m, const char *name)
{
	take_out(find(m, name));
	close_door(m);
}

void metad_close(struct metad *m)
{
	while (!list_empty(&m->instances))
		instance_free(
			list_first(&m->instances, struct metad_instance, link));
	close_door(m);
}
