#pragma once
// Keys from their parts, as key sets and tokens write them: OpenSSL takes those as lists of parameters, which are built
// here, where their memory is certain to outlive them.
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stddef.h>
#include <stdint.h>

/// A key from its parts; NULL where these are not the parts of such a key.
static inline EVP_PKEY *copenssl_key(const char *kind, int selection, OSSL_PARAM_BLD *build) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
  if (parameters == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
      EVP_PKEY_fromdata(context, &key, selection, parameters) != 1)
    key = NULL;
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  return key;
}

/// An RSA key from its numbers; NULL where they make none.
/// - private_exponent: NULL for a public key.
static inline EVP_PKEY *copenssl_rsa_key(
    const uint8_t *modulus, size_t modulus_count, const uint8_t *exponent, size_t exponent_count,
    const uint8_t *private_exponent, size_t private_count) {
  EVP_PKEY *key = NULL;
  BIGNUM *n = BN_bin2bn(modulus, (int)modulus_count, NULL), *e = BN_bin2bn(exponent, (int)exponent_count, NULL);
  BIGNUM *d = private_exponent == NULL ? NULL : BN_bin2bn(private_exponent, (int)private_count, NULL);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  if (n != NULL && e != NULL && build != NULL && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
      OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1 &&
      (d == NULL || OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_D, d) == 1))
    key = copenssl_key("RSA", d == NULL ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, build);
  OSSL_PARAM_BLD_free(build);
  BN_free(n);
  BN_free(e);
  BN_clear_free(d);
  return key;
}

/// A public key on an elliptic curve; NULL where the point is not on the curve.
/// - group: the curve, such as "P-256".
/// - point: the byte 4, then x and y, each of the curve's length.
static inline EVP_PKEY *copenssl_ec_public_key(const char *group, const uint8_t *point, size_t count) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  if (build != NULL && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, count) == 1)
    key = copenssl_key("EC", EVP_PKEY_PUBLIC_KEY, build);
  OSSL_PARAM_BLD_free(build);
  if (key == NULL) return NULL;
  // A point beside its curve verifies nothing, but must not be computed with either.
  EVP_PKEY_CTX *check = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int is_valid = check != NULL && EVP_PKEY_public_check(check) == 1;
  EVP_PKEY_CTX_free(check);
  if (is_valid) return key;
  EVP_PKEY_free(key);
  return NULL;
}

/// A private key on an elliptic curve from its number; NULL where that is not between 1 and the curve's order.
/// - group: the curve, such as "P-256".
static inline EVP_PKEY *copenssl_ec_private_key(const char *group, const uint8_t *scalar, size_t count) {
  EVP_PKEY *key = NULL;
  uint8_t octets[1 + 2 * 66];
  size_t octet_count = 0;
  EC_GROUP *curve = EC_GROUP_new_by_curve_name(EC_curve_nist2nid(group));
  EC_POINT *point = curve == NULL ? NULL : EC_POINT_new(curve);
  BIGNUM *d = BN_bin2bn(scalar, (int)count, NULL);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  if (d != NULL) BN_set_flags(d, BN_FLG_CONSTTIME);
  if (point != NULL && d != NULL && !BN_is_zero(d) && BN_cmp(d, EC_GROUP_get0_order(curve)) < 0 &&
      EC_POINT_mul(curve, point, d, NULL, NULL, NULL) == 1)
    octet_count = EC_POINT_point2oct(curve, point, POINT_CONVERSION_UNCOMPRESSED, octets, sizeof octets, NULL);
  if (octet_count > 0 && build != NULL &&
      OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
      OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, d) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, octets, octet_count) == 1)
    key = copenssl_key("EC", EVP_PKEY_KEYPAIR, build);
  OSSL_PARAM_BLD_free(build);
  BN_clear_free(d);
  EC_POINT_free(point);
  EC_GROUP_free(curve);
  return key;
}

/// Writes the number of a private key on an elliptic curve, in `count` bytes. Returns 1 where `scalar` holds it, or 0.
static inline int copenssl_ec_scalar(EVP_PKEY *key, uint8_t *scalar, size_t count) {
  BIGNUM *d = NULL;
  int is_done = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &d) == 1 &&
                BN_bn2binpad(d, scalar, (int)count) == (int)count;
  BN_clear_free(d);
  return is_done;
}

