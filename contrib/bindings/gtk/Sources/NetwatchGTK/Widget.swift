import CGTK

/// A widget of GTK. Its parts belong to the main actor.
///
/// A widget is alive as long as this object or a container of GTK holds it. What it follows, it follows as long as this object lives.
@MainActor @safe open class Widget {
  /// The widget for functions of GTK, and for other bindings.
  public let pointer: UnsafeMutablePointer<GtkWidget>

  /// Creates an object for a widget of GTK, for widgets of your own.
  ///
  /// - Parameter pointer: A new widget, whose floating reference the object takes.
  public init(_ pointer: UnsafeMutablePointer<GtkWidget>) {
    unsafe self.pointer = pointer
    unsafe g_object_ref_sink(pointer)
  }

  isolated deinit { unsafe g_object_unref(pointer) }

  /// Whether the widget is shown. Default: true.
  public var isVisible: Bool {
    get { unsafe gtk_widget_get_visible(pointer) != 0 }
    set { unsafe gtk_widget_set_visible(pointer, newValue ? 1 : 0) }
  }

  /// Sets what assistive technology calls the widget.
  func name(_ text: String) {
    var value = GValue()
    unsafe g_value_init(&value, g_type_from_name("gchararray"))
    unsafe g_value_set_string(&value, text)
    var property = GTK_ACCESSIBLE_PROPERTY_LABEL
    unsafe gtk_accessible_update_property_value(OpaquePointer(pointer), 1, &property, &value)
    unsafe g_value_unset(&value)
  }
}

/// Calls `body` at each emission of a signal, as long as the emitter lives.
///
/// - Parameter body: Its argument is the first one of the signal that is an object; without any, the emitter.
@MainActor func connect(
  _ emitter: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor (OpaquePointer) -> Void
) {
  let handler = unsafe Unmanaged.passRetained(SignalHandler(body)).toOpaque()
  let call: @convention(c) (gpointer?, gpointer?) -> Void = { context, object in
    guard let context = unsafe context, let object = unsafe object else { return }
    let handler = unsafe Unmanaged<SignalHandler>.fromOpaque(context).takeUnretainedValue()
    nonisolated(unsafe) let found = OpaquePointer(object)
    MainActor.assumeIsolated { unsafe handler.body(found) }
  }
  unsafe g_signal_connect_data(
    emitter, signal, unsafeBitCast(call, to: GCallback.self), handler,
    { context, _ in if let context = unsafe context { unsafe Unmanaged<SignalHandler>.fromOpaque(context).release() } },
    G_CONNECT_SWAPPED)
}

@safe private final class SignalHandler: Sendable {
  let body: @MainActor (OpaquePointer) -> Void
  init(_ body: @escaping @MainActor (OpaquePointer) -> Void) { unsafe self.body = body }
}

extension UnsafeMutablePointer<GtkWidget> {
  /// The widget as one of its own kind, such as a box.
  func cast<Kind>() -> UnsafeMutablePointer<Kind> {
    unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: Kind.self)
  }
}
