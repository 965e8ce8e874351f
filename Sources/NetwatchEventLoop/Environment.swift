import NetwatchLibC

extension String {
  /// The value of an environment variable; nil if it is not set.
  package init?(environment name: String) {
    guard let value = unsafe getenv(name) else { return nil }
    unsafe self.init(cString: value)
  }
}

extension [String] {
  /// Returns the words of this process's command line after the name of the program.
  ///
  /// Swift reads the command line from `/proc/self/cmdline`. Without it, the process ends with status 2 and a sentence: a command
  /// without its options would do something that nobody has asked for.
  package static func ofCommandLine() -> [String] {
    let words = CommandLine.arguments
    guard !words.isEmpty else {
      StandardError.warn("cannot read the arguments, because there is no /proc; mount it, and try again")
      exit(2)
    }
    return Array(words.dropFirst())
  }
}
