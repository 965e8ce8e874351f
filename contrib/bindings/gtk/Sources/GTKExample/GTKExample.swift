import CGTK
import Foundation
import Netwatch
import NetwatchGTK
import NetwatchHTTP
import NetwatchNetlink

/// A feed with pictures. `harness/server.py` is a server for it.
///
///     python3 harness/server.py & swift run GTKExample http://127.0.0.1:8000/
@main @MainActor final class GTKExample {
  private struct Item: Decodable, Sendable {
    let title: String
    let text: String
    let picture: String
  }

  private let session: HTTPSessionManager
  private let pictures: Picture.Pictures
  private var items: [Item] = []
  private lazy var spinner = Spinner()
  private lazy var button = RefreshButton("Load the feed again") { [weak self] in await self?.load() }
  private lazy var list = ListView(count: 0) { [pictures] in
    FeedRow(pictures)
  } show: { [weak self] row, place in
    if let item = self?.items[place] { row.show(item.title, item.text, item.picture) }
  } hide: { row in
    row.picture.show(nil)
  }

  static func main() {
    guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
      print("Usage: GTKExample URL")
      exit(64)
    }
    var feed: GTKExample?
    let status = Application.run("org.example.Feed") { application in
      do { feed = try GTKExample(application, url) } catch { print("\(error)") }
    }
    exit(withExtendedLifetime(feed) { status })
  }

  private init(_ application: Application, _ url: URL) throws {
    let indicator = ActivityIndicator()
    session = try HTTPSessionManager(baseURL: url, observer: indicator)
    pictures = Downloader(session: session, as: ImageResponseSerializer())
    let banner = NetworkBanner(try NetworkMonitor.start())
    spinner.follow(indicator)
    application.openWindow("Feed", width: 420, height: 460, header: [button, spinner], [banner, list])
    button.refresh()
  }

  /// Loads the feed. If that fails, what was there stays.
  private func load() async {
    guard let feed = try? await session.send("feed.json", as: [Item].self).value else { return }
    list.count = 0
    items = feed
    list.count = feed.count
  }
}

/// A row: a picture, a title and a line beneath it.
@safe final class FeedRow: Widget {
  let picture: Picture
  private let title: UnsafeMutablePointer<GtkWidget>
  private let text: UnsafeMutablePointer<GtkWidget>

  init(_ pictures: Picture.Pictures) {
    picture = Picture(pictures, "The picture of the row", size: 56)
    unsafe title = gtk_label_new(nil)
    unsafe text = gtk_label_new(nil)
    unsafe super.init(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12))
    let column: UnsafeMutablePointer<GtkWidget> = unsafe gtk_box_new(GTK_ORIENTATION_VERTICAL, 4)
    unsafe gtk_widget_set_valign(column, GTK_ALIGN_CENTER)
    let place = unsafe UnsafeMutableRawPointer(column).assumingMemoryBound(to: GtkBox.self)
    unsafe gtk_label_set_xalign(OpaquePointer(title), 0)
    unsafe gtk_label_set_xalign(OpaquePointer(text), 0)
    unsafe gtk_box_append(place, title)
    unsafe gtk_box_append(place, text)
    unsafe gtk_widget_add_css_class(title, "heading")
    unsafe gtk_widget_add_css_class(text, "dim-label")
    let box = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GtkBox.self)
    unsafe gtk_box_append(box, picture.pointer)
    unsafe gtk_box_append(box, column)
  }

  func show(_ title: String, _ text: String, _ picture: String) {
    unsafe gtk_label_set_text(OpaquePointer(self.title), title)
    unsafe gtk_label_set_text(OpaquePointer(self.text), text)
    self.picture.show(picture)
  }
}
