#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# sshd.sh FOLDER ADDRESS PORT [LINE...]: an SSH server of Debian's openssh-server
# that stands alone, in the foreground, until it is killed.  It has host keys of
# its own (host_ed25519, host_ecdsa, host_rsa, made if they are not there), lets
# in whoever FOLDER/authorized names, and knows root by the password "s3 cret".
# The LINEs go into its configuration, before all others; with a HostKey among
# them there are no other host keys.
#
# It runs in a mount namespace, where it has its own /run, shadow file and PAM
# configuration, so that nothing of this machine is changed, and tests that run
# at the same time do not take each other's /run/sshd away.  Nor does a shell
# there begin with what root's does on this machine.  Without root it has
# none of this, and lets in nobody by a password.
set -e
dir=$1 address=$2 port=$3
shift 3
mkdir -p "$dir"
: >"$dir/sshd_config"
for line in "$@"; do echo "$line" >>"$dir/sshd_config"; done
if ! grep -q '^HostKey' "$dir/sshd_config"; then
    for type in ed25519 ecdsa rsa; do
        [ -e "$dir/host_$type" ] ||
            ssh-keygen -q -t "$type" -N '' -C '' -f "$dir/host_$type"
        echo "HostKey $dir/host_$type" >>"$dir/sshd_config"
    done
fi
cat >>"$dir/sshd_config" <<END
ListenAddress $address
Port $port
AuthorizedKeysFile $dir/authorized
PidFile none
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
StrictModes no
Subsystem sftp internal-sftp
END
touch "$dir/authorized"
[ "$(id -u)" = 0 ] ||
    exec /usr/sbin/sshd -D -e -f "$dir/sshd_config" >"$dir/log" 2>&1
hash=$(openssl passwd -6 's3 cret')
sed "s|^root:[^:]*:|root:$hash:|" /etc/shadow >"$dir/shadow"
cat >"$dir/pam" <<'END'
auth required pam_unix.so nodelay
account required pam_permit.so
session required pam_permit.so
END
exec unshare --mount sh -c '
    mount -t tmpfs tmpfs /run && mkdir /run/sshd &&
        mount --bind "$0/shadow" /etc/shadow &&
        mount --bind "$0/pam" /etc/pam.d/sshd || exit
    for file in .bashrc .bash_profile .bash_login .profile .zshenv; do
        [ ! -e "/root/$file" ] || mount --bind /dev/null "/root/$file" || exit
    done
    exec /usr/sbin/sshd -D -e -f "$0/sshd_config"' "$dir" \
    >"$dir/log" 2>&1
