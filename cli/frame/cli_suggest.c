/* SPDX-License-Identifier: BSD-2-Clause */
/* Mistyped words: the distance between two is the number of letters to change,
 * leave out, add, or swap with the next one. */
#include "cli/frame/cli_suggest.h"

#include <stdint.h>
#include <string.h>

/* No name of ours is longer; a longer word is like none. */
#define WORD_MAX 64

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			size_t cost = a[i - 1] != b[j - 1];

			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
					d[i - 1][j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

const char *cli_nearest(const char *word, const struct strv *names)
{
	size_t len = strlen(word);
	size_t best = len / 3 > 1 ? len / 3 : 1;
	const char *found = NULL;

	if (len < 2 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->items[i];
		size_t far;

		if (strlen(name) > WORD_MAX)
			continue;
		far = str_starts(name, word) ? 1 : distance(word, name);
		if (far < best || (far == best && found == NULL)) {
			best = far;
			found = name;
		}
	}
	return found;
}
