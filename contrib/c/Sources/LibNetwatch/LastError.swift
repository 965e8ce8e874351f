import Glibc

/// The sentence about the last failure in each thread.
enum LastError {
  /// Nil where the system has no key left: then nobody hears a sentence, and the numbers of errors tell.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return unsafe pthread_key_create(&key) { unsafe free($0) } == 0 ? key : nil
  }()

  /// That of this thread; nil after a success.
  static var text: UnsafePointer<CChar>? {
    guard let key, let text = unsafe pthread_getspecific(key) else { return nil }
    return unsafe UnsafePointer(text.assumingMemoryBound(to: CChar.self))
  }

  static func set(_ sentence: String?) {
    guard let key else { return }
    let old = unsafe pthread_getspecific(key)
    if unsafe old == nil, sentence == nil { return }
    let new = unsafe sentence.flatMap { unsafe strdup($0) }
    unsafe pthread_setspecific(key, new)
    unsafe free(old)
  }
}
