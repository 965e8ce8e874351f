import ArgumentParser

/// How much text says.
struct DetailOptions: ParsableArguments {
  @Flag(
    name: .shortAndLong,
    help: "In text, also say why, of each link too, and name the programs whose TCP connections are in flight.")
  var verbose = false
}

/// Whether JSON names programs.
struct ProgramOptions: ParsableArguments {
  @Flag(help: "In JSON, also name the programs whose TCP connections are in flight.")
  var programs = false
}
