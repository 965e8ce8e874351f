# Tries the Python package: its wheel in a fresh virtual environment, and nothing of Swift.
# Five minutes. ARGUMENT: the folder that contrib/bindings/c/build has printed.
#
# PYTHON   the Python with which the wheel is tried. Default: python3. The package is also tried with each Python from 3.9 to 3.13
#          that is in PATH or in the folders of pyenv
. "$top/contrib/bindings/world.sh"

if [ "$is_inside" = yes ]; then
  work=$1
  make_world "$work"
  timeout 300 python harness/try.py || failed=1
  for other in "${@:2}"; do
    say "Also $("$other" --version)"
    PYTHONPATH=$("$work/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])') timeout 300 "$other" harness/try.py || failed=1
  done

  start python -m libnetwatch
  expect "python -m libnetwatch: says the state at once" has "$work/lines" 1 \
    '^\{"v":1,.*"event":"initial","reason":"initial",.*"status":"wifi",.*"interface":"enp1s0".*\}$'
  pull
  expect "python -m libnetwatch: the cable is pulled" has "$work/lines" 1 '"reason":"no_carrier",.*"status":"not-reachable"'
  plug-in
  expect "python -m libnetwatch: the cable is back" has "$work/lines" 1 '"reason":"route_up",.*"status":"wifi"'
  expect "python -m libnetwatch: has nothing to complain about" test ! -s "$work/errors"
  kill -TERM "$running"
  expect "python -m libnetwatch: ends at SIGTERM" ends "$running" 143
  mkfifo "$work/reader"
  python -m libnetwatch no-service >"$work/reader" 2>"$work/errors" &
  running=$!
  head -n 1 "$work/reader" >"$work/first"
  expect "python -m libnetwatch: ends when its reader is gone" ends "$running" 0
  expect "python -m libnetwatch: says nothing about that" test ! -s "$work/errors"
  expect "python -m libnetwatch: knows its options" fails 64 '^libnetwatch: .*colour' python -m libnetwatch colour=red
  start python -m libnetwatch ignore=enp1s0
  expect "python -m libnetwatch: passes its options on" has "$work/lines" 1 '"reason":"no_route"'
  kill -TERM "$running"

  # The signal is that of Ctrl-C in an interactive shell. A program that a shell starts in the background ignores it.
  start python -c 'import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
import libnetwatch
for path in libnetwatch.follow(): print(path.reason, flush=True)'
  expect "follow(): says the state at once" has "$work/lines" 1 '^initial$'
  kill -INT "$running"
  expect "follow(): ends with KeyboardInterrupt" ends "$running" 130
  expect "follow(): shows where it was" has "$work/errors" 1 '^KeyboardInterrupt$'
  expect "README: its first example runs" timeout 30 python "$work/example.py"

  readme_block 'WIFI ' >"$work/wanted"
  readme_block 'import libnetwatch' >"$work/follow.py"
  start python -u "$work/follow.py"
  expect "README of netwatch: its example says the state at once" has "$work/lines" 1 "^$(sed q "$work/wanted")\$"
  pull
  expect "README of netwatch: its example says what README shows" within_time cmp "$work/wanted" "$work/lines"
  kill -TERM "$running"
  exit "$failed"
fi

need_packages pkg-config iproute2 util-linux coreutils
find_library "$@"
wheel=$("$top/contrib/bindings/python/build" "$library" | tail -n 1)
python=${PYTHON:-python3}
version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
# others: prints a Python of each version that is here, apart from the one with which the wheel is tried.
others() {
  local version file
  for version in 3.9 3.10 3.11 3.12 3.13; do
    [ "$version" != "$(version_of "$python")" ] || continue
    for file in $(command -v "python$version" || true) "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
      [ "$(version_of "$file")" = "$version" ] || continue
      printf '%s\n' "$file"
      break
    done
  done
}
say "The wheel $(basename "$wheel"), in $("$python" --version)"

# The wheel and the README must name the same version of glibc.
needs_glibc() { [[ $wheel =~ manylinux_2_([0-9]+)_ ]] && grep -F "glibc 2.${BASH_REMATCH[1]} " "$top/contrib/bindings/python/README.md"; }
# installs NAME ARGUMENT…: makes an environment, and installs there what pip finds.
installs() { "$python" -m venv "$work/$1" && "$work/$1/bin/pip" --disable-pip-version-check install --no-cache-dir "${@:2}"; }
# Every library that the package loads must come from the wheel, except those of the C compiler.
is_alone() {
  python -c 'import libnetwatch, re
libnetwatch.version()
names = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print(*sorted(names), sep="\n")
own = {name for name in names if "/site-packages/libnetwatch" in name}
wanted = re.compile(r"/lib(nl-|nl_|netwatch|cares|idn2|unistring|swift)")
assert own and not [name for name in names - own if wanted.search(name)]'
}
names_what_is_missing() {
  local said
  said=$(NETWATCH_LIBRARY=$work/none "$work/plain/bin/python" -c 'import libnetwatch; libnetwatch.current()' 2>&1) && return 1
  grep -F 'install libnetwatch1' <<<"$said"
}
expect "README: names the glibc that the wheel needs" needs_glibc
expect "README: the package installs without the C library" installs plain "$top/contrib/bindings/python"
expect "README: the package says what it lacks then" names_what_is_missing
expect "the wheel installs into a fresh environment" installs venv --no-index "$wheel"
# The environment of this shell is not inherited, and there is no Swift in PATH.
clean=(env -i PATH="$work/venv/bin:/usr/bin:/bin:/usr/sbin:/sbin" HOME="$work" LC_ALL=C.UTF-8)
export -f is_alone
expect "there is no Swift there" "${clean[@]}" sh -c '! command -v swift'
PATH=$work/venv/bin:$PATH expect "the wheel uses its own libraries" is_alone
sed -n '/^```python$/,/^```$/{/^```/!p;/^```$/q}' "$top/contrib/bindings/python/README.md" >"$work/example.py"
cd "$top/contrib/bindings/python"
status=0
"${clean[@]}" bash -c 'top=$1; . "$top/contrib/bindings/world.sh"; in_a_world "${@:2}"' - "$top" python "$work" $(others) || status=$?
[ "$status" = 0 ] || failed=1
