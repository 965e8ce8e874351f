import NetwatchEventLoop
import NetwatchLibC

enum ColorChoice: String, CaseIterable {
  case auto, always, never
}

/// The properties of the terminal that text is written to.
final class Terminal {
  let isTerminal: Bool
  let usesColor: Bool
  /// Whether the output is a terminal with a cursor that can be moved.
  let canDraw: Bool
  /// Whether the terminal shows more than ASCII.
  let isUnicode: Bool
  /// The width in columns; nil if a line may have any length. COLUMNS is used if the terminal does not report its width.
  private(set) var columns: Int?
  /// The height in lines; 24 if it is not known.
  private(set) var rows = standardHeight
  private let descriptor: CInt
  private var resizes: SignalSource?

  private static let standardWidth = 80
  private static let standardHeight = 24

  /// - Parameters:
  ///   - descriptor: The descriptor that text is written to.
  ///   - locale: The name of the locale, which tells whether the terminal shows more than ASCII. Default: that of the environment.
  init(descriptor: CInt, color: ColorChoice, locale: String = Terminal.locale) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    let isDumb = String(environment: "TERM") == "dumb"
    canDraw = isTerminal && !isDumb
    usesColor =
      switch color {
      case .always: true
      case .never: false
      // no-color.org: set and not empty.
      case .auto: isTerminal && (String(environment: "NO_COLOR") ?? "").isEmpty && !isDumb
      }
    isUnicode = locale.uppercased().contains("UTF-8") || locale.uppercased().contains("UTF8")
    measure()
  }

  static var locale: String {
    ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(String.init(environment:)).first { !$0.isEmpty } ?? ""
  }

  func followResizes(on loop: EventLoop) throws(SystemError) {
    guard isTerminal else { return }
    resizes = try SignalSource([SIGWINCH], on: loop) { [unowned self] _ in measure() }
  }

  /// Returns an empty text that is folded at the width of the terminal.
  func foldedText(indent: Int) -> FoldedText { FoldedText(width: columns, usesColor: usesColor, indent: indent) }

  /// Reads the present size of the terminal.
  func measure() {
    columns = FileDescriptor.columns(of: descriptor) ?? (isTerminal ? Self.standardWidth : nil)
    rows = FileDescriptor.rows(of: descriptor) ?? Self.standardHeight
  }
}
