/* SPDX-License-Identifier: BSD-2-Clause */
/* The metadata service: instances with a NIC for it (its name begins with
 * COMMUNICATION_NIC_PREFIX) ask their node over plain HTTP who they are and
 * with which parameters their system is to be installed.  They are told apart
 * by the NIC's address.  The paths are those of Ganeti's metadata daemon.
 *
 * It listens at METADATA_ADDRESS port METADATA_PORT, and only while an instance
 * is known.  A node of a virtual cluster listens at its own address and
 * METADATA_PORT_VIRTUAL; there the instance 169.254.x.y comes from 127.254.x.y,
 * as loopback has nothing else.
 *
 * All of it is in memory only.  Who asks may be hostile: requests are short,
 * few at once, cost nobody else his turn, and are not logged. */
#ifndef NODED_METAD_METAD_H
#define NODED_METAD_METAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

#define METADATA_PORT 80
#define METADATA_PORT_VIRTUAL 1816

struct https_server;

struct metad {
	const struct paths *paths;
	const char *address; /* to listen at; NULL: nobody listens */
	int port;
	struct list instances;
	struct https_server *server;
};

void metad_init(struct metad *m, const struct paths *p);
/* Listen at this node's address as soon as an instance is known. */
void metad_listen_at(struct metad *m, const char *node_address);
/* Stop listening, and forget all instances. */
void metad_close(struct metad *m);

/* Answer this instance (in the form of node calls) from now on, or stop if it
 * has no metadata NIC.  osparams_secret has its secrets. */
int metad_know(struct metad *m, const json_t *instance, struct error *err);
/* The same for an instance that is about to be started here: secrets that are
 * known are kept.  A failure is only logged, as it can run without answers. */
void metad_start(struct metad *m, const json_t *instance);
/* Forget this instance, if it is known. */
void metad_forget(struct metad *m, const char *name);

/* The answer to one request. */
struct metad_answer {
	int status;
	const char *type;
	char *text;	   /* the caller's; NULL: none, or a file: */
	int fd;		   /* -1: no file; the caller's */
	uint64_t size;	   /* of the file */
	const char *allow; /* of a 405 */
};
void metad_answer(struct metad *m, const char *peer_ip, const char *method,
		  const char *path, struct metad_answer *ret);

#endif
