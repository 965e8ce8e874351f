/* OpenSSL, which libcurl speaks TLS with: certificates and how they are judged. No code. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
