import Glibc
import Testing

@testable import NetwatchEventLoop

@Suite struct HandleTests {
  private final class Counter: @unchecked Sendable {
    // The properties are used only on the loop's thread.
    var total = 0
    var last = [Int](repeating: -1, count: 8)
    var isInOrder = true
  }

  @Test func `jobs of many threads all run, each thread's in its order`() async throws {
    let loop = try EventLoop()
    let handle = loop.handle
    let counter = Counter()
    async let submitted: Void = withTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          for number in 0..<500 {
            handle.submit { loop in
              counter.isInOrder = counter.isInOrder && counter.last[thread] == number - 1
              counter.last[thread] = number
              counter.total += 1
              if counter.total == 4_000 { loop.stop() }
            }
          }
        }
      }
    }
    await submitted
    try loop.run()
    #expect(counter.total == 4_000)
    #expect(counter.isInOrder)
  }

  @Test func `a job may submit another one`() throws {
    let loop = try EventLoop()
    let handle = loop.handle
    #expect(handle.submit { _ in handle.submit { $0.stop() } })
    try loop.run()
  }

  @Test func `what is submitted after the loop's end is dropped`() throws {
    let handle = try EventLoop().handle
    #expect(!handle.submit { _ in })
  }

  @Test func `jobs that never ran are released with the loop`() throws {
    final class Token: Sendable {}
    weak var weakToken: Token?
    var loop: EventLoop? = try EventLoop()
    let handle = try #require(loop?.handle)
    do {
      let token = Token()
      weakToken = token
      // A job that submits another job when it is released must not meet a held lock.
      handle.submit { [token] _ in _ = token }
    }
    #expect(weakToken != nil)
    loop = nil
    #expect(weakToken == nil)
  }

  // MARK: Background

  @Test func `a background loop gives what was prepared, and ends when it is told to`() async throws {
    let handle = try EventLoop.startInBackground(name: "netwatch-test") { loop in loop.handle }
    await withCheckedContinuation { continuation in
      handle.submit { loop in
        loop.stop()
        continuation.resume()
      }
    }
  }

  @Test func `the end of a background loop is told`() async throws {
    let error: SystemError? = await withCheckedContinuation { continuation in
      do {
        let handle = try EventLoop.startInBackground(
          name: "netwatch-test", ended: { continuation.resume(returning: $0) }, prepare: { loop in loop.handle })
        handle.submit { $0.stop() }
      } catch {
        continuation.resume(returning: SystemError(operation: "start", code: 0))
      }
    }
    #expect(error == nil)
  }

  @Test func `what fails while preparing is thrown`() {
    struct Refusal: Error, Equatable {}
    #expect(throws: Refusal()) {
      try EventLoop.startInBackground(name: "netwatch-test") { _ -> Int in throw Refusal() }
    }
  }

  @Test func `a background loop takes none of the program's signals, and has its name`() async throws {
    let handle = try EventLoop.startInBackground(name: "netwatch-test") { loop in loop.handle }
    let (isBlocked, name): (Bool, String) = await withCheckedContinuation { continuation in
      handle.submit { loop in
        var set = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
        let blocked = [SIGINT, SIGTERM, SIGCHLD, SIGUSR1].allSatisfy { unsafe sigismember(&set, $0) == 1 }
        let comm = FileDescriptor(owning: unsafe open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC))
        var text = [UInt8](repeating: 0, count: 32)
        let count = unsafe read(comm.rawValue, &text, text.count)
        let name = String(decoding: text.prefix(max(0, count - 1)), as: UTF8.self)
        loop.stop()
        continuation.resume(returning: (blocked, name))
      }
    }
    #expect(isBlocked)
    #expect(name == "netwatch-test")
  }

  @Test func `jobs that the loop's own thread submits run in their order, and nothing has to wake it`() throws {
    let order = try EventLoop.startInBackground(name: "test") { $0.handle }.call {
      (loop, answer: Promise<Result<[Int], any Error>>) in
      let ran = LoopBound(OwnJobs(), on: loop)
      for number in 0..<3 {
        loop.handle.submit { loop in
          ran.value(on: loop)?.numbers.append(number)
          guard number == 2 else { return }
          loop.handle.submit { loop in
            answer.fulfill(.success(ran.value(on: loop)?.numbers ?? []))
            loop.stop()
          }
        }
      }
    }
    #expect(order == [0, 1, 2])
  }
}

private final class OwnJobs { var numbers: [Int] = [] }
