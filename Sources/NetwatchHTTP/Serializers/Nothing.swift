/// Tells whether a value of a type that is not known is nil.
protocol Nothing {
  var isNothing: Bool { get }
}

extension Optional: Nothing {
  var isNothing: Bool { self == nil }
}
