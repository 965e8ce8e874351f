import CLibCurl
import Glibc

/// A recursive lock that libcurl also takes. The thread that has it may take it again.
@safe final class CurlLock {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  init() {
    var attributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&attributes)
    unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_RECURSIVE))
    unsafe pthread_mutex_init(mutex, &attributes)
    unsafe pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  func lock() { unsafe pthread_mutex_lock(mutex) }

  func unlock() { unsafe pthread_mutex_unlock(mutex) }

  /// Makes libcurl take the lock whenever transfers use what they share. The lock must outlive the share.
  func guards(_ share: UnsafeMutableRawPointer) -> Bool {
    let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      unsafe netwatch_curl_share_set_pointer(share, CURLSHOPT_USERDATA, pointer),
      unsafe netwatch_curl_share_set_lock(share) { _, _, _, pointer in
        if let pointer = unsafe pointer { unsafe CurlLock.at(pointer).lock() }
      },
      unsafe netwatch_curl_share_set_unlock(share) { _, _, pointer in
        if let pointer = unsafe pointer { unsafe CurlLock.at(pointer).unlock() }
      },
    ]
    return codes.allSatisfy { $0 == CURLSHE_OK }
  }

  private static func at(_ pointer: UnsafeMutableRawPointer) -> CurlLock {
    unsafe Unmanaged<CurlLock>.fromOpaque(pointer).takeUnretainedValue()
  }
}
