/* OpenSSL, which libcurl speaks TLS with: certificates and how they are judged. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/* Macros with a call or a cast in them do not reach Swift. */
static const unsigned long netwatch_ssl_rfc2253 = XN_FLAG_RFC2253;
static const uint64_t netwatch_ssl_no_empty_fragments = SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS;
