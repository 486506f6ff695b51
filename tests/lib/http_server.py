#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""http_server.py FOLDER ADDRESS: serve it on a free port of the address, which is
printed.  /to/X sends to X, /unsized/X says no size, /cut/X ends early, /slow
sends a little and waits."""
import http.server, os, sys, time

class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        kind, _, rest = self.path[1:].partition("/")
        if kind == "to":
            self.send_response(302)
            self.send_header("Location", rest)
            self.end_headers()
        elif kind in ("unsized", "cut", "slow"):
            data = open(rest or "small", "rb").read()
            self.send_response(200)
            if kind != "unsized":
                self.send_header("Content-Length", len(data))
            self.end_headers()
            if kind == "unsized":
                return self.wfile.write(data)
            self.wfile.write(data[:300000])
            while kind == "slow":
                time.sleep(0.1)
                self.wfile.write(b"x")
        else:
            super().do_GET()

    def do_HEAD(self):
        if not self.path.startswith("/unsized"):
            return super().do_HEAD()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass

os.chdir(sys.argv[1])
server = http.server.ThreadingHTTPServer((sys.argv[2], 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
