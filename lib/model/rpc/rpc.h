/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to node daemons, with the types of their arguments.  From each line of
 * noderpcs.def come
 *
 *   rpc_<name>(argument, ...)  the call as the master sends it
 *   struct rpc_args_<name>     the arguments as the node daemon gets them
 *   rpc_procedure_<name>       name, time limit, kinds
 *
 * so an argument too many, too few or of another type does not compile, and
 * neither does reading an argument that the call does not have. */
#ifndef MODEL_RPC_RPC_H
#define MODEL_RPC_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/each.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"

/* The kinds of arguments and answers.  INSTANCE is an object of an instance
 * whose name may be part of a file name; ANY any value.  OR_NULL_ may be null
 * on the wire. */
enum rpc_kind {
	RPC_NOTHING, /* an answer that is null, or that nobody looks at */
	RPC_ANY,
	RPC_STR,
	RPC_OR_NULL_STR,
	RPC_BOOL,
	RPC_INT,
	RPC_NUM,
	RPC_LIST,
	RPC_OR_NULL_LIST,
	RPC_OBJECT,
	RPC_OR_NULL_OBJECT,
	RPC_INSTANCE,
};

/* What the master gives for each kind: texts are copied, values of JSON are
 * given away.  NULL is null, for ANY and OR_NULL_. */
typedef const char *rpc_give_STR, *rpc_give_OR_NULL_STR;
typedef bool rpc_give_BOOL;
typedef int64_t rpc_give_INT;
typedef double rpc_give_NUM;
typedef json_t *rpc_give_ANY, *rpc_give_LIST, *rpc_give_OR_NULL_LIST;
typedef json_t *rpc_give_OBJECT, *rpc_give_OR_NULL_OBJECT, *rpc_give_INSTANCE;

/* What the node daemon gets, borrowed from the call; NULL, 0 or false for null
 * and for an argument that was left out. */
typedef const char *rpc_take_STR, *rpc_take_OR_NULL_STR;
typedef bool rpc_take_BOOL;
typedef int64_t rpc_take_INT;
typedef double rpc_take_NUM;
typedef const json_t *rpc_take_ANY, *rpc_take_LIST, *rpc_take_OR_NULL_LIST;
typedef const json_t *rpc_take_OBJECT, *rpc_take_OR_NULL_OBJECT;
typedef const json_t *rpc_take_INSTANCE;

/* The end of the refusal of a call (412) that has not begun, and so may be made
 * again.  A call during which a newer master comes is refused without it. */
#define RPC_NOT_BEGUN "; nothing was done"

/* lib/base/each.h goes through the arguments of a line. */
#define EACH_SPLIT_ANY(name) ANY, name
#define EACH_SPLIT_STR(name) STR, name
#define EACH_SPLIT_OR_NULL_STR(name) OR_NULL_STR, name
#define EACH_SPLIT_BOOL(name) BOOL, name
#define EACH_SPLIT_INT(name) INT, name
#define EACH_SPLIT_NUM(name) NUM, name
#define EACH_SPLIT_LIST(name) LIST, name
#define EACH_SPLIT_OR_NULL_LIST(name) OR_NULL_LIST, name
#define EACH_SPLIT_OBJECT(name) OBJECT, name
#define EACH_SPLIT_INSTANCE(name) INSTANCE, name

struct rpc_arg {
	const char *name;
	enum rpc_kind kind;
	size_t offset; /* in struct rpc_args_<name> */
};

struct rpc_procedure {
	const char *name;
	unsigned timeout_ms;
	bool served; /* by our node daemon */
	enum rpc_kind answer;
	size_t needed; /* arguments that must be there */
	size_t n_args;
	const struct rpc_arg *args;
	size_t args_size; /* of struct rpc_args_<name> */
};

/* A call that is to be sent.  Who gets it frees args. */
struct rpc_request {
	const struct rpc_procedure *procedure;
	json_t *args; /* list */
	unsigned timeout_ms;
};

#define RPC_PARAMETER(kind, name) rpc_give_##kind name
#define RPC_MEMBER(call, kind, name) rpc_take_##kind name;
#define RPC(name, timeout_s, served, answer, needed, ...)                      \
	extern const struct rpc_procedure rpc_procedure_##name;                \
	struct rpc_args_##name {                                               \
		EACH(RPC_MEMBER, name, __VA_ARGS__)                            \
	};                                                                     \
	struct rpc_request rpc_##name(EACH_COMMAS(RPC_PARAMETER, __VA_ARGS__));
#include "lib/model/rpc/noderpcs.def"
#undef RPC

/* The procedure of that name, NULL if there is none. */
const struct rpc_procedure *rpc_find(const char *name);

/* Whether a procedure changes nothing, neither on the node nor elsewhere.
 * node_crypto_tokens may and is not among them. */
bool rpc_only_looks(const char *procedure);

/* A call of a procedure that is known (anything else aborts) with arguments
 * that nobody checks: for what has no types, the replication of queue and
 * configuration, and a call that is wrong on purpose. */
struct rpc_request rpc_unchecked(const char *name, json_t *args STEALS);

/* The same call with another time limit. */
struct rpc_request rpc_within(struct rpc_request request, unsigned timeout_ms);

/* Read the arguments of a call, a list, into *ret_args (struct
 * rpc_args_<name>); they are borrowed from the list.  ERR_REQUEST that names
 * the call and the argument. */
int rpc_read(const struct rpc_procedure *procedure, const json_t *args,
	     void *ret_args, struct error *err);

/* Whether the value is of that kind; with *ret_name what the kind is called in
 * messages, "a list". */
bool rpc_is_of_kind(enum rpc_kind kind, const json_t *value,
		    const char **ret_name);

#endif
