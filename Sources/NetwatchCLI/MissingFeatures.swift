import NetwatchNetlink

extension NetlinkReachability {
  /// Says on standard error, a line for each, which features of the kernel are missing and what is lost by that.
  func reportMissingFeatures() {
    for feature in missingFeatures { CommandFailure.report(feature.loss) }
  }
}
