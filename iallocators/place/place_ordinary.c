/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement by score: on one node or on pairs of nodes, with the promises that
 * must hold afterwards, and what --explain wants to know of both. */
#include <string.h>

#include "iallocators/place/explain.h"
#include "iallocators/place/place.h"
#include "iallocators/place/promises.h"

int place_ordinary(const struct place *p, const struct nodeset *candidates,
		   struct solution *ret, struct error *err)
{
	struct promises promises;

	memset(ret, 0, sizeof(*ret));
	if (place_check_count(p, candidates, err) < 0)
		return -1;
	promises_init(&promises, p, p->c->nodes[candidates->items[0]].group);
	if (p->required_nodes == 1)
		place_singles(p, &promises, candidates, ret);
	else
		place_pairs(p, &promises, candidates, ret);
	explain_count(p->options->explain, ret->successes,
		      p->required_nodes == 2);
	promises_explain(&promises, p);
	promises_done(&promises);
	return 0;
}