/// Writes the secret that two keys on one curve share (ECDH), in `count` bytes. Returns 1, or 0 where there is none.
static inline int copenssl_agree(EVP_PKEY *own, EVP_PKEY *peer, uint8_t *secret, size_t count) {
  size_t written = count;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
  int is_done = context != NULL && EVP_PKEY_derive_init(context) == 1 &&
                EVP_PKEY_derive_set_peer(context, peer) == 1 &&
                EVP_PKEY_derive(context, secret, &written) == 1 && written == count;
  EVP_PKEY_CTX_free(context);
  return is_done;
}

static inline EVP_PKEY *copenssl_new_ec_key(const char *group) { return EVP_EC_gen(group); }
static inline EVP_PKEY *copenssl_new_ed25519_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

static inline int copenssl_no_password(char *buffer, int size, int writing, void *data) { return -1; }

/// The public key that a PEM text holds; NULL where it holds none. Nobody is asked for a password.
static inline EVP_PKEY *copenssl_pem_public_key(const uint8_t *text, size_t count) {
  BIO *bio = BIO_new_mem_buf(text, (int)count);
  if (bio == NULL) return NULL;
  EVP_PKEY *key = PEM_read_bio_PUBKEY(bio, NULL, copenssl_no_password, NULL);
  BIO_free(bio);
  return key;
}

/// The private key that a PEM text holds, without a password; NULL where it holds none.
static inline EVP_PKEY *copenssl_pem_private_key(const uint8_t *text, size_t count) {
  BIO *bio = BIO_new_mem_buf(text, (int)count);
  if (bio == NULL) return NULL;
  EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, copenssl_no_password, NULL);
  BIO_free(bio);
  return key;
}

/// Writes a public key as PEM. Returns the bytes of the text, or -1.
static inline long copenssl_write_public_pem(EVP_PKEY *key, uint8_t *text, size_t room) {
  BIO *bio = BIO_new(BIO_s_mem());
  long count = -1;
  if (bio != NULL && PEM_write_bio_PUBKEY(bio, key) == 1 && BIO_pending(bio) <= (long)room)
    count = BIO_read(bio, text, (int)room);
  BIO_free(bio);
  return count;
}

/// Writes the point of a public key as key sets have it: the byte 4, then x and y. Returns the number of bytes, or 0.
static inline size_t copenssl_ec_point(EVP_PKEY *key, uint8_t *point, size_t room) {
  size_t count = 0;
  if (EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed") != 1) return 0;
  return EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, room, &count) == 1 ? count : 0;
}

// Tokens write an ECDSA signature as two numbers of the curve's length, one after the other; OpenSSL as DER.

/// Turns two numbers into DER. Returns the bytes of the DER, which the caller frees; or -1.
static inline int copenssl_ecdsa_der(const uint8_t *raw, size_t count, uint8_t **der) {
  int length = -1;
  ECDSA_SIG *signature = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(raw, (int)(count / 2), NULL), *s = BN_bin2bn(raw + count / 2, (int)(count / 2), NULL);
  if (signature != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(signature, r, s) == 1) {
    r = s = NULL;
    length = i2d_ECDSA_SIG(signature, der);
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(signature);
  return length;
}

/// Turns DER into two numbers. Returns 1 where `raw` holds them, or 0.
static inline int copenssl_ecdsa_raw(const uint8_t *der, size_t count, uint8_t *raw, size_t raw_count) {
  const uint8_t *next = der;
  ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &next, (long)count);
  int half = (int)(raw_count / 2);
  int is_done = signature != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw, half) == half &&
                BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw + half, half) == half;
  ECDSA_SIG_free(signature);
  return is_done;
}

/// Derives a key from another one (HKDF, RFC 5869). Returns 1 where `out` holds `count` bytes of it, or 0.
/// - salt: where `salt_count` is 0, as many zeros as the digest has bytes.
static inline int copenssl_hkdf(
    const char *digest, const void *key, size_t key_count, const uint8_t *salt, size_t salt_count, const uint8_t *info,
    size_t info_count, uint8_t *out, size_t count) {
  EVP_KDF *hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = hkdf == NULL ? NULL : EVP_KDF_CTX_new(hkdf);
  OSSL_PARAM parameters[5], *next = parameters;
  *next++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest, 0);
  *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_count);
  if (salt_count > 0) *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_count);
  if (info_count > 0) *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count);
  *next = OSSL_PARAM_construct_end();
  int is_done = context != NULL && EVP_KDF_derive(context, out, count, parameters) == 1;
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(hkdf);
  return is_done;
}

static inline void copenssl_free(void *memory) { OPENSSL_free(memory); }
static inline int copenssl_gcm_take_tag(EVP_CIPHER_CTX *context, uint8_t *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag);
}
static inline int copenssl_gcm_give_tag(EVP_CIPHER_CTX *context, const uint8_t *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)tag);
}
