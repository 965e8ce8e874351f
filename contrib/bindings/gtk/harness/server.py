"""A server at port 8000 with /red.png, /blue.png and /slow/red.png, whose bytes take a second. Everything else is missing."""

import http.server
import struct
import time
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(*colour):
    size = 128
    rows = (b"\0" + bytes(colour) * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    # Without compression, so that the slow one has some length.
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


pictures = {"/red.png": picture(0xDC, 0x28, 0x28), "/blue.png": picture(0x1E, 0x50, 0xDC)}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = pictures.get(self.path.removeprefix("/slow"))
        self.send_response(200 if data else 404)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(data or b"")))
        self.send_header("Cache-Control", "no-store" if "slow" in self.path else "max-age=60")
        self.end_headers()
        parts = 10 if self.path.startswith("/slow/") else 1
        for part in range(parts if data else 0):
            time.sleep(0.1 if parts > 1 else 0)
            try:
                self.wfile.write(data[part * len(data) // parts : (part + 1) * len(data) // parts])
            except BrokenPipeError:
                return  # The download was cancelled.

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("192.168.1.1", 8000), Handler).serve_forever()
