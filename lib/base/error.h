/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors: one idiom for every function that can fail.
 *
 * A function that can fail returns 0 or -1 (or a pointer or NULL) and takes
 * `struct error *err` last.  It fills *err exactly when it fails.  The caller
 * owns the struct, normally on its stack; nothing has to be freed.  Running out
 * of memory is not an error, it ends the process (see mem.h).
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

/* The kinds are Ganeti's exception classes: LUXI and the job files carry the
 * names (doc/protocol/luxi.md lists them). */
#define ERROR_KINDS(X)                                                         \
	X(SYSTEM, "GenericError")                                              \
	X(PREREQ, "OpPrereqError")                                             \
	X(EXEC, "OpExecError")                                                 \
	X(OPCODE, "OpCodeUnknown")                                             \
	X(RESULT, "OpResultError")                                             \
	X(LOCK, "LockError")                                                   \
	X(CANCELED, "JobCanceled")                                             \
	X(JOB_LOST, "JobLost")                                                 \
	X(JOB_CORRUPT, "JobFileCorrupted")                                     \
	X(QUEUE, "JobQueueError")                                              \
	X(QUEUE_DRAINED, "JobQueueDrainError")                                 \
	X(QUEUE_FULL, "JobQueueFull")                                          \
	X(RPC, "RpcError")                                                     \
	X(LUXI, "LuxiError")                                                   \
	X(REQUEST, "RequestError")                                             \
	X(CONFIG, "ConfigurationError")                                        \
	X(CONFIG_VERSION, "ConfigVersionMismatch")                             \
	X(RESERVATION, "ReservationError")                                     \
	X(HYPERVISOR, "HypervisorError")                                       \
	X(BLOCKDEV, "BlockDeviceError")                                        \
	X(STORAGE, "StorageError")                                             \
	X(FILE_PATH, "FileStoragePathError")                                   \
	X(HOOKS_ABORT, "HooksAbort")                                           \
	X(HOOKS, "HooksFailure")                                               \
	X(TAG, "TagError")                                                     \
	X(PARAMETER, "ParameterError")                                         \
	X(TYPE, "TypeEnforcementError")                                        \
	X(RESOLVER, "ResolverError")                                           \
	X(FILTER, "QueryFilterParseError")                                     \
	X(COMMAND, "CommandError")                                             \
	X(PROGRAMMER, "ProgrammerError")

enum error_kind {
#define X(kind, name) ERR_##kind,
	ERROR_KINDS(X)
#undef X
};

/* Enough for a sentence and the first lines of a program's output; what is
 * longer goes into the job's log. */
#define ERROR_TEXT_MAX 4096

struct error {
	enum error_kind kind;
	const char *ecode;	   /* one of ECODE_*, or NULL */
	char text[ERROR_TEXT_MAX]; /* valid UTF-8, whatever it was made of */
};

/* What kind of wrong, for OpPrereqError (the second argument on the wire). */
#define ECODE_RESOLVER "resolver_error"
#define ECODE_NORES "insufficient_resources"
#define ECODE_TEMP_NORES "temp_insufficient_resources"
#define ECODE_INVAL "wrong_input"
#define ECODE_STATE "wrong_state"
#define ECODE_NOENT "unknown_entity"
#define ECODE_EXISTS "already_exists"
#define ECODE_NOTUNIQUE "resource_not_unique"
#define ECODE_FAULT "internal_error"
#define ECODE_ENVIRON "environment_error"

/* Ours as well, for calls that only our own clients make: a request with this
 * key is under way; the key was used for another request; the world is not any
 * more what a plan was made for. */
#define ECODE_UNDERWAY "under_way"
#define ECODE_REUSED "key_reused"
#define ECODE_MOVED "world_moved"

/* The codes below are ours: modules use them among each other, no client sees
 * them.  ERR_RPC: the host answers but its daemon does not run. */
#define ECODE_REFUSED "connection_refused"
/* ERR_RPC: the connection ended before the answer came: the daemon has ended,
 * or its host starts anew. */
#define ECODE_CUT "connection_cut"
/* ERR_SYSTEM: the path is a pipe, a link, a folder or a device, no regular
 * file. */
#define ECODE_NOFILE "no_regular_file"
/* ERR_SYSTEM: there was no space for a file; the file is as it was before. */
#define ECODE_NOSPACE "no_space"
/* Another node is the master.  With ERR_RPC: a node has promised the other one
 * a newer term.  Otherwise: this node must not begin or continue as master. */
#define ECODE_FENCED "fenced"
/* ERR_RPC: a node of this cluster answers, and does not let this one in: it is
 * no master candidate by what that one knows. */
#define ECODE_SHUT_OUT "shut_out"

/* Fill *err and return -1, so that callers can write `return error_set(...)`.
 * Text that does not fit is cut. */
int error_set(struct error *err, enum error_kind kind, const char *ecode,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Give an error another kind and code and keep its text; returns -1. */
int error_as(struct error *err, enum error_kind kind, const char *ecode);

/* Put "<prefix>: " before the text of *err and return -1. */
int error_wrap(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, and make it an error of this kind; its code stays. */
int error_wrap_as(struct error *err, enum error_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether the error has this ecode. */
bool error_is(const struct error *err, const char *ecode);

/* Ganeti's name of the class, a literal. */
const char *error_kind_name(enum error_kind kind);

/* The kind with that name; `fallback` if it is not one of ours. */
enum error_kind error_kind_by_name(const char *name, enum error_kind fallback);

/* The ECODE_* literal equal to text, or NULL. */
const char *error_ecode(const char *text);

#endif
