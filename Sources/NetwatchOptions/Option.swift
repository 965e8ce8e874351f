import Netwatch

/// An option of a program. `Values` is where its value is stored.
package struct Option<Values> {
  package let about: OptionDescription
  /// Stores a value. A flag gets `yes`; from libnetwatch also `no`.
  let store: @Sendable (inout Values, _ value: String) throws(PlainError) -> Void
  /// What a value needs to be, such as "1 or more"; nil if it is that, or if `store` says what is wrong.
  private(set) var need: @Sendable (_ value: String) -> String? = { _ in nil }

  private init(
    _ about: OptionDescription,
    _ store: @escaping @Sendable (inout Values, _ value: String) throws(PlainError) -> Void
  ) {
    self.about = about
    self.store = store
  }

  private init(
    _ names: [String], _ argument: OptionDescription.Argument, _ commands: [Command],
    _ help: @escaping @Sendable () -> String,
    _ store: @escaping @Sendable (inout Values, _ value: String) throws(PlainError) -> Void
  ) {
    self.init(OptionDescription(names: names, argument: argument, commands: commands, help: help()), store)
  }

  // MARK: Kinds

  /// An option without a value.
  package static func flag(
    _ names: String..., of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    set: @escaping @Sendable (inout Values, _ isOn: Bool) -> Void
  ) -> Option {
    Option(names, .none, commands, help) { values, text in set(&values, text == "yes") }
  }

  /// An option with any text as its value.
  package static func text(
    _ names: String..., value: String, of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    set: @escaping @Sendable (inout Values, String) -> Void
  ) -> Option {
    Option(names, .value(value), commands, help) { values, text in set(&values, text) }
  }

  /// An option whose value a function reads. The function throws a sentence about a text that is no such value.
  package static func parsed<Value>(
    _ names: String..., value: String, of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    by parse: @escaping @Sendable (String) throws(PlainError) -> Value,
    set: @escaping @Sendable (inout Values, Value) -> Void
  ) -> Option {
    Option(names, .value(value), commands, help) { values, text throws(PlainError) in set(&values, try parse(text)) }
  }

  /// An option with one of a few words as its value.
  package static func choice<Choice: CaseIterable & RawRepresentable<String> & SendableMetatype>(
    _ names: String..., value: String, of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    set: @escaping @Sendable (inout Values, Choice) -> Void
  ) -> Option {
    Option(names, .value(value), commands, help) { values, text throws(PlainError) in
      set(&values, try Choice.named(text))
    }.suggesting(.words { Choice.names })
  }

  /// An option with a whole number as its value.
  package static func number(
    _ names: String..., value: String = "n", in range: ClosedRange<Int>, of commands: [Command],
    help: @autoclosure @escaping @Sendable () -> String,
    set: @escaping @Sendable (inout Values, Int) -> Void
  ) -> Option {
    var option = Option(names, .value(value), commands, help) { values, text throws(PlainError) in
      guard let number = Int(text) else { throw PlainError("write a whole number.") }
      set(&values, number)
    }
    option.need = { text in
      guard let number = Int(text), !range.contains(number) else { return nil }
      return range.upperBound == .max
        ? "\(range.lowerBound) or more" : "a number from \(range.lowerBound) to \(range.upperBound)"
    }
    return option
  }

  /// An option with a time as its value, which is written in seconds.
  ///
  /// - Parameters:
  ///   - isPossible: Whether the option can have a value. Default: each one from 0.
  ///   - need: What the value has to be if not each one is possible, such as "0.1 or more".
  package static func seconds(
    _ names: String..., of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    need: String = "", if isPossible: @escaping @Sendable (Duration) -> Bool = { _ in true },
    set: @escaping @Sendable (inout Values, Duration) -> Void
  ) -> Option {
    var option = Option(names, .value("seconds"), commands, help) { values, text throws(PlainError) in
      set(&values, try Duration(optionValue: text))
    }
    option.need = { text in
      (try? Duration(optionValue: text)).flatMap { isPossible($0) ? nil : need }
    }
    return option
  }

  /// A value that stands alone.
  package static func operand<Value>(
    _ name: String, of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    by parse: @escaping @Sendable (String) throws(PlainError) -> Value,
    set: @escaping @Sendable (inout Values, Value) -> Void
  ) -> Option {
    Option([], .value(name), commands, help) { values, text throws(PlainError) in set(&values, try parse(text)) }
  }

  /// A word that stands alone, and all words after it, whatever they are. Each is stored.
  package static func rest(
    _ name: String, of commands: [Command], help: @autoclosure @escaping @Sendable () -> String,
    set: @escaping @Sendable (inout Values, String) -> Void
  ) -> Option {
    Option([], .rest(name), commands, help) { values, text in set(&values, text) }.required()
  }

  // MARK: Properties

  private func with(_ change: (OptionDescription) -> Void) -> Option {
    change(about)
    return self
  }

  /// The option under a heading in the help of netwatch itself.
  package func under(_ group: String) -> Option { with { $0.group = group } }

  /// The option, which the `--help` of these commands leaves out. Their `--help-all` lists it.
  package func rare(in commands: [Command]) -> Option { with { $0.rareCommands = commands } }

  /// The option with another help for some of its commands.
  package func help(
    in commands: Command..., text: @autoclosure @escaping @Sendable () -> String
  ) -> Option {
    with { $0.otherHelp.append((commands, text)) }
  }

  /// The option with the value that counts if it is not given, in words.
  package func standard(_ words: String) -> Option { with { $0.standard = words } }

  /// The option with sentences that only the manual has, beside its help.
  package func manual(_ text: String) -> Option { with { $0.manual = text } }

  /// The option, which may be given several times.
  package func repeating() -> Option { with { $0.mayRepeat = true } }

  /// The operand, which has to be given.
  package func required() -> Option { with { $0.isRequired = true } }

  /// The option, whose value may be left out; this word then counts.
  package func optional(otherwise word: String) -> Option {
    with { about in about.valueName.map { about.argument = .optional($0, otherwise: word) } }
  }

  /// The option with values that completions offer.
  package func suggesting(_ suggestions: OptionDescription.Suggestions) -> Option {
    with { $0.suggestions = suggestions }
  }

  /// The option, which libnetwatch has too.
  package func inLibrary() -> Option { with { $0.isInLibrary = true } }

  /// The option in a table whose values contain those of this one.
  ///
  /// - Parameter inner: Calls a function with the contained values.
  package func within<Whole>(_ inner: WritableKeyPath<Whole, Values> & Sendable) -> Option<Whole> {
    var option = Option<Whole>(about) { [store] whole, text throws(PlainError) in
      try store(&whole[keyPath: inner], text)
    }
    option.need = need
    return option
  }
}

