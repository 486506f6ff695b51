#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""guide.py FILE FOLDER: the steps of a guide for tests/daemon/237-guides.t.

A block that begins with ```sh and the names of hosts becomes a script for each of
these hosts, a comment <!-- test: WORDS --> an order to the test. A line
"NUMBER HOST TITLE" or "test WORDS" is printed for each, in their order; a script
is FOLDER/NUMBER."""
import re
import sys


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    title, number = "", 0
    for match in re.finditer(
            r"^#+ (?P<title>[^\n]*)$|^```sh(?P<hosts>[^\n]*)\n(?P<code>.*?)^```$"
            r"|<!-- test: (?P<order>.*?) -->", text, re.M | re.S):
        if match["title"]:
            title = match["title"]
        elif match["order"]:
            print("test", match["order"])
        else:
            for host in match["hosts"].split():
                number += 1
                with open(f"{sys.argv[2]}/{number}", "w",
                          encoding="utf-8") as script:
                    script.write("set -e\n" + match["code"])
                print(number, host, title)


main()
