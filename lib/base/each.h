/* SPDX-License-Identifier: BSD-2-Clause */
/* For tables whose lines have a list of any length: the preprocessor goes
 * through the list.  Each item is WORD(arguments), and for each word the
 * table's reader defines EACH_SPLIT_WORD(arguments), what m is to be given.
 *
 *   EACH(m, x, A(a), B(b))    m(x, <split of A(a)>) m(x, <split of B(b)>)
 *   EACH_COMMAS(m, A(a), B(b)) m(<split of A(a)>), m(<split of B(b)>)
 *                             for parameters of functions: void for no items
 *
 * At most 27 items. */
#ifndef BASE_EACH_H
#define BASE_EACH_H

#define EACH(m, x, ...) __VA_OPT__(EACH_SCAN(EACH_ONE(m, x, __VA_ARGS__)))
#define EACH_COMMAS(m, ...) EACH_COMMAS_##__VA_OPT__(SOME)(m, __VA_ARGS__)

/* A macro is not expanded within itself, so each step only names the next one,
 * and every scan of the text makes one more step. */
#define EACH_ONE(m, x, item, ...)                                              \
	EACH_APPLY(m, x, EACH_SPLIT_##item)                                    \
	__VA_OPT__(EACH_NEXT EACH_PARENS(m, x, __VA_ARGS__))
#define EACH_NEXT() EACH_ONE
#define EACH_COMMAS_(m, ...) void
#define EACH_COMMAS_SOME(m, ...) EACH_SCAN(EACH_COMMAS_ONE(m, __VA_ARGS__))
#define EACH_COMMAS_ONE(m, item, ...)                                          \
	EACH_APPLY(m, EACH_SPLIT_##item)                                       \
	__VA_OPT__(, EACH_COMMAS_NEXT EACH_PARENS(m, __VA_ARGS__))
#define EACH_COMMAS_NEXT() EACH_COMMAS_ONE
#define EACH_APPLY(m, ...) m(__VA_ARGS__)
#define EACH_PARENS ()
#define EACH_SCAN(...) EACH_SCAN9(EACH_SCAN9(EACH_SCAN9(__VA_ARGS__)))
#define EACH_SCAN9(...) EACH_SCAN3(EACH_SCAN3(EACH_SCAN3(__VA_ARGS__)))
#define EACH_SCAN3(...) EACH_SCAN1(EACH_SCAN1(EACH_SCAN1(__VA_ARGS__)))
#define EACH_SCAN1(...) __VA_ARGS__

#endif
