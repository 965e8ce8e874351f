# Runs contrib/test again and again, and adds up the runs of one state of Sources and Tests: each has to pass.
# ARGUMENTS: quiet or busy, and a number; otherwise 10 quiet runs, then 10 beside four busy loops. Can be interrupted.
#
# The runs are recorded in .build-verify/steady-runs, by the SHA-256 of Sources, Tests and Package.swift. A run that is
# interrupted is not recorded.
need_swift
cd "$top"
mkdir -p .build-verify/steady-runs
state=$({ find Sources Tests -type f -print0 && printf 'Package.swift\0'; } | sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
notes=$top/.build-verify/steady-runs/$state
touch "$notes"
busy=()
trap '[ ${#busy[@]} = 0 ] || kill "${busy[@]}"; rm -rf --one-file-system "$work"' EXIT

# count KIND RESULT: prints how many runs of this kind had this result.
count() { grep -c "^$1 $2 " "$notes" || true; }
sum() { say "$1: $(count "$1" ok) of $(($(count "$1" ok) + $(count "$1" FAILED))) runs have passed"; }

# runs KIND NUMBER: runs the tests until this many runs of this kind have passed or failed.
runs() {
  local began status
  if [ "$1" = busy ]; then
    for _ in 1 2 3 4; do
      (while :; do :; done) &
      busy+=($!)
    done
  fi
  while [ $(($(count "$1" ok) + $(count "$1" FAILED))) -lt "$2" ]; do
    began=$SECONDS status=0
    contrib/test --strict >"$work/run" 2>&1 || status=$?
    [ "$status" != 130 ] || exit 130
    if [ "$status" = 0 ]; then
      printf '%s ok %d s: %s\n' "$1" $((SECONDS - began)) "$(tail -n 1 "$work/run")"
    else
      printf '%s FAILED %d s: %s\n' "$1" $((SECONDS - began)) "$(tail -n 1 "$work/run")"
      grep -A 12 '^FAILED' "$work/run" | sed 's/^/    /' || tail -n 20 "$work/run"
    fi | tee -a "$notes"
    sum "$1"
  done
  [ ${#busy[@]} = 0 ] || kill "${busy[@]}"
  busy=()
}
kinds=(quiet busy)
[ $# = 0 ] || kinds=("$1")
for kind in "${kinds[@]}"; do
  case $kind in quiet | busy) ;; *) die "steady knows quiet and busy, and not $kind." ;; esac
  runs "$kind" "${2:-10}"
  [ "$(count "$kind" FAILED)" = 0 ] || failed=1
done
