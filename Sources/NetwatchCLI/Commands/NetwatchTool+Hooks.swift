import ArgumentParser

/// What runs for each line: options of the root, which `serve` has from there. A group of their own would make each start of
/// netwatch longer.
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

  /// Nil if nothing runs.
  var hookSettings: HookSettings? {
    guard hookCommand != nil || hookFolder != nil else { return nil }
    var settings = HookSettings(command: hookCommand, folder: hookFolder)
    if let hookTimeout { settings.timeout = hookTimeout }
    return settings
  }
}
