/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer raises the number in the same turn in which the change becomes
 * visible, so no answer of after a change is older than the number.  The first
 * number is the time, so that those of a file that was lost do not come
 * again. */
#include "lib/base/pulse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

#define WORD_SIZE sizeof(uint64_t)

static uint64_t *own;

static uint64_t *map(int fd, int protection)
{
	void *word = mmap(NULL, WORD_SIZE, protection, MAP_SHARED, fd, 0);

	return word == MAP_FAILED ? NULL : word;
}

int pulse_begin(const char *file, struct error *err)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	uint64_t *word = NULL;

	if (own != NULL)
		munmap(steal(&own), WORD_SIZE);
	/* It says nothing but that there are changes; all may read it. */
	if (fd >= 0 && fchmod(fd, 0644) == 0 && ftruncate(fd, WORD_SIZE) == 0)
		word = map(fd, PROT_READ | PROT_WRITE);
	if (word == NULL)
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot map %s: %s",
			  file, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (word == NULL)
		return -1;
	if (*word == 0)
		*word = (uint64_t)clock_wall_us();
	own = word;
	pulse_beat();
	return 0;
}

void pulse_beat(void)
{
	if (own != NULL)
		__atomic_add_fetch(own, 1, __ATOMIC_SEQ_CST);
}

void pulse_view_done(struct pulse_view *v)
{
	if (v->word != NULL)
		munmap((void *)(uintptr_t)v->word, WORD_SIZE);
	*v = (struct pulse_view){0};
}

static void look_at(struct pulse_view *v, int fd, const struct stat *st)
{
	pulse_view_done(v);
	/* Behind the end of a file there is no memory. */
	if (!S_ISREG(st->st_mode) || st->st_size < (off_t)WORD_SIZE)
		return;
	v->word = map(fd, PROT_READ);
	v->dev = st->st_dev;
	v->ino = st->st_ino;
}

void pulse_look(struct pulse_view *v, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		pulse_view_done(v);
	else if (v->word == NULL || v->dev != st.st_dev || v->ino != st.st_ino)
		look_at(v, fd, &st);
	if (fd >= 0)
		close(fd);
}

uint64_t pulse_now(const struct pulse_view *v)
{
	return v->word == NULL ? 0 : __atomic_load_n(v->word, __ATOMIC_SEQ_CST);
}
