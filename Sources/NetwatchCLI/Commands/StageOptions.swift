import ArgumentParser
import NetwatchLines

/// Which stage of the way to the internet fails.
struct StageOptions: SharedOptions {
  @Flag(
    help:
      "Also tell which stage of the way to the internet fails: link, address, gateway, DNS or internet. With --follow, print a line when another one fails first. The last two need --probe."
  )
  var stages = false

  @Flag(
    help: ArgumentHelp(
      "With --follow --stages, send the gateway an empty UDP datagram to port 9 every 5 seconds while nothing else proves it "
        + "alive, so that the kernel notices within a minute when it is dead."))
  var nudge = false

  var given: String? { stages ? "--stages" : nudge ? "--nudge" : nil }

  mutating func validate() throws {
    if nudge, !stages { throw ValidationError("--nudge belongs to --stages; add it.") }
  }

  /// Who prints one line waits for no gateway.
  func refuseNudge() throws {
    if nudge { throw ValidationError("--nudge belongs to --follow; add -f.") }
  }
}
