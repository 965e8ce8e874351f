"""A server at port 8000 for contrib/verify transfers. It writes a line for each request, and for bytes of /slow, to a log.

    transfers-server.py LOG

GET /get/NAME, GET /slow/NAME and GET /tiny/NAME have bytes that follow from the name, an entity tag and ranges; PUT and POST take
anything.
"""

import asyncio
import hashlib
import re
import sys
import time

log = open(sys.argv[1], "a", buffering=1)


def content(name, size):
    return hashlib.shake_128(name.encode()).digest(size)


async def answer(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, path, _ = head.split("\r\n")[0].split()
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            await reader.readexactly(int(fields.get("content-length", 0)))
            print(method, path, file=log)
            if method != "GET":
                await asyncio.sleep(0.05)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                continue
            _, kind, name = path.split("/")
            body = content(name, {"get": 2_000_000, "slow": 20_000_000, "tiny": 10}[kind])
            begin = 0
            wanted = re.match(r"bytes=(\d+)-", fields.get("range", ""))
            if wanted and fields.get("if-range") == f'"{name}"':
                begin = int(wanted[1])
            status = f"206 Partial Content\r\nContent-Range: bytes {begin}-{len(body) - 1}/{len(body)}" if begin else "200 OK"
            writer.write(f'HTTP/1.1 {status}\r\nETag: "{name}"\r\nContent-Length: {len(body) - begin}\r\n\r\n'.encode())
            step = 65_536
            for place in range(begin, len(body), step):
                writer.write(body[place : place + step])
                await writer.drain()
                if kind == "slow":
                    print("BYTES", path, min(step, len(body) - place), time.time(), file=log)
                await asyncio.sleep({"get": 0.01, "slow": 0.15, "tiny": 0}[kind])
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(answer, "10.99.0.1", 8000)
    await server.serve_forever()


asyncio.run(main())
