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

  /// Calls `body` at each emission of a signal without arguments of a widget, as long as that widget lives.
  func connect(
    _ emitter: UnsafeMutablePointer<GtkWidget>, _ signal: String, _ body: @escaping @MainActor () -> Void
  ) {
    let box = unsafe Unmanaged.passRetained(Handler(body)).toOpaque()
    let call: @convention(c) (gpointer?, gpointer?) -> Void = { _, context in
      guard let context = unsafe context else { return }
      let handler = unsafe Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
      MainActor.assumeIsolated { handler.body() }
    }
    unsafe g_signal_connect_data(
      emitter, signal, unsafeBitCast(call, to: GCallback.self), box,
      { context, _ in if let context = unsafe context { unsafe Unmanaged<Handler>.fromOpaque(context).release() } },
      GConnectFlags(0))
  }

  /// Calls `body` at each emission of a signal with one object of an object, as long as that object lives.
  func connect(to emitter: OpaquePointer, _ signal: String, _ body: @escaping @MainActor (OpaquePointer) -> Void) {
    let box = unsafe Unmanaged.passRetained(ObjectHandler(body)).toOpaque()
    let call: @convention(c) (gpointer?, gpointer?, gpointer?) -> Void = { _, object, context in
      guard let context = unsafe context, let object = unsafe object else { return }
      let handler = unsafe Unmanaged<ObjectHandler>.fromOpaque(context).takeUnretainedValue()
      nonisolated(unsafe) let found = OpaquePointer(object)
      MainActor.assumeIsolated { unsafe handler.body(found) }
    }
    unsafe g_signal_connect_data(
      UnsafeMutableRawPointer(emitter), signal, unsafeBitCast(call, to: GCallback.self), box,
      { context, _ in if let context = unsafe context { unsafe Unmanaged<ObjectHandler>.fromOpaque(context).release() }
      },
      GConnectFlags(0))
  }

  @safe private final class ObjectHandler: Sendable {
    let body: @MainActor (OpaquePointer) -> Void
    init(_ body: @escaping @MainActor (OpaquePointer) -> Void) { unsafe self.body = body }
  }

  private final class Handler: Sendable {
    let body: @MainActor () -> Void
    init(_ body: @escaping @MainActor () -> Void) { self.body = body }
  }
}

extension UnsafeMutablePointer<GtkWidget> {
  /// The widget as one of its own kind, such as a box.
  func cast<Kind>() -> UnsafeMutablePointer<Kind> {
    unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: Kind.self)
  }
}
