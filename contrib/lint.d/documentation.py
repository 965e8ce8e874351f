#!/usr/bin/python3
"""Fails if fewer than 95 % of a library's public declarations have a doc comment of their own.

    contrib/doc-coverage FOLDER…      folders of symbol graphs, as contrib/docs writes them: one for each library

Prints a line for each library, and the declarations that have no comment. What a protocol or the compiler supplies does not count:
inherited comments, synthesized members, and members that witness a requirement of another module, such as == and description.
"""
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
