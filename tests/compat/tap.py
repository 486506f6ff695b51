# SPDX-License-Identifier: BSD-2-Clause
"""Points of TAP, for the tests in Python that compare many answers."""


class Tap:
    def __init__(self, width=400):
        self.n = 0
        self.failed = 0
        self.width = width  # of a line that tells why

    def point(self, ok, name, details=(), skip=None):
        self.n += 1
        self.failed += not ok
        mark = f" # SKIP {skip}" if skip else ""
        print(f"{'ok' if ok else 'not ok'} {self.n} - {name}{mark}")
        for line in details if not ok else ():
            print("#", line[:self.width])

    def end(self):
        """The plan; the exit status of the test."""
        print(f"1..{self.n}")
        return 1 if self.failed else 0