/// Collects the options of a table, each of which stands on lines of its own. The compiler looks at one after the other, which
/// takes seconds less than an array.
@resultBuilder
package enum OptionTable<Values> {
  package static func buildExpression(_ option: Option<Values>) -> [Option<Values>] { [option] }
  package static func buildExpression(_ options: [Option<Values>]) -> [Option<Values>] { options }
  package static func buildPartialBlock(first: [Option<Values>]) -> [Option<Values>] { first }
  package static func buildPartialBlock(
    accumulated: consuming [Option<Values>], next: [Option<Values>]
  ) -> [Option<Values>] {
    accumulated += next
    return accumulated
  }
}

extension Duration {
  /// Parses a time from 0: a number of seconds such as `2` or `0.5`, or a number with `ms`, `s`, `m`, `h` or `d` behind it.
  ///
  /// - Throws: A `PlainError` with a sentence that says what to write.
  package init(optionValue text: String) throws(PlainError) {
    let units: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
    let unit = units.first { text.hasSuffix($0.suffix) } ?? ("", 1)
    guard let number = Double(text.dropLast(unit.suffix.count)), number >= 0,
      number * unit.seconds <= Duration.longestDelay / .seconds(1)
    else {
      throw PlainError(
        "'\(text.sanitizedForTerminal)' is not a time, 0 or more; write seconds such as 2 or 0.5, or 30s, 5m or 1h.")
    }
    self = .seconds(number * unit.seconds)
  }
}
