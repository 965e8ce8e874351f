# Lines of netwatch fit their JSON schemas, and the schemas refuse wrong lines; the lines of NETWATCH_TEST_LINES too.
#
# The lines are those of the debug build, of a replay, and those that tests have kept in the folder NETWATCH_TEST_LINES.
need_packages python3-jsonschema
quietly swift build --product netwatch
quietly swift build --product netwatch-log
netwatch=$(swift build --show-bin-path)/netwatch
lines=$work/lines
mkdir "$lines"
[ -z "${NETWATCH_TEST_LINES:-}" ] || cp "$NETWATCH_TEST_LINES"/*.jsonl "$lines"

for option in '' --interfaces '--activity all --programs' '--traffic --interfaces' --quality --stages; do
  "$netwatch" --follow --json --no-service --count 1 $option
done >"$lines/event-now.jsonl"
"$netwatch" status --json --network-id >>"$lines/event-now.jsonl"
for trace in Tests/Traces/*.trace; do "$netwatch" replay --json "$trace"; done >"$lines/event-replay.jsonl"
cat Tests/Traces/*.jsonl >"$lines/event-traces.jsonl"
# `explain` exits with 1 if nothing is reachable.
for target in '' 192.0.2.1 2001:db8::1; do
  "$netwatch" explain --json $target || [ $? = 1 ]
done >"$lines/explain-now.jsonl"
"$netwatch" top --once --json >"$lines/top-now.jsonl"
"$netwatch-log" write --folder "$lines/state" <"$lines/event-replay.jsonl"
for option in '' --outages; do
  "$netwatch" log --json --file "$lines/state/log.sqlite" $option
done >"$lines/log-now.jsonl"
# Debian's own Python, for which python3-jsonschema is installed.
/usr/bin/python3 Tests/Schemas/check "$lines"
