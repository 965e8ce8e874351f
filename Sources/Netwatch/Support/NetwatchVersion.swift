/// The version of netwatch: of its programs and of its libraries.
public enum NetwatchVersion {
  /// The version as text: major, minor and patch by the rules of Semantic Versioning 2.0.
  public static let text = "0.1.0"
}
