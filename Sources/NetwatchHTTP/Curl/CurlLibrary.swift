import CLibCurl
import CLibOpenSSL

/// libcurl as a whole.
enum CurlLibrary {
  /// Once a process; safe from any thread, in libcurl as well as in Swift.
  private static let status =
    CertificateHandle.libraryIsStarted ? curl_global_init(Int(CURL_GLOBAL_DEFAULT)) : CURLE_FAILED_INIT

  static func start() throws(HTTPError) {
    guard status == CURLE_OK else { throw HTTPError(status, "curl_global_init") }
  }

  /// The folder of certificates that libcurl was built to trust, beside its bundle; nil for none.
  private static let certificateFolder = unsafe netwatch_curl_certificate_folder().map { unsafe String(cString: $0) }

  /// Has a context look there for the certificates that its bundle lacks, each when it is needed. Twice does no harm.
  static func addCertificateFolder(to context: OpaquePointer) {
    guard let folder = certificateFolder, let store = unsafe SSL_CTX_get_cert_store(context),
      let lookup = unsafe X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir())
    else { return }
    unsafe X509_LOOKUP_ctrl(lookup, CInt(X509_L_ADD_DIR), folder, Int(X509_FILETYPE_PEM), nil)
  }
}
