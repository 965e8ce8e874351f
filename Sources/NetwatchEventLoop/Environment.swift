import Glibc

extension String {
  /// The value of an environment variable; nil if it is not set.
  package init?(environment name: String) {
    guard let value = unsafe getenv(name) else { return nil }
    unsafe self.init(cString: value)
  }
}
