import CLibOpenSSL

/// A stack of OpenSSL objects: certificates or revocation lists. It never leaves this folder.
@safe final class OpenSSLStack {
  let pointer: OpaquePointer
  /// The owners of the objects in the stack.
  private let owners: [AnyObject]

  private init(_ owners: [AnyObject], _ objects: [OpaquePointer]) throws(HTTPError) {
    self.owners = owners
    guard let pointer = unsafe OPENSSL_sk_new_null() else { throw HTTPError(.badSecurityPolicy, "OPENSSL_sk_new_null") }
    unsafe self.pointer = pointer
    unsafe objects.forEach { unsafe OPENSSL_sk_push(pointer, UnsafeRawPointer($0)) }
  }

  convenience init(_ certificates: [Certificate]) throws(HTTPError) {
    let handles = certificates.compactMap { CertificateHandle(der: $0.der) }
    try unsafe self.init(handles, handles.map { unsafe $0.pointer })
  }

  convenience init(_ lists: [RevocationList]) throws(HTTPError) {
    let handles = lists.compactMap { RevocationListHandle(der: $0.der) }
    try unsafe self.init(handles, handles.map { unsafe $0.pointer })
  }

  deinit { unsafe OPENSSL_sk_free(pointer) }
}
