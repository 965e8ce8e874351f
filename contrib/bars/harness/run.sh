# Runs the checks of one bar, as the user nobody, in namespaces of its own.
#   run.sh BAR
set -euo pipefail
harness=$(dirname "$0")
bar=$1
recipe=$harness/../$bar
. "$harness/common.sh"
trap '[ -n "${judged:-}" ] || fail "the check itself has broken off, behind: ${results[*]:-nothing}"' EXIT
. "$harness/$bar.sh"

check_shows
check_activity
check_traffic
check_figures
check_attacks
check_life
report
