#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "certificates.h"
#include "keys.h"
#include "port.h"
#include "records.h"
#include "server.h"

// What OpenSSL offers as macros only, which Swift cannot call.

static inline int copenssl_set_minimum_tls12(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

/// Has OpenSSL give back the buffers of an idle connection, and lets a write be tried again from other memory.
static inline void copenssl_set_modes(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static inline void copenssl_set_options(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
}

static inline int copenssl_set_server_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name); }
