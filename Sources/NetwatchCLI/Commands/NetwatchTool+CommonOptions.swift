import ArgumentParser
import Netwatch
import NetwatchStream

/// A table that parses the most common command lines, because ArgumentParser needs 1.7 ms for them, which is half of a start.
///
/// The table knows a part of the options. A command line with any other word, or with a mistake, is left to ArgumentParser.
extension NetwatchTool {
  typealias CommonFlag = (names: [String], set: @Sendable (inout NetwatchTool) throws -> Void)
  typealias CommonOption = (names: [String], set: @Sendable (inout NetwatchTool, _ value: String) throws -> Void)

  /// Flags of `netwatch` and of `netwatch status`.
  static let commonFlags: [CommonFlag] = [
    (["--json"], { $0.output.json = true }),
    (["--interfaces"], { $0.snapshot.interfaces = true }),
    (["--check"], { $0.snapshot.check = true }),
    (["--no-service"], { $0.service.noService = true }),
    (["-v", "--verbose"], { $0.details.verbose = true }),
    (["--programs"], { $0.programs.programs = true }),
    (["--stages"], { $0.stages = true }),
    (["--quality"], { $0.quality = true }),
  ]

  /// Flags of `netwatch` only.
  static let commonFollowFlags: [CommonFlag] = [
    (["-f", "--follow"], { $0.follow = true }),
    (["--traffic"], { $0.traffic.traffic = true }),
  ]

  /// Options of `netwatch` and of `netwatch status`.
  static let commonOptions: [CommonOption] = [
    (["--format"], { $0.output.format = try OutputFormat.named($1) }),
    (["--color"], { $0.output.color = try ColorChoice.choice($1) }),
    (["--template"], { $0.output.bar.template = $1 }),
    (["--icons"], { $0.output.bar.icons = try IconSet.choice($1) }),
    (["--hide-when"], { $0.output.bar.hidden.append(try BarLook.Occasion.named($1)) }),
    (["--for"], { $0.conditionWords.append($1) }),
    (["-i", "--interface"], { $0.path.links.included.append($1) }),
    (["--ignore"], { $0.path.links.ignored.append($1) }),
    (["--target"], { $0.path.target = try NetworkTarget(argument: $1) }),
    (["--activity"], { $0.activity.activity = try ServiceIdentity.Counts(argument: $1) }),
  ]

  /// Options of `netwatch` only.
  static let commonFollowOptions: [CommonOption] = [
    (["--hold"], { $0.hold = try Duration(seconds: $1) }),
    (
      ["--count"],
      { tool, value in
        guard let count = Int(value) else { throw ValidationError("--count needs a number.") }
        tool.count = count
      }
    ),
    (["--exec"], { $0.hookCommand = $1 }),
  ]

  /// Parses a common command line.
  ///
  /// - Parameter words: The command line without the name of the program.
  /// - Returns: The command with its options, which are valid; nil if ArgumentParser has to parse the command line.
  static func common(_ words: some Sequence<String>) -> NetwatchTool? {
    var words = Array(words)[...]
    let isStatus = words.first == "status"
    if isStatus { words.removeFirst() }
    var tool = NetwatchTool.withDefaults
    do {
      while let word = words.popFirst() {
        if let flag = (commonFlags + (isStatus ? [] : commonFollowFlags)).first(where: { $0.names.contains(word) }) {
          try flag.set(&tool)
        } else if let option = (commonOptions + (isStatus ? [] : commonFollowOptions)).first(where: {
          $0.names.contains(word)
        }), let value = words.popFirst(), !value.hasPrefix("-") {
          try option.set(&tool, value)
        } else {
          return nil
        }
      }
      try tool.output.bar.validate()
      try tool.output.validate()
      try tool.activity.validate()
      try tool.validate()
      if !tool.follow { try tool.refuseOptionsOfFollow() }
    } catch {
      return nil
    }
    return tool
  }

  /// The command without options. ArgumentParser sets default values only when it parses, so they are repeated here. A test
  /// compares both.
  private static var withDefaults: NetwatchTool {
    var bar = BarOptions()
    (bar.template, bar.icons, bar.maximumWidth, bar.hidden) = (nil, nil, nil, [])
    var output = OutputOptions()
    (output.format, output.json, output.color, output.bar) = (nil, false, .auto, bar)
    var snapshot = SnapshotOptions()
    (snapshot.interfaces, snapshot.check, snapshot.networkID) = (false, false, false)
    var links = LinkOptions()
    (links.included, links.ignored, links.modems, links.tunnels) = ([], [], [], [])
    (links.expensive, links.notExpensive, links.allowsLinkLocal) = ([], [], false)
    var path = PathOptions()
    (path.links, path.target) = (links, .internet)
    var service = ServiceOptions()
    service.noService = false
    var activity = ActivityOptions()
    (activity.activity, activity.exclusions, activity.interval, activity.patience) = (.requests, [], nil, nil)
    var details = DetailOptions()
    details.verbose = false
    var programs = ProgramOptions()
    programs.programs = false
    var probe = ProbeOptions()
    (probe.probe, probe.expectation, probe.interval, probe.timeout) = (nil, nil, nil, nil)
    var traffic = TrafficOptions()
    (traffic.traffic, traffic.interval) = (false, nil)
    var units = UnitsOptions()
    units.units = nil
    var wifi = WiFiOptions()
    (wifi.details, wifi.bssid) = (false, false)

    var tool = NetwatchTool()
    (tool.output, tool.snapshot, tool.path, tool.service) = (output, snapshot, path, service)
    (tool.activity, tool.details, tool.programs, tool.probe) = (activity, details, programs, probe)
    (tool.traffic, tool.units, tool.wifi) = (traffic, units, wifi)
    (tool.follow, tool.conditionWords, tool.hold, tool.count) = (false, [], nil, nil)
    (tool.signal, tool.quality, tool.stages, tool.nudge) = (nil, false, false, false)
    (tool.hookCommand, tool.hookFolder, tool.hookTimeout) = (nil, nil, nil)
    (tool.recordingPath, tool.log) = (nil, false)
    return tool
  }
}
