# systemd-analyze finds nothing wrong in the units, and no service exposed by more than 2.0 of 10.
# Seconds. Needs neither a running systemd nor an installed netwatch.
command -v systemd-analyze >/dev/null || need_packages systemd
# ExecReload of the unit needs /bin/kill.
[ -x /bin/kill ] || need_packages procps
threshold=20

units="$top/contrib/packaging/systemd"
folder=$work
mkdir -m 700 "$folder/run"
# verify --user needs a runtime folder, and would read the units in the home folder.
export XDG_RUNTIME_DIR="$folder/run" HOME="$folder"
unset XDG_CONFIG_HOME XDG_DATA_HOME SYSTEMD_UNIT_PATH

stand_in=$(type -P true)
# runs SCOPE UNIT WORDS: replaces the program of a unit by a stand-in, and checks its words.
runs() {
  local unit=$folder/$1/$2
  sed -i "s|^ExecStart=/usr/bin/netwatch |ExecStart=$stand_in |" "$unit"
  grep -qx -e "ExecStart=$stand_in $3" "$unit" || { say "$1/$2: ExecStart is not \"/usr/bin/netwatch $3\""; failed=1; }
}
for scope in system user; do
  mkdir "$folder/$scope"
  cp "$units/$scope"/* "$folder/$scope"
  runs "$scope" netwatch.service serve
  runs "$scope" netwatch-log.service '--follow --log'
done

runs system netwatch-wait-online.service 'wait --quiet --timeout 30'
runs user netwatch-targets.service '--follow --json --no-service --exec /usr/lib/netwatch/targets'
sed -i "s|^ExecStart=/usr/lib/netwatch/netwatch-http |ExecStart=$stand_in |" "$folder/user/netwatch-transfers.service"
grep -qx "ExecStart=$stand_in work --wait" "$folder/user/netwatch-transfers.service" ||
  { say "user/netwatch-transfers.service: ExecStart is not \"/usr/lib/netwatch/netwatch-http work --wait\""; failed=1; }
sed -i "s|^ExecStart=/usr/lib/netwatch/netwatch-mqtt |ExecStart=$stand_in |" "$folder/system/netwatch-mqtt.service"
sed -i "s|^ExecStopPost=.*|ExecStopPost=$stand_in|" "$folder/user/netwatch-targets.service"

# verify SCOPE: checks units with systemd-analyze, which exits with 0 even after a warning.
verify() {
  local scope=$1 said
  if ! said=$(systemd-analyze "--$scope" verify --man=no --recursive-errors=no "$folder/$scope"/*.* 2>&1) ||
    [ -n "$said" ]; then
    say "$scope: verify: ${said:-failed without a word}"
    failed=1
  fi
}

exposure() {
  local unit=$1 said
  if said=$(systemd-analyze security --offline=true --no-pager "--threshold=$threshold" "$units/$unit" 2>&1); then
    say "$unit: $(tail -n 1 <<<"$said" | sed 's/.*: *//')"
  else
    say "$said"
    failed=1
  fi
}

exposure system/netwatch-mqtt.service
for scope in system user; do
  verify "$scope"
  exposure "$scope/netwatch.service"
  exposure "$scope/netwatch-log.service"
done
exposure system/netwatch-wait-online.service
