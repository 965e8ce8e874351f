# DocC accepts the libraries' documentation, 95 % of public declarations have a comment, and a web server has all its pages.
#
# contrib/docs builds the pages.
quietly "$top/contrib/docs"
scratch=$top/.build-docs
archives=("$scratch"/*.doccarchive)
# What a protocol or the compiler supplies does not count: inherited comments, synthesized members, and members that
# implement a requirement of another module, such as == and description.
python3 - "${archives[@]%.doccarchive}" <<'PYTHON' || failed=1
import json
import pathlib
import sys

ENOUGH = 0.95
# Requirements of the standard library and of Foundation, whose meaning is that of the protocol.
WITNESSES = {"==(_:_:)", "<(_:_:)", "hash(into:)", "description", "debugDescription", "encode(to:)", "init(from:)", "init(rawValue:)",
             "rawValue", "makeAsyncIterator()", "makeIterator()", "next()", "next(isolation:)", "errorDescription", "hashValue",
             "allCases", "id", "customMirror", "!=(_:_:)", "AsyncIterator", "Element", "Failure", "RawValue", "AllCases"}


def declarations(folder):
    """For each public declaration of a library, whether it has a comment."""
    found = {}
    for file in sorted(pathlib.Path(folder).glob("*.symbols.json")):
        for symbol in json.loads(file.read_text())["symbols"]:
            names = symbol["pathComponents"]
            if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or names[-1] in WITNESSES:
                continue
            # An extension block itself has no comment.
            if symbol["kind"]["identifier"] == "swift.extension":
                continue
            found[".".join(names)] = bool(symbol.get("docComment"))
    return found


failed = False
for folder in sys.argv[1:]:
    found = declarations(folder)
    missing = sorted(name for name, has_comment in found.items() if not has_comment)
    share = 1 - len(missing) / max(len(found), 1)
    print(f"{pathlib.Path(folder).name}: {len(found)} public declarations, {share:.1%} documented", file=sys.stderr)
    if share < ENOUGH:
        failed = True
        for name in missing:
            print(f"  no comment: {name}", file=sys.stderr)
sys.exit(failed)
PYTHON
# The first page is read as a browser does: it, what it links to, the files of these pages, and the contents that their scripts load.
python3 - "$scratch/site" <<'PYTHON' || failed=1
import functools
import http.server
import re
import sys
import threading
import urllib.error
import urllib.request
from urllib.parse import urljoin


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1]))
threading.Thread(target=server.serve_forever, daemon=True).start()
root = f"http://127.0.0.1:{server.server_port}/"
missing = set()


@functools.cache
def text(address):
    try:
        with urllib.request.urlopen(address) as response:
            return response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        missing.add(f"{address.removeprefix(root)}: {error.code}")
        return ""


pages = [urljoin(root, link) for link in re.findall(r'href="([^"]+)"', text(root))]
for page in pages:
    for file in re.findall(r'(?:href|src)="([^"]+\.(?:css|js|svg|ico))"', text(page)):
        text(urljoin(page, file))
    contents = text(f"{root}data/{page.removeprefix(root).rstrip('/')}.json")
    for picture in re.findall(r'"url":"([^"]+\.svg)"', contents.replace("\\/", "/")):
        text(urljoin(root, picture))
print(f"The first page leads to {len(pages)} pages.", file=sys.stderr)
for fault in sorted(missing):
    print(f"  not there: {fault}", file=sys.stderr)
sys.exit(bool(missing) or not pages)
PYTHON
