import CGTK
import Foundation
import HTTPTypes
import NetwatchHTTP

/// A picture from a URL. Until it has arrived, and if it does not, a placeholder is shown.
///
/// A row of a list that is used again calls ``show(_:)`` with another request: the download before is cancelled, and its picture is
/// never shown, however late it comes. Equal requests of several pictures share one transfer, and the downloader's cache answers at
/// once. Pictures are decoded on a thread of the downloader, not on the main thread.
@MainActor @safe public final class Picture: Widget {
  /// A downloader of pictures, which many pictures share.
  public typealias Pictures = Downloader<ImageResponseSerializer>

  private let downloader: Pictures
  private let placeholder: String
  private var receipt: DownloadReceipt?
  /// The number of the last request. An answer to an older one is late.
  private var number = 0

  /// Creates a picture that shows its placeholder.
  ///
  /// - Parameters:
  ///   - downloader: The downloader.
  ///   - description: What assistive technology says of it.
  ///   - size: The longer side in pixels. Default: 64.
  ///   - placeholder: The name of an icon. Default: image-missing-symbolic.
  public init(
    _ downloader: Pictures, _ description: String, size: Int32 = 64, placeholder: String = "image-missing-symbolic"
  ) {
    self.downloader = downloader
    self.placeholder = placeholder
    unsafe super.init(gtk_image_new_from_icon_name(placeholder))
    unsafe gtk_image_set_pixel_size(OpaquePointer(pointer), size)
    name(description)
  }

  isolated deinit { if let receipt { downloader.cancel(receipt) } }

  /// Whether the picture of the last request is shown.
  public private(set) var isShown = false

  /// Shows the picture of a request as soon as it has arrived, and the placeholder until then.
  ///
  /// - Parameter request: The request: a URL, or what else a session takes. Nil only shows the placeholder.
  public func show(_ request: (any RequestConvertible)?) {
    if let receipt { downloader.cancel(receipt) }
    number += 1
    (receipt, isShown) = (nil, false)
    unsafe gtk_image_set_from_icon_name(OpaquePointer(pointer), placeholder)
    guard let request else { return }
    receipt = downloader.download(request) { [weak self, number] result in
      guard case .success(let reply) = result, let texture = Texture(reply.value.data) else { return }
      Task { @MainActor in self?.show(texture, of: number) }
    }
  }

  private func show(_ texture: Texture, of request: Int) {
    guard request == number else { return }
    receipt = nil
    isShown = true
    unsafe gtk_image_set_from_paintable(OpaquePointer(pointer), texture.pointer)
  }

  /// A decoded picture.
  @safe private final class Texture: @unchecked Sendable {
    // A texture is never changed, and GTK may make and release it on any thread.
    let pointer: OpaquePointer

    /// Nil if no decoder of GTK knows the data.
    init?(_ data: Data) {
      let made = unsafe data.withUnsafeBytes { data -> OpaquePointer? in
        let bytes = unsafe g_bytes_new(data.baseAddress, gsize(data.count))
        defer { unsafe g_bytes_unref(bytes) }
        var error: UnsafeMutablePointer<GError>?
        defer { if let error = unsafe error { unsafe g_error_free(error) } }
        return unsafe gdk_texture_new_from_bytes(bytes, &error)
      }
      guard let made = unsafe made else { return nil }
      unsafe pointer = made
    }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(pointer)) }
  }
}
