import CGTK

/// A button that begins work, such as loading a list again, and shows a spinner until the work ends.
@MainActor @safe public final class RefreshButton: Widget {
  private let stack: UnsafeMutablePointer<GtkWidget>
  private let icon: UnsafeMutablePointer<GtkWidget>
  private let spinner: UnsafeMutablePointer<GtkWidget>
  private var work: Task<Void, Never>?
  private let body: @MainActor () async -> Void

  /// Creates a button.
  ///
  /// - Parameters:
  ///   - title: What assistive technology and the tooltip call it. Default: Refresh.
  ///   - body: The work. It is cancelled when the button's object is released.
  public init(_ title: String = "Refresh", body: @escaping @MainActor () async -> Void) {
    self.body = body
    unsafe stack = gtk_stack_new()
    unsafe icon = gtk_image_new_from_icon_name("view-refresh-symbolic")
    unsafe spinner = gtk_spinner_new()
    unsafe super.init(gtk_button_new())
    unsafe gtk_stack_add_child(OpaquePointer(stack), icon)
    unsafe gtk_stack_add_child(OpaquePointer(stack), spinner)
    // The button itself stays, so that it keeps the focus of the keyboard.
    unsafe gtk_button_set_child(pointer.cast(), stack)
    unsafe gtk_widget_set_tooltip_text(pointer, title)
    unsafe gtk_widget_set_halign(pointer, GTK_ALIGN_CENTER)
    name(title)
    unsafe connect(pointer, "clicked") { [weak self] _ in self?.refresh() }
  }

  isolated deinit { work?.cancel() }

  /// Whether the work is under way.
  public var isRefreshing: Bool { work != nil }

  /// Begins the work, as a click does. Does nothing while it is under way.
  public func refresh() {
    guard work == nil else { return }
    unsafe show(spinner)
    work = Task { [weak self, body] in
      await body()
      self?.end()
    }
  }

  private func end() {
    work = nil
    unsafe show(icon)
  }

  private func show(_ child: UnsafeMutablePointer<GtkWidget>) {
    unsafe gtk_spinner_set_spinning(OpaquePointer(spinner), child == spinner ? 1 : 0)
    unsafe gtk_stack_set_visible_child(OpaquePointer(stack), child)
  }
}
