"""A server at port 8000 with /red.png, /blue.png and /slow/red.png, whose bytes take a second, and with /place/NUMBER.png, whose colour
is #NUMBER and which takes up to 50 milliseconds. /feed.json and its pictures are for the example. /portal redirects to /login until
/login is opened, then answers as the internet does until /logout is. Everything else is missing.

ADDRESS   the address to listen on. Default: 127.0.0.1
"""

import http.server
import json
import random
import struct
import sys
import time
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(size, *colour):
    rows = (b"\0" + bytes(colour) * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    # Without compression, so that the slow one has some length.
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


def landscape(seed):
    """A sky with a sun above some hills."""
    size, random_of = 96, random.Random(seed)
    top, low = [random_of.randrange(40, 200) for _ in range(3)], [random_of.randrange(140, 255) for _ in range(3)]
    ground = [random_of.randrange(20, 110) for _ in range(3)]
    sun, height = (random_of.randrange(20, 76), random_of.randrange(16, 44)), random_of.randrange(50, 74)
    slope = random_of.uniform(-0.3, 0.3)
    rows = b""
    for y in range(size):
        row = bytearray(b"\0")
        for x in range(size):
            if y > height + slope * (x - 48) + 6 * ((x * 7 + seed * 13) % 31) / 31:
                row += bytes(ground)
            elif (x - sun[0]) ** 2 + (y - sun[1]) ** 2 < 121:
                row += b"\xff\xe9\xa8"
            else:
                row += bytes(a + (b - a) * y // size for a, b in zip(top, low))
        rows += bytes(row)
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PLACES = ["Harbour", "Valley", "Old Mill", "Lighthouse", "Pass", "Meadow", "Island", "Quarry"]
DAYS = ["Morning", "Noon", "Evening", "Dusk"]
feed = [
    {"title": f"{DAYS[n % 4]} at the {PLACES[n % 8]}", "text": f"{3 + n * 7 % 50} km from here", "picture": f"feed/{n}.png"}
    for n in range(40)
]
pictures = {"/red.png": picture(128, 0xDC, 0x28, 0x28), "/blue.png": picture(128, 0x1E, 0x50, 0xDC)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    is_logged_in = False

    def do_GET(self):
        data = pictures.get(self.path.removeprefix("/slow"))
        if self.path.startswith("/place/"):
            number = int(self.path.removeprefix("/place/").removesuffix(".png"))
            data = picture(16, *number.to_bytes(3, "big"))
            time.sleep(random.random() / 20)
        kind = "image/png"
        if self.path == "/feed.json":
            data, kind = json.dumps(feed).encode(), "application/json"
        elif self.path.startswith("/feed/"):
            data = landscape(int(self.path.removeprefix("/feed/").removesuffix(".png")))
        status = 200 if data else 404
        if self.path in ("/login", "/logout"):
            status, Handler.is_logged_in = 200, self.path == "/login"
        elif self.path == "/portal":
            status = 204 if Handler.is_logged_in else 302
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://{self.headers['Host']}/login")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data or b"")))
        self.send_header("Cache-Control", "no-store" if "slow" in self.path else "max-age=60")
        self.end_headers()
        parts = 10 if self.path.startswith("/slow/") else 1
        for part in range(parts if data else 0):
            time.sleep(0.1 if parts > 1 else 0)
            self.wfile.write(data[part * len(data) // parts : (part + 1) * len(data) // parts])

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):
        # Most downloads of a list that is scrolled are cancelled.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


Server((sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1", 8000), Handler).serve_forever()
