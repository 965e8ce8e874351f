import Glibc
import NetwatchEventLoop

enum ColorChoice: String, CaseIterable {
  case auto, always, never
}

/// What the terminal can show.
final class Terminal {
  let isTerminal: Bool
  let usesColor: Bool
  /// Whether it is a terminal with a cursor that can be moved.
  let canDraw: Bool
  /// Whether it shows more than ASCII.
  let isUnicode: Bool
  /// How wide it is; nil where a line may be as long as it likes. COLUMNS counts where the terminal does not say.
  private(set) var columns: Int?
  /// How many lines it has.
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

  /// Text that is folded at its width.
  func foldedText(indent: Int) -> FoldedText { FoldedText(width: columns, usesColor: usesColor, indent: indent) }

  /// Looks how large it is now.
  func measure() {
    columns = FileDescriptor.columns(of: descriptor) ?? (isTerminal ? Self.standardWidth : nil)
    rows = FileDescriptor.rows(of: descriptor) ?? Self.standardHeight
  }
}
