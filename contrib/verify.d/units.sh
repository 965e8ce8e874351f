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
for scope in system user; do
  mkdir "$folder/$scope"
  cp "$units/$scope"/netwatch.* "$folder/$scope"
  sed -i "s|^ExecStart=/usr/bin/netwatch |ExecStart=$stand_in |" "$folder/$scope/netwatch.service"
  grep -q "^ExecStart=$stand_in serve$" "$folder/$scope/netwatch.service" ||
    { say "$scope/netwatch.service: ExecStart is not \"/usr/bin/netwatch serve\""; failed=1; }
done

# verify SCOPE: checks units with systemd-analyze, which exits with 0 even after a warning.
verify() {
  local scope=$1 said
  if ! said=$(systemd-analyze "--$scope" verify --man=no --recursive-errors=no "$folder/$scope"/netwatch.{service,socket} 2>&1) ||
    [ -n "$said" ]; then
    say "$scope: verify: ${said:-failed without a word}"
    failed=1
  fi
}

exposure() {
  local scope=$1 said
  if said=$(systemd-analyze security --offline=true --no-pager "--threshold=$threshold" \
    "$units/$scope/netwatch.service" 2>&1); then
    say "$scope/netwatch.service: $(tail -n 1 <<<"$said" | sed 's/.*: *//')"
  else
    say "$said"
    failed=1
  fi
}

verify system
verify user
# The units are checked again with the drop-ins that keep a log.
for scope in system user; do
  install -D -m 644 "$units/log/$scope.conf" "$folder/$scope/netwatch.service.d/log.conf"
  sed -i "s|^ExecStart=/usr/bin/netwatch |ExecStart=$stand_in |" "$folder/$scope/netwatch.service.d/log.conf"
  verify "$scope"
done
exposure system
exposure user
