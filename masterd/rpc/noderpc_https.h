/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls over HTTPS: POST https://<primary ip>:1811/<procedure>.  Our
 * client certificate shows that we are a master candidate; the node has to show
 * the cluster's certificate. */
#ifndef MASTERD_RPC_NODERPC_HTTPS_H
#define MASTERD_RPC_NODERPC_HTTPS_H

#include "lib/base/error.h"
#include "lib/model/files/paths.h"
#include "masterd/rpc/noderpc.h"

struct noderpc_https;

/* Reads the certificates. */
struct noderpc_https *noderpc_https_create(const struct paths *paths,
					   struct error *err);
/* Read the certificates again, for calls from now on; running calls are not
 * affected.  -1 with err: nothing has changed.  Nothing changes behind
 * noderpc_https_close(). */
int noderpc_https_reload(struct noderpc_https *h, const struct paths *paths,
			 struct error *err);
/* Close the connections, which are handles of the loop: running calls fail, and
 * so do later ones, which tasks may still make that nobody waits for. */
void noderpc_https_close(struct noderpc_https *h);
/* No task may be left that uses it. */
void noderpc_https_free(struct noderpc_https *h);

/* What noderpc_create() takes; h must live longer. */
struct noderpc_transport noderpc_https_transport(struct noderpc_https *h);

#endif
