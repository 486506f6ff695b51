/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for manual pages: roff gives a meaning to some signs. */
#ifndef BASE_ROFF_H
#define BASE_ROFF_H

/* Print the text to standard output so that it stays what it is. */
void roff_text(const char *text);
void roff_bold(const char *text);

/* As a sentence; help texts end without a full stop. */
void roff_sentence(const char *text);

/* Lines as they stand. */
void roff_lines(const char *text);

/* The head of a page of a section, up to the synopsis. */
void roff_head(const char *name, int section, const char *help);

#endif
