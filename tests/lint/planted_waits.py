#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""waits.py finds what is planted: small trees with one fault each.  Prints
TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import tree  # noqa: E402

LINT = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(LINT))
WHOLE = "the tree without a fault"

# A tree without a fault.
HEADER = """
#include "lib/event/task.h"
struct drive {
	const char *name;
	WAITS int (*spin)(int speed);
	int (*peek)(int speed);
};
WAITS int drive_spin(int speed);
int drive_peek(int speed);
void drive_each(WAITS int (*fn)(int speed));
void drive_try(int (*fn)(int speed));
"""
SOURCE = """
#include "noded/drive.h"
int drive_spin(int speed)
{
	task_sleep(speed);
	return 0;
}
int drive_peek(int speed)
{
	return speed;
}
static const struct drive known = {"a", drive_spin, drive_peek};
static WAITS int (*kept)(int speed);
static WAITS void body(void *arg)
{
	known.spin(known.peek(1));
	kept(1);
}
void drive_each(WAITS int (*fn)(int speed))
{
	kept = fn;
	task_spawn("body", body, NULL);
}
void drive_all(void)
{
	drive_each(drive_spin);
	drive_try(drive_peek);
}
"""

# (what is wrong, the file in which it stands, its text, the point that fails,
# what it says)
FAULTS = [
    (WHOLE, "noded/more.c", "", 0, ""),
    ("a static function calls one that waits", "noded/more.c",
     "static int f(void)\n{\n\treturn drive_spin(1);\n}\n",
     1, "f() calls drive_spin()"),
    ("a public one has no mark in the header", "noded/more.c",
     "int drive_peek(int speed)\n{\n\ttask_sleep(1);\n\treturn 0;\n}\n",
     1, "drive_peek() calls task_sleep()"),
    ("a call through a member waits", "noded/more.c",
     "static int f(const struct drive *d)\n{\n\treturn d->spin(1);\n}\n",
     1, "f() calls spin()"),
    ("a call through an argument waits", "noded/more.c",
     "static int f(WAITS int (*fn)(int))\n{\n\treturn fn(1);\n}\n"
     "void g(void)\n{\n\tf(drive_spin);\n}\n",
     1, "f() calls fn()"),
    ("a macro hides the call", "noded/more.c",
     "#define SPIN(n) drive_spin(n)\n"
     "static int f(void)\n{\n\treturn SPIN(1);\n}\n",
     1, "f() calls drive_spin()"),
    ("a macro makes the function that calls", "noded/more.c",
     "#define MAKE(name, ...) int more_##name(int n __VA_OPT__(, ) "
     "__VA_ARGS__) \\\n{ return drive_spin(n); }\nMAKE(turns, int m)\n",
     1, "more_turns() calls drive_spin()"),
    ("a mark too many", "noded/more.c",
     "static WAITS int f(void)\n{\n\treturn drive_peek(1);\n}\n",
     2, "f() is marked"),
    ("two functions justify each other", "noded/more.c",
     "static WAITS int g(int n);\n"
     "static WAITS int f(int n)\n{\n\treturn g(n);\n}\n"
     "static WAITS int g(int n)\n{\n\treturn n ? f(n - 1) : 0;\n}\n",
     2, "f() is marked"),
    ("the mark is not at the prototype", "noded/more.c",
     "WAITS int drive_peek(int speed)\n{\n\treturn speed;\n}\n",
     3, "drive_peek() is marked here"),
    ("the mark of a parameter is not at the prototype", "noded/more.c",
     "void drive_each(int (*fn)(int speed))\n{\n\tfn(1);\n}\n",
     3, "drive_each() has other marks"),
    ("put into a member by name", "noded/more.c",
     "static const struct drive d = {.peek = drive_spin};\n",
     4, "drive_spin waits, but peek has no mark"),
    ("put into a member by its place", "noded/more.c",
     'static const struct drive d[] = {{"b", NULL, drive_spin}};\n',
     4, "drive_spin waits, but peek has no mark"),
    ("put into a member by a list of macros", "noded/more.c",
     "#define ALL(X) X(peek) X(spin)\n#define X(n) {#n, NULL, drive_##n},\n"
     "static const struct drive d[] = {ALL(X)};\n",
     4, "drive_spin waits, but peek has no mark"),
    ("assigned to a member", "noded/more.c",
     "void f(struct drive *d)\n{\n\td->peek = drive_spin;\n}\n",
     4, "drive_spin waits, but peek has no mark"),
    ("assigned from a marked member", "noded/more.c",
     "void f(struct drive *d)\n{\n\td->peek = d->spin;\n}\n",
     4, "spin waits, but peek has no mark"),
    ("given as an argument", "noded/more.c",
     "void f(void)\n{\n\tdrive_try(drive_spin);\n}\n",
     4, "drive_spin waits, but drive_try(fn) has no mark"),
    ("given to the loop", "noded/more.c",
     "void f(uv_timer_t *t)\n{\n\tuv_timer_start(t, drive_spin, 1, 0);\n}\n",
     4, "drive_spin waits, but what uv_timer_start() takes has no mark"),
    ("waits beside the loop", "noded/more.c",
     "static WAITS void f(void)\n{\n\ttask_leave();\n\tdrive_spin(1);\n"
     "\ttask_enter();\n}\n",
     4, "drive_spin() waits between task_leave() and task_enter()"),
    ("a marked member into which nothing is put", "noded/more.h",
     "struct wheel {\n\tWAITS int (*turn)(int speed);\n};\n", 5, "turn"),
    ("a program without tasks waits", "iallocators/more.c",
     "int main(void)\n{\n\ttask_sleep(1);\n}\n", 6, "main() waits"),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def lint(root):
    return subprocess.run([sys.executable, os.path.join(LINT, "waits.py"), root],
                          stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def check(path, text, point, says):
    """What is wrong with the answer of the lint."""
    with tempfile.TemporaryDirectory(prefix="gantry-waits.") as root:
        os.makedirs(os.path.join(root, "lib/event"))
        shutil.copy(os.path.join(ROOT, "lib/event/task.h"),
                    os.path.join(root, "lib/event/task.h"))
        write(os.path.join(root, "noded/drive.h"), HEADER)
        write(os.path.join(root, "noded/drive.c"), SOURCE)
        write(os.path.join(root, path), text)
        answer = lint(root)
    failed = re.findall(r"^not ok (\d+)", answer, re.M)
    if failed == ([str(point)] if point else []) and says in answer:
        return []
    return answer.splitlines()


def main():
    tree.report([(what, check(path, text, point, says))
                 for what, path, text, point, says in FAULTS])


main()
