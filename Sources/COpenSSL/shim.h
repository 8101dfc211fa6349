#pragma once
#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// What OpenSSL offers as macros only, which Swift cannot call.

static inline int copenssl_set_minimum_tls12(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

/// Buffers of an idle connection are given back, and a write may be tried again from other memory.
static inline void copenssl_set_modes(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static inline void copenssl_set_options(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
}

static inline int copenssl_set_server_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name); }

static inline size_t copenssl_pending(BIO *bio) { return BIO_ctrl_pending(bio); }

/// Bytes that a memory BIO holds memory for.
static inline size_t copenssl_capacity(BIO *bio) {
  BUF_MEM *memory = NULL;
  BIO_get_mem_ptr(bio, &memory);
  return memory == NULL ? 0 : memory->max;
}

/// Gives the memory of an empty memory BIO back: by itself it keeps as much as it ever needed.
static inline void copenssl_shrink(BIO *bio) {
  if (BIO_ctrl_pending(bio) > 0) return;
  BUF_MEM *empty = BUF_MEM_new();
  if (empty == NULL) return;
  if (BIO_set_mem_buf(bio, empty, BIO_CLOSE) != 1) BUF_MEM_free(empty);
}

/// An empty memory BIO means "later", not the end.
static inline void copenssl_set_retry_when_empty(BIO *bio) { BIO_set_mem_eof_return(bio, -1); }
