/// A receipt for one call of a ``Downloader`` with a completion. With it, you can cancel that call.
public struct DownloadReceipt: Hashable, Sendable {
  let number: UInt64
}
