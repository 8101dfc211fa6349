#pragma once
// Certificates: the names in one, a response about one (OCSP), and one of our own making.
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdint.h>

/// The names that the certificate is for, to be freed with `copenssl_free_names`; NULL where it has none.
static inline GENERAL_NAMES *copenssl_names(X509 *certificate) {
  return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}

static inline void copenssl_free_names(GENERAL_NAMES *names) { GENERAL_NAMES_free(names); }

static inline int copenssl_name_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }

/// The bytes of one of the names where that is a DNS name; NULL where it is an address or something else.
static inline const uint8_t *copenssl_dns_name(const GENERAL_NAMES *names, int index, size_t *count) {
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  if (name == NULL || name->type != GEN_DNS || ASN1_STRING_length(name->d.dNSName) < 0) return NULL;
  *count = (size_t)ASN1_STRING_length(name->d.dNSName);
  return ASN1_STRING_get0_data(name->d.dNSName);
}

/// Seconds since 1970; 0 where the time cannot be read.
static inline int64_t copenssl_seconds(const ASN1_TIME *time) {
  int days = 0, seconds = 0;
  ASN1_TIME *start = ASN1_TIME_set(NULL, 0);
  int is_read = start != NULL && time != NULL && ASN1_TIME_diff(&days, &seconds, start, time) == 1;
  ASN1_TIME_free(start);
  return is_read ? (int64_t)days * 86400 + seconds : 0;
}

// MARK: OCSP

enum copenssl_response {
  COPENSSL_RESPONSE_GOOD,
  COPENSSL_RESPONSE_UNREADABLE,
  /// The responder says that it could not answer.
  COPENSSL_RESPONSE_FAILURE,
  COPENSSL_RESPONSE_OF_ANOTHER,
  COPENSSL_RESPONSE_NOT_GOOD,
  /// It does not say until when it holds.
  COPENSSL_RESPONSE_WITHOUT_END,
  COPENSSL_RESPONSE_FORGED,
};

/// Whether those who issue the certificate have signed the response: they themselves, or whom they have appointed.
static inline int copenssl_is_signed(OCSP_BASICRESP *basic, X509 *issuer) {
  X509_STORE *store = X509_STORE_new();
  STACK_OF(X509) *known = sk_X509_new_null();
  int is_signed = 0;
  if (store != NULL && known != NULL && X509_STORE_add_cert(store, issuer) == 1 && sk_X509_push(known, issuer) > 0) {
    // An intermediate authority counts without its root.
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    is_signed = OCSP_basic_verify(basic, known, store, 0) == 1;
  }
  sk_X509_free(known);
  X509_STORE_free(store);
  return is_signed;
}

/// Reads what a response says of the certificate.
/// - issuer: who signed the certificate; NULL where that is not known, and then the signature is not checked.
/// - from, until: receive the seconds since 1970 between which a good response holds.
static inline enum copenssl_response copenssl_read_response(
    const uint8_t *bytes, size_t count, X509 *certificate, X509 *issuer, int64_t *from, int64_t *until) {
  enum copenssl_response verdict = COPENSSL_RESPONSE_UNREADABLE;
  const uint8_t *end = bytes;
  OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &end, (long)count);
  OCSP_BASICRESP *basic = NULL;
  if (response == NULL || end != bytes + count) goto done;
  verdict = COPENSSL_RESPONSE_FAILURE;
  if (OCSP_response_status(response) != OCSP_RESPONSE_STATUS_SUCCESSFUL) goto done;
  verdict = COPENSSL_RESPONSE_UNREADABLE;
  basic = OCSP_response_get1_basic(response);
  if (basic == NULL) goto done;
  verdict = COPENSSL_RESPONSE_OF_ANOTHER;
  for (int index = 0; index < OCSP_resp_count(basic); index++) {
    OCSP_SINGLERESP *single = OCSP_resp_get0(basic, index);
    ASN1_INTEGER *serial = NULL;
    ASN1_GENERALIZEDTIME *begins = NULL, *ends = NULL;
    if (OCSP_id_get0_info(NULL, NULL, NULL, &serial, (OCSP_CERTID *)OCSP_SINGLERESP_get0_id(single)) != 1 ||
        ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(certificate)) != 0)
      continue;
    verdict = COPENSSL_RESPONSE_NOT_GOOD;
    if (OCSP_single_get0_status(single, NULL, NULL, &begins, &ends) != V_OCSP_CERTSTATUS_GOOD) break;
    verdict = COPENSSL_RESPONSE_WITHOUT_END;
    *from = copenssl_seconds(begins);
    *until = copenssl_seconds(ends);
    if (*from == 0 || *until == 0) break;
    verdict = issuer == NULL || copenssl_is_signed(basic, issuer) ? COPENSSL_RESPONSE_GOOD : COPENSSL_RESPONSE_FORGED;
    break;
  }
