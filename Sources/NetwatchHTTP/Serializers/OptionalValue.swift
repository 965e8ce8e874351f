/// Optionals of an unknown type.
protocol OptionalValue {
  static var nothing: Self { get }
  var isNil: Bool { get }
}

extension Optional: OptionalValue {
  static var nothing: Self { nil }
  var isNil: Bool { self == nil }
}
