#pragma once
// What a server's context answers in handshakes: tickets, certificates by name, responses about them. Most of it
// OpenSSL offers as macros only, which Swift cannot call.
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdint.h>
#include <string.h>

/// Ciphers of TLS 1.2 with forward secrecy and authenticated encryption, and no others; those of TLS 1.3 are all such.
static inline int copenssl_set_strong_ciphers(SSL_CTX *context) {
  return SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
}

/// Has OpenSSL keep no sessions: clients resume them with tickets, which they keep themselves, for so many seconds.
static inline int copenssl_keep_no_sessions(SSL_CTX *context, long seconds) {
  static const unsigned char name[] = "fanfare";
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, seconds);
  // Without a name of their own, sessions of clients with certificates cannot be resumed, and trying is an error.
  return SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
}

typedef int (*copenssl_ticket_callback)(SSL *, unsigned char *, unsigned char *, EVP_CIPHER_CTX *, EVP_MAC_CTX *, int);

static inline void copenssl_set_ticket_callback(SSL_CTX *context, copenssl_ticket_callback callback) {
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, callback);
}

static inline void copenssl_set_name_callback(SSL_CTX *context, int (*callback)(SSL *, int *, void *)) {
  SSL_CTX_set_tlsext_servername_callback(context, callback);
}

static inline void copenssl_set_status_callback(SSL_CTX *context, int (*callback)(SSL *, void *)) {
  SSL_CTX_set_tlsext_status_cb(context, callback);
}

/// The name that the client asks for; NULL where it asks for none.
static inline const char *copenssl_asked_name(SSL *ssl) { return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name); }

/// Gives the client a copy of a response about the certificate. Returns 1, or 0 where memory is out.
static inline int copenssl_staple(SSL *ssl, const uint8_t *bytes, size_t count) {
  uint8_t *copy = (uint8_t *)OPENSSL_memdup(bytes, count);
  if (copy == NULL) return 0;
  if (SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)count) == 1) return 1;
  OPENSSL_free(copy);
  return 0;
}

/// Asks clients for a certificate, and accepts those that stand in the file or that one of these has signed. Returns 1,
/// or 0 where the file cannot be read.
/// - is_required: whether a client without a certificate is refused.
static inline int copenssl_ask_clients(SSL_CTX *context, const char *path, int is_required) {
  STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);
  if (names == NULL) return 0;
  SSL_CTX_set_client_CA_list(context, names);
  if (SSL_CTX_load_verify_locations(context, path, NULL) != 1) return 0;
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (is_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
  return 1;
}

/// The keys of tickets for some time.
struct copenssl_ticket_key {
  uint8_t name[16];
  uint8_t cipher[32];
  uint8_t mac[32];
};

/// Keys the ciphers with which OpenSSL seals or opens a ticket. Returns 1, or 0 where it fails.
static inline int copenssl_use_ticket_key(
    const struct copenssl_ticket_key *key, const uint8_t *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals) {
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key->mac, sizeof key->mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv, seals) == 1 &&
         EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

static inline void copenssl_forget_ticket_key(struct copenssl_ticket_key *key) { OPENSSL_cleanse(key, sizeof *key); }
