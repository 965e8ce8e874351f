import ArgumentParser
import NetwatchLines

/// Which stage of the way to the internet fails.
struct StageOptions: SharedOptions {
  @Flag(
    help:
      "Also tell which stage of the way to the internet fails: link, address, gateway, DNS or internet. With --follow, print a line when another one fails first. The last two need --probe."
  )
  var stages = false

  var given: String? { stages ? "--stages" : nil }
}
