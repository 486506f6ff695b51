/* SPDX-License-Identifier: BSD-2-Clause */
/* The tools, and what their files share. */
#ifndef CLI_FRAME_TOOLS_H
#define CLI_FRAME_TOOLS_H

#include "cli/frame/cli.h"

extern const struct cli_tool tool_cluster, tool_node, tool_instance, tool_group,
	tool_network, tool_job, tool_os, tool_debug, tool_filter, tool_backup,
	tool_storage, tool_vcluster;

/* gnt_cluster_init.c */
extern const struct cli_command cluster_init, cluster_destroy;
/* gnt_cluster_failover.c */
extern const struct cli_command cluster_failover, cluster_recover;
/* gnt_cluster_modify.c */
extern const struct cli_command cluster_modify;
/* gnt_cluster_nodes.c */
extern const struct cli_command cluster_command, cluster_copyfile;
/* gnt_cluster_epo.c */
extern const struct cli_command cluster_epo;
/* gnt_cluster_upgrade.c */
extern const struct cli_command cluster_upgrade;

/* gnt_debug_jqueue.c */
extern const struct cli_command debug_test_jobqueue;

/* gnt_cluster_renew.c */
extern const struct cli_command cluster_renew_crypto;
/* gnt_cluster_sanitize.c */
extern const struct cli_command cluster_sanitize;

/* gnt_cluster_info.c */
extern const struct cli_command cluster_info, cluster_resources,
	cluster_version;
/* ispecs_cmd.c */
extern const struct cli_command cluster_show_ispecs, group_show_ispecs;

/* gnt_cluster_verify.c */
extern const struct cli_command cluster_verify, cluster_verify_disks;

/* gnt_cluster_watcher.c */
extern const struct cli_command cluster_watcher;

/* gnt_debug_iallocator.c */
extern const struct cli_command debug_iallocator;
/* What an allocator says of nodes, for people or as --format asks. */
void tool_print_explanation(const struct cli *cli, const json_t *explanation);
/* gnt_instance_add.c */
extern const struct cli_command instance_add;
/* gnt_instance_batch.c */
extern const struct cli_command instance_batch_create;
/* gnt_instance_power.c */
extern const struct cli_command instance_startup, instance_shutdown,
	instance_reboot;
/* gnt_instance_disks.c */
extern const struct cli_command instance_activate_disks,
	instance_deactivate_disks, instance_grow_disk, instance_recreate_disks,
	instance_replace_disks;
/* gnt_instance_install.c */
extern const struct cli_command instance_reinstall, instance_rename;
/* gnt_instance_console.c */
extern const struct cli_command instance_console;
/* gnt_instance_info.c */
extern const struct cli_command instance_info;
/* gnt_instance_modify.c */
extern const struct cli_command instance_modify;
/* gnt_instance_move.c */
extern const struct cli_command instance_failover, instance_migrate,
	instance_move, instance_change_group;

/* gnt_node_modify.c */
extern const struct cli_command node_modify, node_refresh_state;
/* gnt_group_modify.c */
extern const struct cli_command group_add, group_modify, group_remove,
	group_rename, group_assign_nodes;
/* gnt_network_modify.c */
extern const struct cli_command network_add, network_modify, network_remove,
	network_rename, network_connect, network_disconnect;
/* gnt_network_info.c */
extern const struct cli_command network_info;

/* gnt_node_evacuate.c */
extern const struct cli_command node_evacuate, node_migrate, node_failover;
/* gnt_node_storage.c */
extern const struct cli_command node_list_storage, node_volumes,
	node_modify_storage, node_repair_storage;
/* gnt_node_add.c */
extern const struct cli_command node_add, node_join;
/* gnt_node_power.c */
extern const struct cli_command node_health, node_power;
/* gnt_node_command.c */
extern const struct cli_command node_restricted_command, node_list_drbd;

/* tags.c: list-tags, add-tags, remove-tags of one kind of object. */
extern const struct cli_command cluster_tags[], node_tags[], instance_tags[],
	group_tags[], network_tags[];

/* Give parameters (all text) of an option the types that their defaults have;
 * "default" stays where allow_default.  ERR_TYPE for an unknown one, which
 * names the option and those that there are. */
int tool_type_params(json_t *params, const struct opt *option,
		     const json_t *defaults, bool allow_default,
		     struct error *err);
/* The same for back-end parameters (memory takes units), node parameters
 * ("default" stays) and hypervisor parameters (NULL: of any hypervisor). */
