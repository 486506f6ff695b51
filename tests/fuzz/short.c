/* SPDX-License-Identifier: BSD-2-Clause */
/* The short form of a fuzz target, without libFuzzer: the files of its corpus
 * as they are, then mixtures of them, each made from its number (TAP).
 *
 *     short_TARGET FIRST COUNT FILE...
 *
 * The number of an input that crashes is the last word; FIRST and COUNT 1 run
 * that one again. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/random.h"
#include "lib/base/str.h"

#define FILES_MAX 64
#define INPUT_MAX 8192
#define CHANGES_MAX 8
#define LARGE_BYTES (1 << 20)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct input {
	char *data;
	size_t len;
};

static char present[64]; /* what to say when it crashes */

static void on_crash(int number)
{
	ssize_t n = write(STDOUT_FILENO, present, strlen(present));

	(void)n;
	signal(number, SIG_DFL);
	raise(number);
}

static void watch(void)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], on_crash);
}

static void run(const struct input *in, const char *name)
{
	snprintf(present, sizeof(present), "not ok 1 - input %s\n", name);
	LLVMFuzzerTestOneInput((const unsigned char *)in->data, in->len);
}

/* Put `with` in place of `len` bytes at `at`. */
static void replace(struct buf *b, size_t at, size_t len, const char *with,
		    size_t with_len)
{
	struct buf old = *b;

	*b = (struct buf){0};
	buf_add(b, old.data, at);
	buf_add(b, with, with_len);
	buf_add(b, old.data + at + len, old.len - at - len);
	buf_done(&old);
}

/* What parsers stumble over. */
static void insert_word(struct buf *b, size_t at, size_t len)
{
	static const char *const words[] = {
		"-1",	   "0",	       "9223372036854775808",
		"1e999",   "-0.5",     "null",
		"true",	   "\"\"",     "[]",
		"{}",	   "|",	       "\n\n",
		"\\u0000", "\xff\xfe", ",",
		"\n",	   ";",	       "?",
		"\003",	   "NaN"};
	const char *word = words[random_below(ARRAY_SIZE(words))];

	replace(b, at, len, word, strlen(word));
}

static void change(struct buf *b, const struct input *all, size_t n)
{
	const struct input *other = &all[random_below(n)];
	size_t at = (size_t)random_below(b->len);
	size_t len = (size_t)random_below(b->len - at + 1);
	size_t from = (size_t)random_below(other->len);
	char byte = (char)random_below(256);

	len = random_below(4) > 0 && len > 8 ? (size_t)random_below(8) : len;
	switch (random_below(5)) {
	case 0:
		b->data[at] = byte;
		break;
	case 1:
		replace(b, at, len, "", 0);
		break;
	case 2:
		insert_word(b, at, len);
		break;
	case 3: /* a piece once more */
		replace(b, at, 0, other->data + from,
			(size_t)random_below(other->len - from + 1));
		break;
	default: /* the beginning of one and the end of another */
		replace(b, at, b->len - at, other->data + from,
			other->len - from);
		break;
	}
}

static void run_mixture(const struct input *all, size_t n, long number)
{
	auto_free char *name = xprintf("%ld", number);
	auto_buf struct buf b = {0};
	const struct input *first;

	random_seed((uint64_t)number);
	first = &all[random_below(n)];
	buf_add(&b, first->data, first->len);
	for (uint64_t k = 1 + random_below(CHANGES_MAX); k > 0 && b.len > 0;
	     k--)
		change(&b, all, n);
	run(&(struct input){b.len > 0 ? b.data : "",
			    b.len < INPUT_MAX ? b.len : INPUT_MAX},
	    name);
}

int main(int argc, char **argv)
{
	struct input all[FILES_MAX] = {0};
	int n = argc - 3;
	struct error err = {0};

	if (n < 1 || n > FILES_MAX)
		return 2;
	for (int i = 0; i < n; i++) {
		all[i].data =
			fs_read(argv[3 + i], INPUT_MAX, &all[i].len, &err);
		if (all[i].data == NULL || all[i].len == 0) {
			printf("Bail out! %s: %s\n", argv[3 + i], err.text);
			return 2;
		}
	}
	watch();
	/* Large memory comes from the kernel, which zeroes what is touched of
	 * it: some inputs ask for megabytes and use little.  What meson has the
	 * C library write into all memory would touch it all. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_PERTURB, 0);
	for (int i = 0; i < n; i++)
		run(&all[i], strrchr(argv[3 + i], '/') + 1);
	for (long k = atol(argv[1]), end = k + atol(argv[2]); k < end; k++)
		run_mixture(all, (size_t)n, k);
	for (int i = 0; i < n; i++)
		free(all[i].data);
	printf("1..1\nok 1 - %s files and %s mixtures\n",
	       n == 1 ? "one" : "some", argv[2]);
	return 0;
}
