import ArgumentParser
import Netwatch

/// What runs for each line.
struct HookOptions: SharedOptions {
  @Option(
    name: .customLong("exec"),
    help: ArgumentHelp(
      "With --follow or serve, run this shell command for each line, which it gets on its standard input, and in "
        + "NETWATCH_STATUS, _MEDIUM, _INTERFACE, _IPV4, _IPV6, _GATEWAY, _SSID, _VPN, _EXPENSIVE, _EVENT, _REASON, _VISIBLE and "
        + "_INTERNET; NETWATCH_OLD_STATUS and so on have the values before.", valueName: "command"))
  var command: String?

  @Option(
    help: ArgumentHelp(
      "With --follow or serve, run the executable files of this folder for each line, in the order of their names, as --exec "
        + "runs its command. They must belong to you or to root, and nobody else may write to them.",
      valueName: "folder"),
    completion: .directory)
  var hooks: String?

  @Option(
    name: .customLong("exec-timeout"),
    help: ArgumentHelp(
      "End a command of --exec, or a file of --hooks, after this time. Default: 90.", valueName: "seconds"),
    transform: Duration.init(seconds:))
  var timeout: Duration?

  var given: String? { command != nil ? "--exec" : hooks != nil ? "--hooks" : timeout != nil ? "--exec-timeout" : nil }

  mutating func validate() throws {
    if hooks == "" { throw ValidationError("--hooks needs a folder.") }
    if timeout != nil, command == nil, hooks == nil {
      throw ValidationError("--exec-timeout belongs to --exec and --hooks; add one of them.")
    }
  }

  /// Nil if nothing runs.
  var settings: HookSettings? {
    guard command != nil || hooks != nil else { return nil }
    var settings = HookSettings(command: command, folder: hooks)
    if let timeout { settings.timeout = timeout }
    return settings
  }
}
