#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run command lines on a cluster of Debian's own Ganeti (real-cluster.sh) and on
one of gnt-vcluster, and show where exit status, output or class of error
differ.  For work by hand: what a new session finds it turns into a test.

    side_by_side.py REAL OURS FILE   one command a line; "@node2 COMMAND" runs
                                     there instead of on node1, "#" comments

"=" the same, "~" the same but for the words of an error, "X" different.
BIN is the folder of our programs."""
import concurrent.futures
import difflib
import os
import re
import shlex
import subprocess
import sys

TIMEOUT_S = 300
DIFF_LINES = 24

# What is new in each run.
VOLATILE = [
    (r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID'),
    (r'\b127\.\d+\.\d+\.\d+\b|\b192\.0\.2\.1[1-3]\b', 'NODEIP'),
    (r'^\w{3} \w{3} +\d+ [\d:]{8} \d{4}', 'DATE'),
    (r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d', 'DATE'),
    (r'(Submitted jobs?|JobID:|Waiting for job|Job) [\d, ]+', r'\1 N '),
    (r'aa:00:00(:[0-9a-f]{2}){3}', 'MAC'),
]


def settled(text, root):
    text = text.replace(root, 'ROOT')
    for pattern, word in VOLATILE:
        text = re.sub(pattern, word, text, flags=re.M)
    return text


def run(argv, root):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False)
    return done.returncode, settled(done.stdout, root), settled(done.stderr,
                                                                root)


def error_class(text):
    return re.findall(r'^(?:Failure|error type|Parameter Error|Error).*', text,
                      flags=re.M)


def show_difference(line, real, ours):
    same = real[:2] == ours[:2] and error_class(real[2]) == error_class(
        ours[2])
    if same and real[2] == ours[2]:
        print('=', line, '(status %d)' % real[0])
        return 0
    print('~' if same else 'X', line, '(status %d, ours %d)' % (real[0],
                                                              ours[0]))
    rows = difflib.unified_diff(real[1].splitlines(), ours[1].splitlines(),
                                lineterm='', n=1)
    for row in list(rows)[2:DIFF_LINES]:
        print('   ', row)
    if real[2] != ours[2]:
        print('    real:', real[2].strip())
        print('    ours:', ours[2].strip())
    return 0 if same else 1


def main():
    real, ours, name = sys.argv[1:]
    folder = os.path.dirname(os.path.abspath(__file__))
    vcluster = os.path.join(os.environ.get('BIN', 'build/bin'), 'gnt-vcluster')
    different = 0
    with open(name, encoding='utf-8') as lines, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        for line in map(str.strip, lines):
            if not line or line.startswith('#'):
                continue
            argv, node = shlex.split(line), 'node1'
            if argv[0].startswith('@'):
                node = argv.pop(0)[1:]
            theirs = pool.submit(run, [folder + '/real-cluster.sh', 'on', real,
                                       node] + argv, os.path.abspath(real))
            mine = run([vcluster, 'exec', ours, node, '--'] + argv,
                       os.path.abspath(ours))
            different += show_difference(line, theirs.result(), mine)
            sys.stdout.flush()
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
