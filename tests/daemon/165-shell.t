#!/bin/sh
# Completions and manual pages that come from the tables of commands.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/cluster.sh"
pages=$BIN/../iallocators/tool_pages # before the programs are a host's
cluster_start --nodes 1
PATH=$BIN:$PATH
gnt completion bash >"$VC/bash"
gnt completion zsh >"$VC/zsh"
gnt completion fish >"$VC/fish"
tools="cluster node instance group network job os debug filter backup storage vcluster"

# tab WORD...: what bash offers for the last word
tab() {
    m bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gnt
        printf "%s\n" "${COMPREPLY[@]}"' "$VC/bash" "$@"
}
is "$(tab gnt-instance li)" "list
list-fields
list-tags" "bash completes a command"
is "$(tab gnt instance li | head -1)" list "also behind gnt"
is "$(tab gnt inst)" instance "and the tool"
is "$(tab gnt-instance list --format = y)" yaml "the value of an option"
is "$(tab gnt-instance reboot -t s)" soft "of its letter, too"
like "$(tab gnt-instance migrate --al)" '^--allow-failover' "an option"
is "$(tab gnt-node info n)" node1.example.com "the name of a node"
is "$(tab gnt-instance add -n node1)" node1.example.com \
    "as the value of an option"
is "$(tab gnt-cluster getmaster n)" "" "nothing where nothing is wanted"
# Keys behind what of a value is there.
is "$(tab gnt-instance add -B max)" maxmem= "a key of -B"
is "$(tab gnt-instance add -B maxmem = 1g,vc)" 1g,vcpus= "the next one"
is "$(tab gnt-instance add --backend-parameters = maxmem = 1g,vc)" 1g,vcpus= \
    "and behind the long name"
is "$(tab gnt-instance add -H kv)" kvm: "a hypervisor"
is "$(tab gnt-instance add -H kvm : acpi = no,disk_c)" no,disk_cache= "and its key"
is "$(tab gnt-instance add -H fake : acp)" "" "not one of another"
is "$(tab gnt-instance modify -H disk_c)" disk_cache= "where it is known, only the key"
is "$(tab gnt-instance add --disk 0 : si)" size= "a key of a disk"
is "$(tab gnt-instance add --disk = 0 : size = 1g,sp)" 1g,spindles= "the next one"
is "$(tab gnt-instance add --net 0 : li)" link= "and of a NIC"
is "$(tab gnt-group modify -D drbd : protoc)" protocol= "of a disk template"
is "$(tab gnt-node list -o name,grou)" "name,group
name,group.uuid" "a field behind a comma"
is "$(tab gnt-node list -o +grou | head -1)" "+group" "or behind a plus"
is "$(tab gnt-instance add -B "\$(touch $VC/trap),max")" "\$(touch $VC/trap),maxmem=" \
    "what stands before it stays"
fails "and is not run" test -e "$VC/trap"
for tool in $tools; do
    is "$(tab gnt-$tool '' | sort)" \
        "$(gnt-$tool --help | sed -n 's/^ \([a-z-]*\) *- .*/\1/p' | sort)" \
        "bash completes all commands of gnt-$tool"
done
succeeds "bash takes the file" bash -n "$VC/bash"
like "$(bash -c '. "$0"; complete -p gnt-node' "$VC/bash")" '_gnt gnt-node' \
    "for each tool"

if command -v zsh >/dev/null; then
    succeeds "zsh takes the file" zsh -n "$VC/zsh"
    is "$(zsh -f -c 'autoload -U compinit; compinit -D -u; . "$0"
print -- ${_comps[gnt-instance]}' "$VC/zsh")" _gnt "and may source it"
    is "$(m zsh -c 'compadd() { shift; print -l -- ${(M)@:#li*}; }
words=(gnt-instance li); CURRENT=2; . "$0"' "$VC/zsh" | head -1)" list \
        "zsh is offered a command"
    is "$(m zsh -c 'compadd() { shift; print -l -- $@; }
words=(gnt node info ""); CURRENT=4; . "$0"' "$VC/zsh")" node1.example.com \
        "and names of nodes"
    like "$(m zsh -c 'compadd() { [ "$1" = -S ] && shift 3 && print -l -- $@; :; }
words=(gnt-instance add -H kvm:acpi=no,); CURRENT=4
. "$0"' "$VC/zsh")" '^kvm:acpi=no,disk_cache=$' "and keys"
else
    note "zsh is not here"
