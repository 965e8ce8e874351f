import Glibc

/// The sentence about the last failure in each thread.
enum LastError {
  /// The key of the sentence in each thread. Nil if the system has no key left: then callers get only the numbers of errors.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key) { unsafe free($0) } == 0 ? key : nil
  }()

  /// The sentence about the last failure in this thread. Nil if the last call in this thread has succeeded.
  static var text: UnsafePointer<CChar>? {
    guard let key, let text = unsafe pthread_getspecific(key) else { return nil }
    return unsafe UnsafePointer(text.assumingMemoryBound(to: CChar.self))
  }

  /// Stores the sentence about a failure in this thread. Nil after a success.
  static func set(_ sentence: String?) {
    guard let key else { return }
    let old = unsafe pthread_getspecific(key)
    if unsafe old == nil, sentence == nil { return }
    let new = unsafe sentence.flatMap { unsafe strdup($0) }
    unsafe pthread_setspecific(key, new)
    unsafe free(old)
  }
}