done:
  OCSP_BASICRESP_free(basic);
  OCSP_RESPONSE_free(response);
  return verdict;
}

/// Who signed the context's certificate: the next in its chain, or itself; NULL where the files do not say.
static inline X509 *copenssl_issuer(SSL_CTX *context) {
  X509 *certificate = SSL_CTX_get0_certificate(context);
  STACK_OF(X509) *chain = NULL;
  if (certificate == NULL) return NULL;
  if (X509_check_issued(certificate, certificate) == X509_V_OK) return certificate;
  if (SSL_CTX_get0_chain_certs(context, &chain) != 1) return NULL;
  for (int index = 0; index < sk_X509_num(chain); index++)
    if (X509_check_issued(sk_X509_value(chain, index), certificate) == X509_V_OK) return sk_X509_value(chain, index);
  return NULL;
}

// MARK: Of our own

static inline int copenssl_extend(X509 *certificate, int kind, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  int is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

/// Writes a self-signed certificate and its new key on P-256 as PEM. It can serve, and sign no other certificate.
/// Returns 1, or 0 where OpenSSL fails.
/// - common_name: what people see.
/// - names: as OpenSSL's configuration writes them, such as "DNS:localhost,IP:127.0.0.1".
static inline int copenssl_sign_oneself(
    const char *common_name, const char *names, long seconds, BIO *certificate_pem, BIO *key_pem) {
  uint8_t serial[16];
  int is_made = 0;
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  BIGNUM *number = NULL;
  X509_NAME *subject = NULL;
  if (key == NULL || certificate == NULL || RAND_bytes(serial, sizeof serial) != 1) goto done;
  serial[0] = (uint8_t)((serial[0] & 0x7f) | 0x40);  // Positive, and always of the same length.
  number = BN_bin2bn(serial, sizeof serial, NULL);
  subject = X509_get_subject_name(certificate);
  if (number == NULL || BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) == NULL ||
      X509_set_version(certificate, X509_VERSION_3) != 1 ||
      // An hour ago: clocks differ.
      X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) == NULL ||
      X509_gmtime_adj(X509_getm_notAfter(certificate), seconds) == NULL ||
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const uint8_t *)common_name, -1, -1, 0) != 1 ||
      X509_set_issuer_name(certificate, subject) != 1 || X509_set_pubkey(certificate, key) != 1 ||
      !copenssl_extend(certificate, NID_basic_constraints, "critical,CA:FALSE") ||
      !copenssl_extend(certificate, NID_key_usage, "critical,digitalSignature") ||
      !copenssl_extend(certificate, NID_ext_key_usage, "serverAuth") ||
      !copenssl_extend(certificate, NID_subject_alt_name, names) ||
      X509_sign(certificate, key, EVP_sha256()) <= 0)
    goto done;
  is_made = PEM_write_bio_X509(certificate_pem, certificate) == 1 &&
            PEM_write_bio_PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL) == 1;
done:
  BN_free(number);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return is_made;
}

/// The bytes that were written into a memory BIO; they are the BIO's.
static inline const uint8_t *copenssl_written(BIO *bio, size_t *count) {
  char *bytes = NULL;
  long length = BIO_get_mem_data(bio, &bytes);
  *count = length > 0 ? (size_t)length : 0;
  return (const uint8_t *)bytes;
}
