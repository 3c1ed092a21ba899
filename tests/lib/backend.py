# SPDX-License-Identifier: Apache-2.0
"""A fake server that accepts pushed profiles: Pyroscope, or others with their `decode`."""

import base64
import gzip
import http.server
import json
import threading
import time

from conftest import pprof


class Backend:
    """Answers according to `how` and keeps accepted profiles."""

    def __init__(self, port=0, decode=json.loads, tls=None):
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                backend.asked.append((time.monotonic(), self.path))
                status, headers, text = backend.how(self)
                if status == 200:
                    backend.taken.append((self.path, dict(self.headers), decode(body)))
                self.send_response(status)
                for k, v in headers.items():
                    self.send_header(k, v)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.asked, self.taken = [], []
        self.how = lambda request: (200, {}, b"{}")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *args: None  # no traceback when a client disconnected while it waited
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def values(raw, path):
    """Sums of alloc_objects, alloc_space, inuse_objects and inuse_space."""
    data = base64.b64decode(raw, validate=True)
    gzip.decompress(data)
    path.write_bytes(data)
    text = pprof("-raw", path).split("Samples:\n")[1].split("Locations\n")[0]
    rows = [[int(n) for n in line.split(":")[0].split()] for line in text.splitlines()[1:]]
    return [sum(column) for column in zip(*rows)]
