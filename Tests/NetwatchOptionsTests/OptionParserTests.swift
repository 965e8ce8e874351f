import Netwatch
import NetwatchOptions
import NetwatchTestSupport
import Testing

/// A table that has an option of each kind.
private struct Values: Hashable {
  var isOn = false
  var text = ""
  var number = 0
  var seconds = Duration.zero
  var color = Color.red
  var level = ""
  var patterns: [String] = []
  var file = ""
  var words: [String] = []

  enum Color: String, CaseIterable { case red, green, blue }
  enum Level: String, CaseIterable { case low, high }

  @OptionTable<Values> static var options: [Option<Values>] {
    Option.flag("-f", "--follow", of: [.follow], help: "Go on.") { _, _ in }
    Option.flag("-o", "--on", of: [.follow, .status, .wait], help: "Switch on.") { $0.isOn = $1 }
    Option.text("-t", "--text", value: "text", of: [.status, .wait], help: "Say it.") { $0.text = $1 }
    Option.number("--number", in: 1...9, of: [.follow], help: "Count.") { $0.number = $1 }
    Option.seconds("--seconds", of: [.wait], help: "Take time.", need: "1 or more", if: { $0 >= .seconds(1) }) {
      $0.seconds = $1
    }
    Option.choice("--color", value: "color", of: [.status, .wait], help: "Paint.") { $0.color = $1 }
    Option.choice("--level", value: "level", of: [.status], help: "Rise.") { (values: inout Values, level: Level) in
      values.level = level.rawValue
    }
    .optional(otherwise: "low")
    Option.text("-i", "--interface", value: "glob", of: [.status, .wait], help: "Choose.") { $0.patterns.append($1) }
      .repeating()
    Option.text("--label", value: "text", of: [.run], help: "Name it.") { $0.text = $1 }
    Option.operand("file", of: [.replay], help: "The file.", by: { path throws(PlainError) in path }) { $0.file = $1 }
      .required()
    Option.rest("command", of: [.run], help: "The command.") { $0.words.append($1) }
      .repeating()
  }

  static func parsed(_ words: String...) throws -> ParsedLine<Values> { try parsed(words) }

  static func parsed(_ words: [String]) throws -> ParsedLine<Values> {
    guard case .run(let line) = try OptionParser.request(words, options, changing: Values()) else {
      throw PlainError("\(words) asks for something else")
    }
    return line
  }

  static func mistake(_ words: String...) -> String? {
    do {
      _ = try parsed(words)
      return nil
    } catch {
      return (error as? UsageError)?.message
    }
  }
}

@Suite struct OptionParserTests {
  @Test(arguments: [
    ["--text=a", "--on"], ["--on", "--text", "a"], ["-o", "-t", "a"], ["-ot", "a"], ["-ota"], ["-ot=a"], ["-o", "-ta"],
    ["status", "-ot", "a"], ["-o", "status", "--text=a"], ["--text=b", "--on", "--text=a"],
  ])
  func `one line, written in different ways`(_ words: [String]) throws {
    let line = try Values.parsed(words)
    #expect(line.command == .status)
    #expect(line.values.isOn)
    #expect(line.values.text == "a")
    #expect(Set(line.given.map(\.name)) == ["--on", "--text"])
  }

  @Test func `values that look like options`() throws {
    #expect(try Values.parsed("--text", "-").values.text == "-")
    #expect(try Values.parsed("--text", "-5").values.text == "-5")
    #expect(try Values.parsed("--text", "-.5").values.text == "-.5")
    #expect(try Values.parsed("--text=--on").values.text == "--on")
    #expect(try Values.parsed("--text=").values.text == "")
    #expect(try Values.parsed("--text", "").values.text == "")
    #expect(try Values.parsed("--text=a=b").values.text == "a=b")
    #expect(Values.mistake("--text", "-x") == "Missing value for '--text <text>'")
  }

  @Test func `a value that may be left out takes only a word that it can be`() throws {
    #expect(try Values.parsed("--level").values.level == "low")
    #expect(try Values.parsed("--level", "high").values.level == "high")
    #expect(try Values.parsed("--level=high").values.level == "high")
    let line = try Values.parsed("--level", "status")
    #expect(line.values.level == "low" && line.named == .status)
  }

  @Test func `the command decides which options there are`() throws {
    #expect(try Values.parsed().command == .status)
    #expect(try Values.parsed("-f").command == .follow)
    #expect(try Values.parsed("wait", "--on").command == .wait)
    #expect(try Values.parsed("-f", "--number", "3").values.number == 3)
    #expect(Values.mistake("--number", "3") == "--number belongs to --follow; use netwatch -f.")
    #expect(Values.mistake("wait", "--number", "3") == "--number belongs to --follow; use netwatch -f.")
    #expect(Values.mistake("wait", "-f") == "--follow works only without a command; leave out wait.")
    #expect(Values.mistake("-f", "-t", "x") == "--text belongs to status and wait; leave out --follow.")
    #expect(Values.mistake("run", "--on", "x") == "run does nothing with --on; leave it out.")
    #expect(Values.mistake("--label", "x") == "--label belongs to run; use netwatch run.")
  }

