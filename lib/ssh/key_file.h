/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of a file with a private key without its passphrase. */
#ifndef SSH_KEY_FILE_H
#define SSH_KEY_FILE_H

#include <stdbool.h>

/* What kind of key a file has. */
struct key_file {
	bool rsa;
	bool openssh_ecdsa; /* an ECDSA key in OpenSSH's own form */
	bool encrypted;	    /* it needs a passphrase */
};

/* Look at the text of a file, OpenSSH's own form or PEM.  False: it has no
 * private key. */
bool key_file_look(const char *text, struct key_file *ret);

/* An ECDSA key in OpenSSH's form as PEM, to be wiped and freed; NULL if it is
 * encrypted or something else. */
char *key_file_pem(const char *text);

#endif