fi
if command -v fish >/dev/null; then
    succeeds "fish takes the file" fish -n "$VC/fish"
    is "$(HOME=$VC m fish -c '. $argv[1]; complete -C "gnt-instance list-t"' "$VC/fish" |
        cut -f 1)" list-tags "fish completes a command"
    is "$(HOME=$VC m fish -c '. $argv[1]; complete -C "gnt-node info n"' "$VC/fish" |
        cut -f 1)" node1.example.com "and the name of a node"
    fish_tab() { HOME=$VC m fish -c '. $argv[1]; complete -C $argv[2]' "$VC/fish" "$1" | cut -f 1; }
    is "$(fish_tab "gnt-instance add -H kvm:acpi=no,disk_c")" kvm:acpi=no,disk_cache= "and a key"
    like "$(fish_tab "gnt-instance add --disk=0:size=1g,sp")" '0:size=1g,spindles=$' "of a disk, too"
    is "$(fish_tab "gnt-instance add -B maxm")" maxmem= "with nothing before it"
    like "$(fish_tab "gnt-node list -o name,grou")" '^name,group$' "and a field behind a comma"
else
    note "fish is not here"
fi
fails "another shell" gnt completion tcsh
like "$out" tcsh "is named"

# What is asked of the cluster.
ended=$(m gnt-job list --no-headers --separator=: -o id | head -1)
names() { # KIND [TOOL]
    m bash -c '. "$1" >/dev/null 2>&1; shift; _gnt_names "$@"' - "$VC/bash" "$@"
}
like "$(names fields node)" '^mem_free$' "fields are offered, our own as well"
like "$(names job)" "^$ended\$" "jobs are, too"
is "$(names live-job)" "" "but for cancel only those that have not ended"
like "$(gnt completion bash)" "'job cancel'\) _gnt_names live-job;" "which it asks for"
slow=$(m gnt-debug delay --submit --print-jobid 60 2>/dev/null | head -1)
until_true 10 sh -c "'$BIN/gnt-vcluster' exec '$VC' node1 -- gnt-job list --no-headers -o status $slow | grep -qx running"
is "$(names live-job)" "$slow" "as this one"

# Waiting is told.
m timeout -s INT 1 gnt-job wait "$slow" >"$VC/out" 2>&1
like "$(cat "$VC/out")" "Job $slow goes on; see gnt-job watch $slow" \
    "who is interrupted is told that the job goes on"
like "$(m gnt-job cancel --kill --yes-do-it "$slow" 2>&1)" 'ended at once' \
    "a kill says what it does"
is_final() { m gnt-job list --no-headers -o status "$slow" | grep -qx error; }
until_true 10 is_final
m gnt-job archive "$ended" "$slow" >/dev/null
succeeds "an archived job may be waited for" m gnt-job wait "$ended"
like "$out" "Job $ended is archived; it ended with status 'success'" "and how it ended is told"
fails "also where it failed" m gnt-job wait "$slow"
like "$out" "ended with status 'error'" "as this one did"
fails "but not one that never was" m gnt-job wait 99999
like "$(gnt)" 'gnt manual TOOL' "the usage names the manual"

# Keys of options, with what they mean and may be.
for key in minmem maxmem vcpus auto_balance always_failover spindle_use size \
    mode name adopt provider spindles mac ip network link vlan; do
    is "$(gnt manual gnt-instance | grep -A 1 -x ".fB$(echo $key | sed 's/-/\\\\-/g').fR" |
        tail -n 1 | grep -c '[a-z].*\.$')" 1 "the manual says what $key is"
done
for key in oob_program spindle_count exclusive_storage ssh_port cpu_speed; do
    like "$(gnt manual gnt-node | grep -A 2 -x ".fB$key.fR")" 'at first' \
        "and what $key of a node may be"
done
for page in instance:chroot cluster:vnet_hdr cluster:resync.-rate os:init_script backup:pci_pass group:protocol; do
    like "$(gnt manual "gnt-${page%%:*}")" "${page#*:}" \
        "the page of gnt-${page%%:*} has ${page#*:}"
done

# Examples: every command has one, with options that the command has.
known_options() { # HELP: a line each
    sed -n '/^Options$/,/^Examples$/p' "$1" |
        grep -oE '^--[a-z0-9-]+|, --[a-z0-9-]+|, -[A-Za-z]\b' | sed 's/^, //' | sort -u
}
shown=0
for tool in $tools; do
    missing=
    for command in $(tab "gnt-$tool" ''); do
        gnt-$tool "$command" --help >"$VC/help"
        sed '1,/^Examples$/d' "$VC/help" | grep "^  gnt-$tool $command\( \|\$\)" >"$VC/lines" ||
            missing="$missing $command"
        shown=$((shown + $(wc -l <"$VC/lines")))
        known_options "$VC/help" >"$VC/known"
        # What stands behind a lone -- is another command's.
        for option in $(sed 's/ -- .*//' "$VC/lines" |
            grep -oE ' (--[a-z0-9-]+|-[A-Za-z])\b'); do
            grep -qxe "$option" "$VC/known" || missing="$missing $command($option)"
        done
    done
    is "$missing" "" "each command of gnt-$tool has an example that holds"