  @Test func `wrong values are answered with what to do`() {
    #expect(Values.mistake("-f", "--number", "0") == "--number needs a number from 1 to 9.")
    #expect(
      Values.mistake("-f", "--number", "x") == "The value 'x' is invalid for '--number <n>': write a whole number.")
    #expect(Values.mistake("wait", "--seconds", "0.5") == "--seconds needs 1 or more.")
    #expect(
      Values.mistake("--color", "gren") == "The value 'gren' is invalid for '--color <color>': did you mean green?")
    #expect(
      Values.mistake("--color", "x")
        == "The value 'x' is invalid for '--color <color>': the possible values are red, green, blue.")
    #expect(Values.mistake("--on=yes") == "The option '--on' does not take any value, but 'yes' was specified.")
  }

  @Test func `the words after a command to run are its own`() throws {
    #expect(
      try Values.parsed("run", "echo", "-n", "--on", "--", "x").values.words == ["echo", "-n", "--on", "--", "x"])
    #expect(try Values.parsed("run", "--", "-x", "--help").values.words == ["-x", "--help"])
    #expect(try Values.parsed("run", "--label", "a", "ls", "--label", "b").values.text == "a")
    #expect(try Values.parsed("run", "status").values.words == ["status"])
    #expect(Values.mistake("run") == "Missing expected argument '<command> ...'")
  }

  @Test func `words that nothing asks for`() {
    #expect(Values.mistake("x") == "There is no command 'x'. 'netwatch --help' lists the commands.")
    #expect(Values.mistake("-o", "x") == "Unexpected argument 'x'")
    #expect(Values.mistake("status", "x", "y") == "2 unexpected arguments: 'x', 'y'")
    #expect(Values.mistake("--", "wait") == "Unexpected argument 'wait'")
    #expect(Values.mistake("replay", "a", "b") == "Unexpected argument 'b'")
    #expect(Values.mistake("replay") == "Missing expected argument '<file>'")
    #expect(Values.mistake("--nn") == "Unknown option '--nn'. Did you mean '--on'?")
    #expect(Values.mistake("--\u{1b}[31m") == "Unknown option '--?[31m'")
  }

  @Test(arguments: [
    ("wiat", "wait"), ("tpo", "top"), ("stauts", "status"), ("sta", "status"), ("explian", "explain"),
    ("serv", "serve"),
  ])
  func `a name with a slip of the finger is known`(typed: String, meant: String) {
    #expect(Command.names.nearest(to: typed) == meant)
  }

  @Test func `a name that resembles none has no suggestion`() {
    #expect(["--probe", "--programs", "--template"].nearest(to: "--prety") == nil)
    #expect(Command.names.nearest(to: "xyzzy") == nil)
    #expect(Command.names.nearest(to: "") == nil)
  }

  @Test func `help and version come before what follows them`() throws {
    func request(_ words: String...) throws -> Request<Values> {
      try OptionParser.request(words, Values.options, changing: Values())
    }
    for words in [["-h"], ["--help"], ["-fh"], ["help"], ["--help", "--nonsense"]] {
      guard case .help(nil, isWhole: false) = try OptionParser.request(words, Values.options, changing: Values()) else {
        Issue.record("\(words)")
        continue
      }
    }
    if case .help(.wait, isWhole: true) = try request("wait", "--help-all") {} else { Issue.record("wait --help-all") }
    if case .help(.wait, isWhole: false) = try request("help", "wait") {} else { Issue.record("help wait") }
    if case .version = try request("-o", "--version") {} else { Issue.record("--version") }
    if case .run = try request("run", "x", "--help") {} else { Issue.record("run x --help") }
  }

  @Test func `options of helper programs are left to them`() throws {
    #expect(try Values.parsed("get", "--nonsense", "-zzz").named == .get)
    #expect(Values.mistake("-o", "get", "--nonsense") == "get does nothing with --on; leave it out.")
  }

  /// Whatever the words are, the parser ends with a request or with a sentence of one line.
  @Test func `random lines`() {
    var random = SplitMix(seed: 53)
    let words =
      Values.options.flatMap(\.about.names) + Command.names
      + [
        "-", "--", "", "=", "-=", "--=", "--=x", "--text=", "x", "-5", "\u{300}", "--\u{fe0f}", "-é", "help", "--level",
        "high",
      ]
    for _ in 0..<20_000 {
      let line = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        let word = words.randomElement(using: &random) ?? ""
        return Bool.random(using: &random) ? word : word + (words.randomElement(using: &random) ?? "")
      }
      do {
        _ = try OptionParser.request(line, Values.options, changing: Values())
      } catch {
        #expect(!error.message.isEmpty && !error.message.contains("\n"), "\(line)")
      }
    }
  }
}
