/* SPDX-License-Identifier: BSD-2-Clause */
/* What tags mean for placement.  Cluster tags name prefixes:
 *
 *   htools:iextags:X          instances with an equal tag X... want different
 *                             nodes
 *   htools:desiredlocation:X  an instance tag X... asks for nodes with it
 *   htools:nlocation:X        a node tag X:... says where the node stands
 *   htools:migration:X        a node tag X:... limits migration to nodes that
 *                             have it too, or for which
 *   htools:allowmigration:a::b  allows it from a to b
 */
#ifndef IALLOCATORS_MODEL_TAGS_H
#define IALLOCATORS_MODEL_TAGS_H

#include "iallocators/model/model.h"

/* Note which kinds of tags the cluster uses. */
void tags_read(struct cluster *c, const struct load_options *o);
void tags_of_node(struct cluster *c, struct node *n);
void tags_of_instance(struct cluster *c, struct instance *inst,
		      const struct load_options *o);

#endif
