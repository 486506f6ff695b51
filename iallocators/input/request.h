/* SPDX-License-Identifier: BSD-2-Clause */
/* An iallocator request: the cluster in it, and what is asked. */
#ifndef IALLOCATORS_INPUT_REQUEST_H
#define IALLOCATORS_INPUT_REQUEST_H

#include "iallocators/input/build.h"
#include "iallocators/input/jtext.h"
#include "iallocators/model/model.h"

enum request_type {
	REQUEST_ALLOCATE,
	REQUEST_MULTI,
	REQUEST_RELOCATE,
	REQUEST_CHANGE_GROUP,
	REQUEST_EVACUATE,
	REQUEST_SECONDARY,
	REQUEST_TYPES
};

/* The names of the nodes to which new instances may go. */
struct restriction {
	bool given; /* else to any */
	const char **names;
	size_t n;
};

struct new_instance {
	struct instance inst;
	int64_t required_nodes;
	const char *group_name;		/* asked for it alone, or NULL */
	struct restriction restriction; /* the same */
};

struct request {
	enum request_type type;
	struct new_instance *news; /* allocate: one; multi-allocate */
	int n_news;
	const char *group_name; /* or NULL */
	bool skip_failed;	/* multi-allocate: go on without those */
	struct restriction restriction;
	int *instances; /* that exist: of all other types */
	int n_instances;
	int64_t required_nodes; /* relocate */
	int *nodes;		/* relocate: from these */
	int n_nodes;
	int *groups; /* change-group: into these */
	int n_groups;
	enum evac_mode mode;
};

/* Read the cluster; c is zeroed before, its parts live in its arena and in the
 * text of `top`.  A node with KVM needs so much memory itself (0: what is
 * reported).  cluster_finish() is up to the caller. */
int request_load(struct cluster *c, const struct jval *top,
		 int64_t static_kvm_node_memory, struct error *err);

/* Then the question, the member "request" of it, about that cluster or another
 * one; *ret is zeroed before. */
int request_ask(struct cluster *c, const struct jval *question,
		const struct load_options *o, struct request *ret,
		struct error *err);

/* Room for how many instances an answer to the question needs. */
size_t request_new_instances(const struct jval *question);

/* An instance policy, but what only our master tells; lists come from the
 * arena.  *ret is zeroed before. */
int request_policy(struct arena *a, const struct jval *policy,
		   struct policy *ret, struct error *err);

/* The parts of it, which request.c puts together. */
int request_groups(struct cluster *c, const struct jval *groups,
		   struct error *err);
int request_nodes(struct cluster *c, const struct jval *nodes,
		  struct error *err);
int request_instances(struct cluster *c, const struct jval *instances,
		      struct error *err);

/* An instance's own properties. */
int request_instance(struct cluster *c, const char *name,
		     const struct jval *object, struct instance *ret,
		     struct error *err);

#endif
