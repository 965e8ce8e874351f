/// Stands for one completion of a ``Downloader``.
public struct DownloadReceipt: Hashable, Sendable {
  let number: UInt64
}
