/// The version of netwatch: of its programs and of its libraries.
public enum NetwatchVersion {
  /// Major, minor and patch, by the rules of Semantic Versioning 2.0.
  public static let text = "0.1.0"
}
