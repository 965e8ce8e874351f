import Netwatch

/// The settings for hooks, which run for each line.
struct HookSettings {
  /// The shell command of `--exec`; nil for none. `sh -c` gets it unchanged: no part of a line is ever inserted.
  var command: String?
  /// The folder of `--hooks`; nil for none.
  var folder: String?
  /// The time after which the command or a file of the folder is ended. Default: 90 seconds.
  var timeout = Duration.seconds(90)
  /// The target that the paths of records lead to, which sentences name.
  var target = NetworkTarget.internet

  /// Whether there is a hook.
  var areWanted: Bool { command != nil || folder != nil }
}
