import Glibc

extension String {
  /// The value of a variable of the environment; nil where it is not set.
  package init?(environment name: String) {
    guard let value = unsafe getenv(name) else { return nil }
    unsafe self.init(cString: value)
  }
}