int tool_type_be(json_t *params, bool allow_default, struct error *err);
int tool_type_nd(json_t *params, struct error *err);
int tool_type_hv(json_t *params, const char *hypervisor, bool allow_default,
		 struct error *err);

/* The parameters hv_state and disk_state of an opcode (or of anything else)
 * from the options --hypervisor-state and --disk-state (states.c). */
int tool_set_states(const struct cli *cli, json_t *op, struct error *err);

/* [[name, {...}], ...], as options with idents give it, as an object. */
json_t *tool_by_ident(const json_t *pairs, struct error *err);
/* --master-netmask as a number, 0 without it; -1 with *err. */
int tool_netmask(const struct cli *cli, struct error *err);
/* Set "diskparams" and "ipolicy" of an opcode from the options; {} without
 * any. */
int tool_set_diskparams(const struct cli *cli, json_t *op, struct error *err);
int tool_set_ipolicy(const struct cli *cli, json_t *op, struct error *err);
/* Put init's --specs-* options into a policy (ipolicy.c, as the one before). */
int tool_split_specs(const struct cli *cli, json_t *ipolicy, struct error *err);

/* The words of --tags, which may be given often; a list. */
json_t *tool_tags(const struct cli *cli);

/* Say what a job has modified: "Modified WHAT NAME" and the changes
 * [[parameter, value], ...]; nothing when there are none. */
void tool_print_changes(const char *what, const char *name,
			const json_t *changes);

/* The opcode that makes an instance, from the options; mode: "create" or
 * "import" (gnt_instance_add.c).  To be freed. */
json_t *tool_create_op(const struct cli *cli, const char *mode,
		       struct error *err);

/* For the tables: the options of both modes. */
#define OPTS_CREATE                                                            \
	&OPT_BEPARAMS, &OPT_CDROM, &OPT_DISK, &OPT_DISK_TEMPLATE,              \
		&OPT_FILE_DIR, &OPT_FILE_DRIVER, &OPT_HYPERVISOR,              \
		&OPT_IALLOCATOR, &OPT_NET, &OPT_NODE, &OPT_GROUP,              \
		&OPT_NO_IP_CHECK, &OPT_NO_CONFLICTS_CHECK, &OPT_NO_NAME_CHECK, \
		&OPT_NO_NICS, &OPT_NO_WAIT_FOR_SYNC, &OPT_OSPARAMS,            \
		&OPT_OSPARAMS_PRIVATE, &OPT_OSPARAMS_SECRET, &OPT_OS_SIZE,     \
		&OPT_OPPORTUNISTIC, &OPT_TAGS, &OPT_IGNORE_IPOLICY,            \
		&OPT_HELPER_START, &OPT_HELPER_STOP

/* For the tables: the options that select instances. */
#define OPTS_SELECT                                                            \
	&OPT_FORCE_MULTIPLE, &OPT_SEL_NODE, &OPT_SEL_PRIMARY,                  \
		&OPT_SEL_SECONDARY, &OPT_SEL_ALL, &OPT_SEL_INSTANCE,           \
		&OPT_SEL_NODE_TAGS, &OPT_SEL_PRI_TAGS, &OPT_SEL_SEC_TAGS,      \
		&OPT_SEL_TAGS

/* A job for each instance that the options and arguments select: the opcode of
 * make() with its instance_name set.  Asks when there are several.  loss: a
 * sentence about what the instances lose (NULL: nothing); then it also asks
 * about a single one, and --force is no answer for several. */
int tool_each_instance(struct cli *cli, json_t *(*make)(const struct cli *cli),
		       const char *loss, struct error *err);

/* What is not there (known.c).  "KIND 'name' not known", unknown_entity; -1. */
int tool_unknown(const char *kind, const char *name, struct error *err);
/* -1 with err when one of these nodes, or the group, is not known. */
int tool_nodes_known(struct cli *cli, const json_t *names, struct error *err);
/* QueryNodes, where a name that is not known is an error; no names: all. */
json_t *tool_query_nodes(struct cli *cli, json_t *names STEALS,
			 json_t *fields STEALS, struct error *err);
/* rows: what a Query for these nodes (may be NULL) in this group (may be NULL)
 * found, the name as first field.  -1 with err when one of those names is not
 * known; a node that is not in the group is just not meant. */
int tool_check_choice(struct cli *cli, const json_t *rows, const json_t *nodes,
		      const char *group, struct error *err);

/* Ask QueryInstances whether all these are known: 0, or -1 with its error. */
int tool_instances_exist(struct cli *cli, struct error *err);

#endif
