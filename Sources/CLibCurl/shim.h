/* libcurl. Its options are set and read by variadic functions, which Swift cannot call: here is a typed one for each kind
   of argument, without logic. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

static inline CURLcode netwatch_curl_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode netwatch_curl_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}
/* The string is copied. */
static inline CURLcode netwatch_curl_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode netwatch_curl_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value) {
  return curl_easy_setopt(easy, option, value);
}
/* For CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION, which share a type. */
static inline CURLcode netwatch_curl_set_data_callback(
    CURL *_Nonnull easy, CURLoption option, curl_write_callback _Nonnull value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode netwatch_curl_set_seek_callback(CURL *_Nonnull easy, curl_seek_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}
static inline CURLcode netwatch_curl_set_open_callback(CURL *_Nonnull easy, curl_opensocket_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}
static inline CURLcode netwatch_curl_set_close_callback(CURL *_Nonnull easy, curl_closesocket_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}
static inline CURLcode netwatch_curl_set_resolver_start_callback(
    CURL *_Nonnull easy, curl_resolver_start_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, value);
}
static inline CURLcode netwatch_curl_set_socket_option_callback(
    CURL *_Nonnull easy, curl_sockopt_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, value);
}
static inline CURLcode netwatch_curl_set_request_callback(
    CURL *_Nonnull easy, curl_prereq_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode netwatch_curl_set_debug_callback(CURL *_Nonnull easy, curl_debug_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, value);
}
static inline CURLcode netwatch_curl_set_progress_callback(
    CURL *_Nonnull easy, curl_xferinfo_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, value);
}
static inline const struct sockaddr *_Nonnull netwatch_curl_address(const struct curl_sockaddr *_Nonnull address) {
  return &address->addr;
}
static inline CURLcode netwatch_curl_set_ssl_callback(CURL *_Nonnull easy, curl_ssl_ctx_callback _Nonnull value) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}

static inline CURLcode netwatch_curl_get_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode netwatch_curl_get_offset(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
  return curl_easy_getinfo(easy, info, value);
}
/* The string lives as long as the handle does nothing else. */
static inline const char *_Nullable netwatch_curl_get_string(CURL *_Nonnull easy, CURLINFO info) {
  char *value = NULL;
  curl_easy_getinfo(easy, info, &value);
  return value;
}
static inline void *_Nullable netwatch_curl_get_private(CURL *_Nonnull easy) {
  char *value = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
  return value;
}
/* The socket of the last connection; negative if it is closed. */
static inline curl_socket_t netwatch_curl_get_socket(CURL *_Nonnull easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket);
  return socket;
}
/* OpenSSL's side of the connection that a transfer uses; NULL for none. */
static inline void *_Nullable netwatch_curl_get_tls(CURL *_Nonnull easy) {
  const struct curl_tlssessioninfo *info = NULL;
  curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info);
  return info ? info->internals : NULL;
}
static inline CURLMcode netwatch_curl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode netwatch_curl_multi_set_pointer(
    CURLM *_Nonnull multi, CURLMoption option, void *_Nullable value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode netwatch_curl_multi_set_socket_callback(
    CURLM *_Nonnull multi, curl_socket_callback _Nonnull value) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode netwatch_curl_multi_set_timer_callback(
    CURLM *_Nonnull multi, curl_multi_timer_callback _Nonnull value) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}

/* The path that libcurl was built with; NULL for none. */
static inline const char *_Nullable netwatch_curl_certificate_folder(void) {
  return curl_version_info(CURLVERSION_NOW)->capath;
}
/* The bundle that libcurl was built with; NULL for none. */
static inline const char *_Nullable netwatch_curl_certificate_file(void) {
  return curl_version_info(CURLVERSION_NOW)->cainfo;
}
/* 0x075801 is 7.88.1. */
static inline unsigned int netwatch_curl_version(void) { return curl_version_info(CURLVERSION_NOW)->version_num; }
/* CURL_VERSION_*. */
static inline int netwatch_curl_features(void) { return curl_version_info(CURLVERSION_NOW)->features; }

/* Macros with a cast in them do not reach Swift. */
static const unsigned long netwatch_curl_auth_basic = CURLAUTH_BASIC;
static const unsigned long netwatch_curl_auth_negotiate = CURLAUTH_NEGOTIATE;
static const unsigned long netwatch_curl_auth_digest = CURLAUTH_DIGEST;
static const size_t netwatch_curl_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t netwatch_curl_read_pause = CURL_READFUNC_PAUSE;
static const size_t netwatch_curl_read_abort = CURL_READFUNC_ABORT;
