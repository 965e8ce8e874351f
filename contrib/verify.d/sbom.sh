# The lists of contrib/packaging/sbom follow SPDX 2.3, are complete, and are the same twice.
# A minute, after contrib/package. ARGUMENTS: files; otherwise all in .build-package.
#
# The validator, spdx-tools, is installed from the package index into a virtual environment of its own. The validator
# must refuse wrong lists.
need_packages python3 python3-venv binutils
tools=$top/.build-sbom
if [ ! -x "$tools/bin/pyspdxtools" ]; then
  say "Installing spdx-tools"
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check 'spdx-tools>=0.8.5' >&2
fi
fail() { say "  FAILED  $*"; failed=1; }
files=("$@")
[ $# != 0 ] || files=("$top"/.build-package/*.deb "$top"/.build-package/*.tar.gz)
for file in "${files[@]}"; do
  name=$(basename "$file")
  [ -f "$file" ] || { fail "there is no $file; contrib/package makes it."; continue; }
  list=$work/$name.spdx.json
  "$top/contrib/packaging/sbom" "$file" >"$list" || { fail "$name: contrib/packaging/sbom has failed."; continue; }
  TZ=Asia/Tokyo LC_ALL=C "$top/contrib/packaging/sbom" "$file" | cmp -s - "$list" || fail "$name: the list is not the same twice."
  [ ! -f "$file.spdx.json" ] || cmp -s "$file.spdx.json" "$list" || fail "$name: the list beside it is of another build."
  "$tools/bin/pyspdxtools" --infile "$list" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "$name: the validator finds errors."; }
  rm -rf "$work/files"
  mkdir "$work/files"
  case $file in *.deb) dpkg-deb --extract "$file" "$work/files" ;; *) tar -xzf "$file" -C "$work/files" ;; esac
  python3 - "$list" "$work/files" <<'PYTHON' || fail "$name: the list lacks something."
import json, pathlib, subprocess, sys

document = json.load(open(sys.argv[1]))
names = {package["SPDXID"]: package["name"] for package in document["packages"]}
links = {}
for relation in document["relationships"]:
    links.setdefault(names.get(relation["spdxElementId"]), []).append(relation["relationshipType"])
missing = 0
for path in pathlib.Path(sys.argv[2]).rglob("*"):
    if path.is_symlink() or not path.is_file() or path.open("rb").read(4) != b"\x7fELF":
        continue
    said = subprocess.run(["objdump", "-p", path], capture_output=True, text=True).stdout
    needed = sum(line.split()[:1] == ["NEEDED"] for line in said.splitlines())
    kinds = links.get(path.name, [])
    # Several libraries may be of one package, such as libc and libm.
    if "STATIC_LINK" not in kinds or (needed > 0) != ("DYNAMIC_LINK" in kinds):
        print(f"netwatch: {path.name} has {needed} shared libraries, and the list says {kinds}.", file=sys.stderr)
        missing = 1
sys.exit(missing)
PYTHON
  for damage in 's/"DESCRIBES"/"DESCRIBED"/' 's/SPDXRef-DOCUMENT/DOCUMENT/' 's/"versionInfo"/"version"/;s/"SPDX-2.3"/"SPDX-9"/'; do
    sed "$damage" "$list" >"$work/wrong.spdx.json"
    ! "$tools/bin/pyspdxtools" --infile "$work/wrong.spdx.json" >/dev/null 2>&1 || fail "$name: the validator accepts $damage"
  done
  [ "$failed" != 0 ] || say "  ok      $name: $(grep -c '"SPDXID": "SPDXRef-Package' "$list") parts"
done
