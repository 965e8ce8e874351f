# DocC accepts the libraries' documentation, and 95 % of public declarations have a comment; says where the pages are.
#
# Any web server can serve the folder.
for tool in docc swift-symbolgraph-extract; do
  command -v "$tool" >/dev/null || die "there is no $tool here; it comes with the toolchains of swift.org."
done
libraries=(Netwatch NetwatchNetlink NetwatchObservation NetwatchStream NetwatchLines NetwatchLog NetwatchHTTP NetwatchHTTPFoundation)
scratch=$top/.build-docs
rm -rf "$scratch"
mkdir "$scratch"

for library in "${libraries[@]}"; do swift build --package-path "$top" --target "$library" >&2; done
programs=$(swift build --package-path "$top" --show-bin-path)
target=$(swift -print-target-info | sed -n 's/^ *"triple": "\(.*\)",$/\1/p' | sed -n 1p)
# The modules import each other and the C headers.
includes=(-I "$programs/Modules")
for folder in "$top"/Sources/C*/; do includes+=(-I "$folder"); done
for flag in $(pkg-config --cflags-only-I libnl-3.0 libcurl openssl); do includes+=(-Xcc "$flag"); done

for library in "${libraries[@]}"; do
  say "Documenting $library"
  mkdir "$scratch/$library"
  swift-symbolgraph-extract -module-name "$library" -output-dir "$scratch/$library" -minimum-access-level public \
    -target "$target" "${includes[@]}" -module-cache-path "$scratch/cache" >&2
  docc convert "$top/Sources/$library/$library.docc" --additional-symbol-graph-dir "$scratch/$library" \
    --warnings-as-errors --enable-inherited-docs --fallback-bundle-identifier "$library" \
    --output-path "$scratch/$library.doccarchive" >&2
done
# What a protocol or the compiler supplies does not count: inherited comments, synthesized members, and members that
# implement a requirement of another module, such as == and description.
python3 - "${libraries[@]/#/$scratch/}" <<'PYTHON'
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
archives=("${libraries[@]/%/.doccarchive}")
docc merge "${archives[@]/#/$scratch/}" --synthesized-landing-page-name netwatch --output-path "$scratch/site" >&2
printf '%s\n' "$scratch/site"
