# Walks through random network configurations; after each step a running netwatch, a new one and sockets have to agree.
# An hour. ARGUMENTS: seconds, otherwise 3600, and a seed, otherwise the time.
#
# If a step disagrees, the check prints its seed and the fewest steps that lead to it.
seed=${2:-$(date +%s)}
build_tests
say "seed $seed"
NETWATCH_WALK_SECONDS=${1:-3600} NETWATCH_WALK_SEED=$seed stdbuf -oL "$tests" --testing-library swift-testing \
  --filter NetworkWalkTests || die "after some step they do not agree; see above."
