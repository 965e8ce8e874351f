import NetwatchEventLoop

/// Looks at spools when something in them changes, by inotify. While the kernel has no room to watch all of them, it looks every five
/// seconds. Belongs to the thread of its loop.
final class SpoolWatch {
  /// How many times as long as a look took must pass before the next one, so that many changes cost little.
  private static let rest = 10
  /// The time after which it looks again at what could not be watched, or read.
  private static let interval = Duration.seconds(5)

  private let loop: EventLoop
  private let hearsProgress: Bool
  private let examine: () -> Bool
  private var watch: PathWatch?
  private var timer: LoopTimer?
  private var next = Duration.zero

  /// The folders in which every file matters. Set while looking, before the folders are read, so that no change is missed.
  var folders: [String] {
    didSet { watch?.folders = folders }
  }

  /// - Parameters:
  ///   - folders: The folders at the beginning.
  ///   - hearsProgress: Whether each write to a file counts, and not only a new file.
  ///   - examine: Looks at the spools, and returns whether all of them could be read. ``look()`` calls it.
  init(of folders: [String], hearsProgress: Bool, on loop: EventLoop, _ examine: @escaping () -> Bool) {
    (self.folders, self.hearsProgress, self.loop, self.examine) = (folders, hearsProgress, loop, examine)
    timer = LoopTimer(on: loop) { [unowned self] in look() }
  }

  /// Looks now, or when the last look is long enough ago.
  func look() {
    let began = loop.now
    guard began >= next else { return timer?.set(at: next) ?? () }
    if watch == nil {
      watch = try? PathWatch(
        of: [], folders: folders, hearsWrites: hearsProgress, hearsArrivalsOnly: !hearsProgress, on: loop
      ) { [unowned self] in look() }
    }
    timer?.stop()
    let isWhole = examine()
    next = loop.now + (loop.now - began) * Self.rest
    if !isWhole || watch?.isWhole != true { timer?.set(after: Self.interval) }
  }

  /// Looks at once, however short the last look is ago.
  func lookNow() {
    next = .zero
    look()
  }

  /// Ends the watch.
  func stop() { (watch, timer) = (nil, nil) }
}