done
is "$shown" "$(grep -c '^EXAMPLE(' "$(dirname "$0")/../../cli/frame/examples.def")" \
    "and no example is of something else"
like "$(gnt manual gnt-node | grep -A 4 '^Example: Ask the nodes')" \
    'gnt.-node health node1 node2' "the manual has them, too"

# Manual pages: every command and option stands in its tool's page.
for tool in $tools; do
    gnt manual "gnt-$tool" >"$VC/man"
    missing=
    for command in $(tab "gnt-$tool" ''); do
        word=$(echo "$command" | sed 's/-/\\\\-/g')
        grep -q "^.fB$word.fR" "$VC/man" || missing="$missing $command"
        for option in $(gnt-$tool "$command" --help | grep -oE '^--[a-z0-9-]+'); do
            word=$(echo "$option" | sed 's/-/\\\\-/g')
            grep -q "^.fB$word.fR" "$VC/man" || missing="$missing $option"
        done
    done
    is "$missing" "" "the page of gnt-$tool has all commands and options"
    if command -v groff >/dev/null; then
        is "$(groff -man -ww -Tutf8 "$VC/man" 2>&1 >/dev/null)" "" \
            "groff finds no fault with it"
    fi
done
gnt manual gnt >"$VC/man"
like "$(cat "$VC/man")" 'gnt.-node.fR\(8\)' "the page of gnt leads to the others"

# Those of the daemons are written by hand.
man=$(dirname "$0")/../../doc/man
for daemon in gantry-masterd gantry-noded gantry-rapi gantry-watcher; do
    missing=
    for option in $("$daemon" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
        word=$(echo "$option" | sed 's/-/\\\\-/g')
        grep -qe "$word" "$man/$daemon.8" || missing="$missing $option"
    done
    is "$missing" "" "the page of $daemon has all options"
    if command -v groff >/dev/null; then
        is "$(groff -man -ww -Tutf8 "$man/$daemon.8" 2>&1 >/dev/null)" "" \
            "groff finds no fault with it"
    fi
done

# The planners have pages and completions of their own.
planners="hail hbal hcheck hinfo hroller hspace hsqueeze"
for tool in $planners; do
    "$pages" manual "$tool" >"$VC/man"
    missing=
    for option in $($tool --help | grep -oE ' --[a-z0-9-]+' | sort -u); do
        word=$(echo "$option" | sed 's/-/\\\\-/g')
        grep -q "fB$word.fR" "$VC/man" || missing="$missing $option"
    done
    is "$missing" "" "the page of $tool has all options"
    if command -v groff >/dev/null; then
        is "$(groff -man -ww -Tutf8 "$VC/man" 2>&1 >/dev/null)" "" \
            "groff finds no fault with it"
    fi
done
for shell in bash zsh fish; do
    "$pages" completion $shell >"$VC/h.$shell"
done
fails "no shell, no program" "$pages" completion tcsh
fails "of that name" "$pages" manual hmm
tab_h() { # WORD...: what bash offers for the last word
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _htools
        printf "%s\n" "${COMPREPLY[@]}"' "$VC/h.bash" "$@"
}
succeeds "bash takes their file" bash -n "$VC/h.bash"
is "$(tab_h hbal --evac)" --evac-mode "bash completes an option of hbal"
is "$(tab_h hail --evac)" "" "not one of another planner"
is "$(tab_h hail --explain = j)" json "the value of an option"
echo >"$VC/request"
is "$(tab_h hail "$VC/req")" "$VC/request" "a file for hail"
is "$(tab_h hbal "$VC/req")" "" "which hbal does not take"
if command -v zsh >/dev/null; then
    succeeds "zsh takes their file" zsh -n "$VC/h.zsh"
    is "$(zsh -f -c '_arguments() { print -l -- $@; }; words=(hsqueeze); . "$0"' "$VC/h.zsh" |
        sed 's/^.\(--[a-z0-9-]*\).*/\1/; s/\[.*//; s/=.*//' | sort)" \
        "$(hsqueeze --help | grep -oE ' --[a-z0-9-]+' | tr -d ' ' | sort -u)" \
        "and offers all options of hsqueeze"
fi
if command -v fish >/dev/null; then
    succeeds "fish takes their file" fish -n "$VC/h.fish"
    is "$(HOME=$VC fish -c '. $argv[1]; complete -C "hbal --evac"' "$VC/h.fish" | cut -f 1)" \
        --evac-mode "and completes an option"
fi
tap_done
