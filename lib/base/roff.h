/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for manual pages: some characters have a meaning to roff and must be
 * escaped. */
#ifndef BASE_ROFF_H
#define BASE_ROFF_H

/* Print one line of text to standard output, escaped. */
void roff_text(const char *text);
void roff_bold(const char *text);

/* The same with a full stop at the end, which help texts do not have. */
void roff_sentence(const char *text);

/* Several lines, each escaped, with their line breaks. */
void roff_lines(const char *text);

/* The head of a page of a section, up to the synopsis. */
void roff_head(const char *name, int section, const char *help);

#endif
