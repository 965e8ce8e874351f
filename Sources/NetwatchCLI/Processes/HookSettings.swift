/// What runs for each line.
struct HookSettings {
  /// The shell command of `--exec`, given to `sh -c` as it is; what a line says never becomes a part of it. Nil for none.
  var command: String?
  /// The folder of `--hooks`; nil for none.
  var folder: String?
  /// The time after which the command, or a file of the folder, is ended. Default: 90 seconds.
  var timeout = Duration.seconds(90)
}
