import ArgumentParser

/// How much text says.
struct DetailOptions: SharedOptions {
  @Flag(
    name: .shortAndLong,
    help: ArgumentHelp(
      "In text, also say why, of each link too, and name what is in flight: programs with TCP connections, and the labels "
        + "of your own requests. Say once on standard error what this kernel lacks."))
  var verbose = false

  var given: String? { verbose ? "--verbose" : nil }
}

/// Whether JSON names programs.
struct ProgramOptions: SharedOptions {
  @Flag(help: "In JSON, also name the programs whose TCP connections are in flight.")
  var programs = false

  var given: String? { programs ? "--programs" : nil }
}
