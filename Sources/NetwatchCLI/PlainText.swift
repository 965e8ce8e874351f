/// The words of a code of the stream.
func words(_ code: String) -> String {
  String(code.map { $0 == "_" || $0 == "-" ? " " : $0 })
}
