import CLinux
import Glibc
import NetwatchTestSupport
import Testing

/// The output of a child process, which is read from a pipe.
///
/// The bytes are read as they come, even if the test does not ask for a line. So a child never waits for room in a pipe
/// while the test waits for something else.
///
/// The class is unchecked because two threads use it, the test's and that of `PipeReading`. Its variables are used only
/// while the mutex is locked.
@safe final class ChildOutput: @unchecked Sendable {
  private var descriptor: CInt
  private var buffer: [UInt8] = []
  /// The number of bytes at the beginning of the buffer that belong to lines that were taken.
  private var taken = 0
  private var isOver = false
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let hasNews = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var id: UInt64?

  /// - Parameter descriptor: The end of the pipe to read from. The object closes it at the end of the output, or when
  ///   the object is released.
  init(_ descriptor: CInt) throws {
    self.descriptor = descriptor
    unsafe pthread_mutex_init(mutex, nil)
    // A wait uses the monotonic clock, because a test may set the other clock, that of the time of day.
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(hasNews, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
    try withLock { id = try PipeReading.shared.add(self, descriptor) }
  }

  deinit {
    close()
    unsafe pthread_cond_destroy(hasNews)
    unsafe pthread_mutex_destroy(mutex)
    unsafe hasNews.deallocate()
    unsafe mutex.deallocate()
  }

  private func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Closes the pipe. Lines that came before can still be taken.
  func close() { withLock { end() } }

  private func end() {
    isOver = true
    guard descriptor >= 0 else { return }
    if let id { PipeReading.shared.remove(id, descriptor) }
    Glibc.close(descriptor)
    descriptor = -1
    unsafe pthread_cond_broadcast(hasNews)
  }

  /// Reads the bytes that the pipe holds. Only the thread of `PipeReading` calls this function.
  fileprivate func readWhatHasCome() {
    withLock {
      guard descriptor >= 0 else { return }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe read(descriptor, &bytes, bytes.count)
      if count < 0, errno == EINTR || errno == EAGAIN { return }
      guard count > 0 else { return end() }
      buffer += bytes[..<count]
      unsafe pthread_cond_broadcast(hasNews)
    }
  }

  // MARK: Lines

  /// Whether a complete line has come that was not taken.
  var hasLine: Bool { withLock { endOfLine != nil } }

  /// The output that has come and was not taken.
  var rest: String { withLock { String(decoding: buffer[taken...], as: UTF8.self) } }

  private var endOfLine: Int? { buffer[taken...].firstIndex(of: UInt8(ascii: "\n")) }

  /// Waits for a line, takes it and returns it. Returns nil at the end of the output.
  ///
  /// - Throws: The `TestFailure` that `failure` returns, if no line has come by the deadline.
  func next(until deadline: Deadline, orThrow failure: () -> TestFailure) throws -> String? {
    let line: String?? = withLock {
      while true {
        if let end = endOfLine {
          defer {
            taken = end + 1
            if taken == buffer.count || taken > 1 << 20 {
              buffer.removeSubrange(..<taken)
              taken = 0
            }
          }
          return .some(String(decoding: buffer[taken..<end], as: UTF8.self))
        }
        if isOver { return .some(nil) }
        guard !deadline.isOver else { return nil }
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let nanoseconds = time.tv_nsec + Int(deadline.milliseconds) * 1_000_000
        time.tv_sec += nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
        unsafe pthread_cond_timedwait(hasNews, mutex, &time)
      }
    }
    guard let line else { throw failure() }
    return line
  }
}

/// The one thread that reads the pipes of all children.
///
/// The class is unchecked because all threads use it. Its variables are used only while the mutex is locked.
@safe private final class PipeReading: @unchecked Sendable {
  private struct Entry { weak var reader: ChildOutput? }

  static let shared = PipeReading()

  private let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var readers: [UInt64: Entry] = [:]
  private var lastID: UInt64 = 0

  private init() {
    unsafe pthread_mutex_init(mutex, nil)
    var thread = pthread_t()
    unsafe pthread_create(
      &thread, nil,
      { _ in
        PipeReading.shared.run()
        return nil
      }, nil)
  }

  func add(_ reader: ChildOutput, _ descriptor: CInt) throws -> UInt64 {
    unsafe pthread_mutex_lock(mutex)
    lastID += 1
    let id = lastID
    readers[id] = Entry(reader: reader)
    unsafe pthread_mutex_unlock(mutex)
    var event = unsafe epoll_event()
    unsafe event.events = EPOLLIN.rawValue
    unsafe event.data.u64 = id
    guard unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
      let code = errno
      remove(id, descriptor)
      throw TestFailure("epoll_ctl: \(code)")
    }
    return id
  }

  func remove(_ id: UInt64, _ descriptor: CInt) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    unsafe pthread_mutex_lock(mutex)
    readers[id] = nil
    unsafe pthread_mutex_unlock(mutex)
  }

  private func run() {
    let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 64)
    while true {
      let count = unsafe epoll_wait(epoll, events.baseAddress, CInt(events.count), -1)
      for place in 0..<max(0, Int(count)) {
        unsafe pthread_mutex_lock(mutex)
        let reader = unsafe readers[events[place].data.u64]?.reader
        unsafe pthread_mutex_unlock(mutex)
        reader?.readWhatHasCome()
      }
    }
  }
}
