import ArgumentParser

/// The options for hooks, which run for each line. They are options of the root command, and `serve` reads them there. A
/// separate group would make each start of netwatch longer.
extension NetwatchTool {
  /// The name of an option that was given; nil if none was.
  var givenHook: String? {
    hookCommand != nil ? "--exec" : hookFolder != nil ? "--hooks" : hookTimeout != nil ? "--exec-timeout" : nil
  }

  func validateHooks() throws {
    if hookFolder == "" { throw ValidationError("--hooks needs a folder.") }
    if hookTimeout != nil, hookCommand == nil, hookFolder == nil {
      throw ValidationError("--exec-timeout belongs to --exec and --hooks; add one of them.")
    }
  }

  /// The settings for hooks; nil if no hook runs.
  var hookSettings: HookSettings? {
    guard hookCommand != nil || hookFolder != nil else { return nil }
    var settings = HookSettings(command: hookCommand, folder: hookFolder)
    if let hookTimeout { settings.timeout = hookTimeout }
    return settings
  }
}
