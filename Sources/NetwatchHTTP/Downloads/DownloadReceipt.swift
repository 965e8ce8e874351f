/// A receipt for one completion of a ``Downloader``, by which you can cancel it.
public struct DownloadReceipt: Hashable, Sendable {
  let number: UInt64
}
