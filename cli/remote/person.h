/* SPDX-License-Identifier: BSD-2-Clause */
/* Whoever sits at the terminal is asked about host keys, passphrases and
 * passwords.  Without a terminal nobody is there. */
#ifndef CLI_REMOTE_PERSON_H
#define CLI_REMOTE_PERSON_H

#include "lib/ssh/ssh.h"

/* For ssh_target.person. */
extern const struct ssh_person person_at_terminal;

#endif
