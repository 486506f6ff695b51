/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that this node daemon serves: one function each, by subject in
 * calls_*.c.  All of Ganeti's are in lib/model/rpc/noderpcs.def. */
#ifndef NODED_CALLS_CALLS_H
#define NODED_CALLS_CALLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

struct noded;
struct paths;

/* A call while it is served. */
struct call {
	struct noded *n;
	const struct paths *paths;
	const char *procedure;
	const json_t *args; /* list; an object for instance_console_info */
	uint64_t term;	    /* of the caller; 0: it has none */

	/* A failed call that has more to say than fits an error, such as a
	 * program's whole output, sets this; it is sent in place of the error's
	 * text.  To be freed. */
	char *failure;
};

/* To add a call, add it here and write call_<name>(). */
#define NODED_CALLS(X)                                                         \
	/* calls_node.c */                                                     \
	X(version)                                                             \
	X(node_info)                                                           \
	X(bridges_exist)                                                       \
	X(node_has_ip_address)                                                 \
	X(node_powercycle)                                                     \
	X(node_leave_cluster)                                                  \
	X(node_demote_from_mc)                                                 \
	X(node_ensure_daemon)                                                  \
	X(test_delay)                                                          \
	X(storage_list)                                                        \
	/* calls_crypto.c */                                                   \
	X(node_crypto_tokens)                                                  \
	X(crypto_renewal)                                                      \
	/* calls_ssh.c */                                                      \
	X(ssh_keys)                                                            \
	/* calls_site.c */                                                     \
	X(restricted_command)                                                  \
	X(run_oob)                                                             \
	X(extstorage_diagnose)                                                 \
	/* calls_lvm.c */                                                      \
	X(node_volumes)                                                        \
	X(storage_execute)                                                     \
	X(storage_modify)                                                      \
	/* calls_verify.c */                                                   \
	X(node_verify)                                                         \
	X(node_verify_light)                                                   \
	/* calls_instance.c */                                                 \
	X(all_instances_info)                                                  \
	X(instance_list)                                                       \
	X(instance_info)                                                       \
	X(instance_start)                                                      \
	X(instance_shutdown)                                                   \
	X(instance_reboot)                                                     \
	X(instance_balloon_memory)                                             \
	X(hotplug_device)                                                      \
	X(hotplug_supported)                                                   \
	X(instance_console_info)                                               \
	X(hypervisor_validate_params)                                          \
	X(instance_metadata_modify)                                            \
	/* calls_migrate.c */                                                  \
	X(instance_migratable)                                                 \
	X(migration_info)                                                      \
	X(accept_instance)                                                     \
	X(instance_migrate)                                                    \
	X(instance_finalize_migration_dst)                                     \
	X(instance_finalize_migration_src)                                     \
	X(instance_get_migration_status)                                       \
	/* calls_blockdev.c */                                                 \
	X(blockdev_create)                                                     \
	X(blockdev_remove)                                                     \
	X(blockdev_assemble)                                                   \
	X(blockdev_shutdown)                                                   \
	X(blockdev_open)                                                       \
	X(blockdev_close)                                                      \
	X(blockdev_find)                                                       \
	X(blockdev_getmirrorstatus)                                            \
	X(blockdev_getmirrorstatus_multi)                                      \
	X(blockdev_getdimensions)                                              \
	X(blockdev_grow)                                                       \
	X(blockdev_setinfo)                                                    \
	X(blockdev_rename)                                                     \
	X(blockdev_image)                                                      \
	X(blockdev_wipe)                                                       \
	X(file_storage_dir_create)                                             \
	X(file_storage_dir_remove)                                             \
	X(file_storage_dir_rename)                                             \
	/* calls_impexp.c */                                                   \
	X(import_start)                                                        \
	X(export_start)                                                        \
	X(impexp_status)                                                       \
	X(impexp_abort)                                                        \
	X(impexp_cleanup)                                                      \
	/* calls_export.c */                                                   \
	X(finalize_export)                                                     \
	X(export_info)                                                         \
	X(export_list)                                                         \
	X(export_remove)                                                       \
	/* calls_os.c */                                                       \
	X(os_diagnose)                                                         \
	X(os_validate)                                                         \
	X(os_supports)                                                         \
	X(instance_os_add)                                                     \
	X(instance_run_rename)                                                 \
	X(hooks_runner)                                                        \
	X(iallocator_runner)                                                   \
	/* calls_files.c */                                                    \
	X(upload_file)                                                         \
	X(upload_file_single)                                                  \
	X(write_ssconf_files)                                                  \
	X(get_file_info)                                                       \
	X(set_watcher_pause)                                                   \
	X(get_watcher_pause)                                                   \
	X(etc_hosts_modify)                                                    \
	/* calls_queue.c */                                                    \
	X(jobqueue_update)                                                     \
	X(jobqueue_update_many)                                                \
	X(jobqueue_rename)                                                     \
	X(jobqueue_purge)                                                      \
	X(jobqueue_set_drain_flag)                                             \
	X(jobqueue_list)                                                       \
	X(jobqueue_read)                                                       \
	/* calls_master.c */                                                   \
	X(master_state)                                                        \
	X(master_promise)                                                      \
	X(config_read)                                                         \
	X(master_node_name)                                                    \
	X(node_activate_master_ip)                                             \
	X(node_deactivate_master_ip)                                           \
	X(node_change_master_netmask)                                          \
	X(node_start_master_daemons)                                           \
	X(node_stop_master)

/* Each returns the payload, to be freed (JSON null for none), or NULL with err.
 * Runs in a task. */
#define X(name) WAITS json_t *call_##name(struct call *c, struct error *err);
NODED_CALLS(X)
#undef X

/* Whether it is a procedure of Ganeti's node daemon, served here or not. */
bool calls_known(const char *procedure);

/* Check the number of arguments and run c->procedure, which must be known. */
WAITS json_t *calls_run(struct call *c, struct error *err);

/* The i-th argument, borrowed, if it is of that kind; otherwise NULL (-1) with
 * an error that names the call and the argument. */
const char *call_str(const struct call *c, size_t i, struct error *err);
const json_t *call_object(const struct call *c, size_t i, struct error *err);
const json_t *call_list(const struct call *c, size_t i, struct error *err);
int call_int(const struct call *c, size_t i, int64_t *ret, struct error *err);
int call_num(const struct call *c, size_t i, double *ret, struct error *err);
/* False also when it is missing or not a boolean. */
bool call_flag(const struct call *c, size_t i);

/* The i-th argument as an instance object, whose name is valid as part of a
 * file name.  NULL with err. */
const json_t *call_instance(const struct call *c, size_t i, struct error *err);

#endif
