import CGTK
import Netwatch

/// A banner that says why the network is gone, and has a button for the login page of a captive portal. It is shown only while nothing is
/// reachable, or a login is needed.
@MainActor @safe public final class NetworkBanner: Widget {
  private let label: UnsafeMutablePointer<GtkWidget>
  private let button: UnsafeMutablePointer<GtkWidget>
  private var subscription: CallbackSubscription?
  private var page: PortalURL?

  /// Creates a banner that follows a monitor.
  ///
  /// - Parameters:
  ///   - monitor: The monitor. Only with a probe, or with the answers of the network's portal, does it know of login pages.
  ///   - target: What the monitor judges the way to. Default: the internet.
  public init(_ monitor: NetworkMonitor, about target: NetworkTarget = .internet) {
    unsafe label = gtk_inscription_new(nil)
    unsafe button = gtk_button_new_with_label("Log In…")
    unsafe super.init(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12))
    unsafe gtk_widget_add_css_class(pointer, "app-notification")
    unsafe gtk_widget_set_hexpand(label, 1)
    unsafe gtk_inscription_set_xalign(OpaquePointer(label), 0)
    unsafe gtk_inscription_set_min_lines(OpaquePointer(label), 2)
    unsafe gtk_inscription_set_text_overflow(OpaquePointer(label), GTK_INSCRIPTION_OVERFLOW_ELLIPSIZE_END)
    unsafe gtk_box_append(pointer.cast(), gtk_image_new_from_icon_name("network-offline-symbolic"))
    unsafe gtk_box_append(pointer.cast(), label)
    unsafe gtk_box_append(pointer.cast(), button)
    name("Network")
    unsafe connect(button, "clicked") { [weak self] _ in self?.openPage() }
    subscription = monitor.onChange { [weak self] in self?.show($0, about: target) }
  }

  /// The sentence that is shown; nil while the network is there.
  public private(set) var sentence: String?

  private func show(_ path: NetworkPath, about target: NetworkTarget) {
    let portal = path.announcements?.captivePortal
    page = portal?.isCaptive == true ? portal?.loginPage ?? path.portal : path.portal
    sentence = path.isReachable && page == nil ? nil : path.sentence(about: target)
    if let sentence {
      unsafe gtk_inscription_set_text(OpaquePointer(label), sentence)
      // A narrow window does not show all of it.
      unsafe gtk_widget_set_tooltip_text(label, sentence)
    }
    unsafe gtk_widget_set_visible(button, page == nil ? 0 : 1)
    isVisible = sentence != nil
  }

  private func openPage() {
    guard let page else { return }
    unsafe gtk_show_uri(nil, page.description, 0)
  }
}
