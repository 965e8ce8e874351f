import Glibc

extension HTTPHelper {
  /// Asks the system's loader, as ldd does, whether it has what the helper is linked to: once the helper has been begun without
  /// it, nobody could say anything in our words. It takes some milliseconds, and runs nothing of the helper.
  ///
  /// - Throws: the name of a library that is missing.
  static func checkLibraries(of program: String) throws(CommandFailure) {
    guard let (list, ending) = run(program, with: "LD_TRACE_LOADED_OBJECTS=1") else { return }
    guard ending == .exited(0) else { throw CommandFailure("\(name) can not be started, for the reason above") }
    // `	libcurl.so.4 => not found`
    guard let missing = list.split(separator: "\n").first(where: { $0.hasSuffix(" => not found") }) else { return }
    let library = missing.drop { $0 == "\t" || $0 == " " }.prefix { $0 != " " }
    throw CommandFailure(
      "\(name) can not be started without \(library); install it (the package of libcurl.so.4 is libcurl4 on Debian)")
  }

  /// What a program prints on its standard output, and its end; nil where it could not be started.
  private static func run(_ program: String, with variable: String) -> (output: String, ChildProcess.Ending)? {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    defer { close(ends[0]) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    var process = pid_t()
    // Or there would be nothing to wait for.
    signal(SIGCHLD, SIG_DFL)
    let code = unsafe CStrings.withArray([program]) { arguments in
      unsafe CStrings.withArray(CStrings.environment + [variable]) { environment in
        unsafe posix_spawn(&process, program, &actions, nil, arguments, environment)
      }
    }
    close(ends[1])
    guard code == 0 else { return nil }
    var text: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe read(ends[0], &room, room.count)
      guard count > 0 else { break }
      text += room[..<count]
    }
    return ChildProcess.waitForEnd(of: process).map { (String(decoding: text, as: UTF8.self), $0) }
  }
}
