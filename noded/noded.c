/* SPDX-License-Identifier: BSD-2-Clause */
#include "noded/noded.h"

#include <stdlib.h>

void noded_init(struct noded *n, struct paths *paths)
{
	*n = (struct noded){.paths = paths};
	peers_init(&n->peers, paths);
}

void noded_done(struct noded *n)
{
	peers_done(&n->peers);
	free(n->address);
}
