import CGTK

/// A list of many rows. Only those on the screen and some around them exist; one that leaves the screen is used again for another place.
///
/// ```swift
/// let feed = ListView(count: 10_000) {
///   Picture(pictures, "A picture")
/// } show: { picture, place in
///   picture.show("pictures/\(place).png")
/// } hide: { picture in
///   picture.show(nil)
/// }
/// ```
@MainActor @safe public final class ListView<Row: Widget>: Widget {
  private let places: OpaquePointer
  private var rows: [OpaquePointer: Row] = unsafe [:]

  /// The places that rows show now, in no order.
  public var shown: [(row: Row, place: Int)] {
    unsafe rows.compactMap { item, row in
      let place = unsafe gtk_list_item_get_position(item)
      return place == GTK_INVALID_LIST_POSITION ? nil : (row, Int(place))
    }
  }

  /// Creates a list.
  ///
  /// - Parameters:
  ///   - count: The number of places.
  ///   - make: Makes a row.
  ///   - show: Has a row show a place, from 0.
  ///   - hide: Called when a row leaves its place. It cancels what is still under way for it.
  public init(
    count: Int, make: @escaping @MainActor () -> Row, show: @escaping @MainActor (Row, Int) -> Void,
    hide: @escaping @MainActor (Row) -> Void
  ) {
    unsafe places = gtk_string_list_new(nil)
    let factory: OpaquePointer = unsafe gtk_signal_list_item_factory_new()
    let emitter = unsafe UnsafeMutableRawPointer(factory)
    unsafe super.init(gtk_scrolled_window_new())
    let list: UnsafeMutablePointer<GtkWidget> = unsafe gtk_list_view_new(gtk_no_selection_new(places), factory)
    unsafe gtk_scrolled_window_set_child(OpaquePointer(pointer), list)
    unsafe gtk_widget_set_vexpand(pointer, 1)
    unsafe connect(emitter, "setup") { [weak self] item in
      let row = make()
      unsafe self?.rows[item] = row
      unsafe gtk_list_item_set_child(item, row.pointer)
    }
    unsafe connect(emitter, "bind") { [weak self] item in
      guard let row = unsafe self?.rows[item] else { return }
      unsafe show(row, Int(gtk_list_item_get_position(item)))
    }
    unsafe connect(emitter, "unbind") { [weak self] item in if let row = unsafe self?.rows[item] { hide(row) } }
    unsafe connect(emitter, "teardown") { [weak self] item in unsafe self?.rows[item] = nil }
    self.count = count
  }

  /// The number of places.
  public var count: Int {
    get { unsafe Int(g_list_model_get_n_items(places)) }
    set {
      let (old, new) = (count, max(0, min(newValue, Int(Int32.max))))
      if new > old {
        for _ in old..<new { unsafe gtk_string_list_append(places, "") }
      } else {
        unsafe gtk_string_list_splice(places, guint(new), guint(old - new), nil)
      }
    }
  }

  /// Moves the list.
  ///
  /// - Parameter part: How far, from 0 for the first place to 1 for the last one.
  public func scroll(to part: Double) {
    let adjustment = unsafe gtk_scrolled_window_get_vadjustment(OpaquePointer(pointer))
    unsafe gtk_adjustment_set_value(
      adjustment, part * (gtk_adjustment_get_upper(adjustment) - gtk_adjustment_get_page_size(adjustment)))
  }
}
