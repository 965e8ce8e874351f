import CGTK

/// A program of GTK whose main actor runs in GTK's main loop.
@MainActor @safe public final class Application {
  private let application: UnsafeMutablePointer<GtkApplication>
  private let activated: @MainActor (Application) -> Void
  private var widgets: [Widget] = []

  /// Runs a program, and returns its exit status when its last window is closed.
  ///
  /// - Parameters:
  ///   - id: The name of the program, such as `org.example.Feed`.
  ///   - activated: Called once. It opens a window; without one, the program ends.
  public static func run(_ id: String, activated: @escaping @MainActor (Application) -> Void) -> Int32 {
    MainQueue.join()
    let application = Application(id, activated)
    unsafe connect(application.application, "activate") { [weak application] _ in
      if let application { application.activated(application) }
    }
    return withExtendedLifetime(application) {
      unsafe g_application_run(
        UnsafeMutableRawPointer(application.application).assumingMemoryBound(to: GApplication.self), 0, nil)
    }
  }

  private init(_ id: String, _ activated: @escaping @MainActor (Application) -> Void) {
    self.activated = activated
    // Each start is a process of its own.
    unsafe application = gtk_application_new(id, G_APPLICATION_NON_UNIQUE)
  }

  isolated deinit { unsafe g_object_unref(application) }

  /// Opens a window with widgets one beneath the other. The application holds them, so they go on following what they follow.
  ///
  /// - Parameters:
  ///   - title: The title.
  ///   - width: The width in pixels. Default: 480.
  ///   - height: The height in pixels. Default: 360.
  ///   - header: The widgets at the end of the title bar, from right to left. Default: none.
  ///   - widgets: The widgets, from top to bottom.
  public func openWindow(
    _ title: String, width: Int32 = 480, height: Int32 = 360, header: [Widget] = [], _ widgets: [Widget]
  ) {
    self.widgets += header + widgets
    let window: UnsafeMutablePointer<GtkWindow> = unsafe gtk_application_window_new(application).cast()
    unsafe gtk_window_set_title(window, title)
    unsafe gtk_window_set_default_size(window, width, height)
    let column: UnsafeMutablePointer<GtkWidget> = unsafe gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)
    for widget in widgets { unsafe gtk_box_append(column.cast(), widget.pointer) }
    unsafe gtk_window_set_child(window, column)
    if !header.isEmpty {
      let bar: UnsafeMutablePointer<GtkWidget> = unsafe gtk_header_bar_new()
      for widget in header { unsafe gtk_header_bar_pack_end(OpaquePointer(bar), widget.pointer) }
      unsafe gtk_window_set_titlebar(window, bar)
    }
    unsafe gtk_window_present(window)
  }
}
