#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Mistakes that the compiler has to stop, each beside the right statement from
# which it differs in one place.
# Usage: planted.sh [SOURCE-ROOT [BUILD-ROOT [COMPILER-OPTION...]]]; prints TAP.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
build=${2:-build}
[ $# -lt 2 ] || shift 2
options=${*:--Werror}
work=$(mktemp -d /tmp/gantry-planted.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT

n=0
# point NAME FUNCTION: ok when the function prints nothing
point() {
    n=$((n + 1))
    complaints=$($2)
    if [ -z "$complaints" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        printf '%s\n' "$complaints" | sed 's/^/# /'
    fi
}

# compiles HEADER PARAMETERS STATEMENT: whether it does, in a function
compiles() {
    printf '#include "%s"\nvoid f(%s);\nvoid f(%s)\n{\n\t%s;\n}\n' \
        "$1" "$2" "$2" "$3" >"$work/planted.c"
    # shellcheck disable=SC2046,SC2086
    ${CC:-cc} -fsyntax-only -std=gnu17 -D_GNU_SOURCE -I. -I"$build" \
        $(pkg-config --cflags jansson) $options "$work/planted.c" \
        >"$work/log" 2>&1
}

# planted HEADER PARAMETERS RIGHT WRONG: complain unless only RIGHT compiles
planted() {
    if ! compiles "$1" "$2" "$3"; then
        echo "does not compile: $3"
        cat "$work/log"
    elif compiles "$1" "$2" "$4"; then
        echo "compiles: $4"
    fi
}

rpc=lib/model/rpc/rpc.h
calls=noded/calls/calls.h

node_call_sent() {
    planted $rpc "json_t *disk" \
        'rpc_blockdev_wipe(disk, 0, 1)' 'rpc_blockdev_wipe(disk, "0", 1)'
    planted $rpc "json_t *disk" \
        'rpc_blockdev_wipe(disk, 0, 1)' 'rpc_blockdev_wipe(disk, 0)'
    planted $rpc "json_t *disk" \
        'rpc_blockdev_wipe(disk, 0, 1)' 'rpc_blockdev_wipe(disk, 0, 1, 2)'
    planted $rpc "json_t *disk" \
        'rpc_blockdev_find(disk)' 'rpc_file_storage_dir_create(disk)'
    planted $rpc void 'rpc_version()' 'rpc_version(1)'
}

node_call_served() {
    planted $rpc "const struct rpc_args_blockdev_wipe *args" \
        '(void)args->size_mib' '(void)args->more_mib'
    planted $rpc "const struct rpc_args_blockdev_wipe *args" \
        '(void)json_array_size(args->disk)' \
        '(void)json_array_size(args->size_mib)'
    planted $calls "struct call *c, struct error *err,
        const struct rpc_args_blockdev_wipe *args" \
        'call_blockdev_wipe(c, args, err)' 'call_blockdev_grow(c, args, err)'
    planted $calls "struct call *c, struct error *err" \
        'call_version(c, err)' 'call_node_ssh_key_add(c, err)'
}

objects=lib/model/config/config_objects.h

member_read() {
    planted $objects "const json_t *inst" \
        '(void)inst_primary_node(inst)' '(void)inst_primary_nod(inst)'
    planted $objects "const json_t *inst" \
        '(void)inst_primary_node(inst)' '(void)inst_offline(inst)'
    planted $objects "const json_t *inst" \
        'const char *name = inst_name(inst); (void)name' \
        'const char *name = inst_nics(inst); (void)name'
    planted $objects "const json_t *be" \
        '(void)be_maxmem(be)' '(void)be_maxmem_mib(be)'
}

member_set() {
    planted $objects "json_t *disk" \
        'disk_set_size_mib(disk, 1)' 'disk_set_size(disk, 1)'
    planted $objects "json_t *disk" \
        'disk_set_mode(disk, "rw")' 'disk_set_mode(disk, 1)'
    planted $objects "const json_t *disk, json_t *own" \
        'disk_set_size_mib(own, 1)' 'disk_set_size_mib(disk, 1)'
    planted $objects void \
        '(void)CONFIG_MEMBER(cluster, os_hvp)' \
        '(void)CONFIG_MEMBER(cluster, os_hpv)'
}

point "a node call with a wrong argument does not compile" node_call_sent
point "a node call does not read an argument that it has not" node_call_served
point "a misspelt member of an object does not compile" member_read
point "a member is set with a value of its type" member_set

echo "1..$n"
