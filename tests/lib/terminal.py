#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""terminal.py [QUESTION=ANSWER ...] -- COMMAND...: run a command at a terminal of
its own, and type each answer when its question has been shown.  What the
terminal shows goes to stdout; the exit status is the command's, or 99 when a
question did not come."""
import os
import pty
import select
import sys
import time

WAIT_S = 60


def show_until(fd, question):
    """Pass on what is shown until the question is there, or the end."""
    shown, end = b"", time.monotonic() + WAIT_S
    while question is None or question.encode() not in shown:
        left = end - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return False
        try:
            data = os.read(fd, 4096)
        except OSError:  # the terminal's other end is closed
            data = b""
        if not data:
            return question is None
        shown += data
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return True


def main():
    at = sys.argv.index("--")
    answers = [word.split("=", 1) for word in sys.argv[1:at]]
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
    good = True
    for question, answer in answers:
        if not show_until(fd, question):
            good = False
            break
        os.write(fd, answer.encode() + b"\n")
    good = good and show_until(fd, None)
    if not good:
        os.kill(pid, 15)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(status if good else 99)


main()
