import NetwatchLibC

extension String {
  /// The value of an environment variable; nil if it is not set.
  package init?(environment name: String) {
    guard let value = unsafe getenv(name) else { return nil }
    unsafe self.init(cString: value)
  }
}

/// Folders that the environment of the process names.
package enum UserFolder {
  /// The user's folder for state, as the XDG Base Directory Specification defines it, which calls relative paths invalid: in
  /// `$XDG_STATE_HOME`, else `~/.local/state`. Nil if neither variable gives one.
  package static var state: String? {
    if let state = String(environment: "XDG_STATE_HOME"), state.hasPrefix("/") { return state }
    guard let home = String(environment: "HOME"), home.hasPrefix("/") else { return nil }
    return "\(home)/.local/state"
  }

  /// The folders in which the user's programs are. None if this program has more rights than its user, who sets PATH.
  package static var programs: [String] {
    guard getuid() == geteuid(), getgid() == getegid() else { return [] }
    let path = String(environment: "PATH") ?? "/usr/local/bin:/usr/bin"
    return path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
  }

  /// The folder of the running program; nil if there is no /proc.
  package static var ofThisProgram: String? {
    guard let path = FileDescriptor.target(ofLink: "/proc/self/exe") else { return nil }
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
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
