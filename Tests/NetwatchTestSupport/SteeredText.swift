import Netwatch

extension String {
  /// The characters of the text, except newlines, that could control a terminal, change the direction of text or show
  /// nothing.
  package var steering: [Unicode.Scalar] { unicodeScalars.filter { $0 != "\n" && $0.isUnsafeInTerminal } }
}
