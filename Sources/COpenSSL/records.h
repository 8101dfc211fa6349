#pragma once
// Records of TLS 1.3 (RFC 8446, section 5.2) with OpenSSL's AEADs, and the keys for one direction (section 7).
//
//      0      1      3      5                                    5 + length
//     +------+------+------+--------------------------+------+---------+
//     |  23  | 3  3 |length| content                  | type | tag: 16 |
//     +------+------+------+--------------------------+------+---------+
//      \ authenticated    / \ encrypted; zeros may follow type /
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <string.h>

enum { COPENSSL_HEADER = 5, COPENSSL_TAG = 16, COPENSSL_LARGEST_TEXT = 16384, COPENSSL_LARGEST_PAYLOAD = 16384 + 256 };

/// The keys of one direction.
struct copenssl_traffic {
  /// The number of the next record: never twice the same under one key, since the nonce is made of it.
  uint64_t sequence;
  uint8_t secret[48];
  uint8_t key[32];
  uint8_t iv[12];
  uint8_t secret_bytes;
  uint8_t key_bytes;
};

/// HKDF-Expand-Label with an empty context. `count` is at most the digest's length, so one block is enough. Returns 1,
/// or 0.
static inline int copenssl_expand(
    const struct copenssl_traffic *traffic, const char *label, uint8_t *out, size_t count) {
  uint8_t info[64], digest[EVP_MAX_MD_SIZE];
  size_t label_bytes = strlen(label);
  unsigned digest_bytes = 0;
  if (label_bytes > 32 || count > traffic->secret_bytes) return 0;
  info[0] = 0;
  info[1] = (uint8_t)count;
  info[2] = (uint8_t)(6 + label_bytes);
  memcpy(info + 3, "tls13 ", 6);
  memcpy(info + 9, label, label_bytes);
  info[9 + label_bytes] = 0;
  info[10 + label_bytes] = 1;
  const EVP_MD *hash = traffic->secret_bytes == 48 ? EVP_sha384() : EVP_sha256();
  int works = HMAC(hash, traffic->secret, traffic->secret_bytes, info, 11 + label_bytes, digest, &digest_bytes) != NULL;
  if (works) memcpy(out, digest, count);
  OPENSSL_cleanse(digest, sizeof digest);
  return works;
}

/// Derives key and nonce from the secret that `traffic` holds. Returns 1, or 0.
static inline int copenssl_begin_traffic(struct copenssl_traffic *traffic) {
  traffic->sequence = 0;
  return copenssl_expand(traffic, "key", traffic->key, traffic->key_bytes) &&
         copenssl_expand(traffic, "iv", traffic->iv, sizeof traffic->iv);
}

/// Derives the next secret after a key update, and key and nonce from it. Returns 1, or 0.
static inline int copenssl_update_traffic(struct copenssl_traffic *traffic) {
  uint8_t next[48];
  if (!copenssl_expand(traffic, "traffic upd", next, traffic->secret_bytes)) return 0;
  memcpy(traffic->secret, next, traffic->secret_bytes);
  OPENSSL_cleanse(next, sizeof next);
  return copenssl_begin_traffic(traffic);
}

static inline void copenssl_forget_traffic(struct copenssl_traffic *traffic) {
  OPENSSL_cleanse(traffic, sizeof *traffic);
}

static inline void copenssl_nonce(const struct copenssl_traffic *traffic, uint8_t nonce[12]) {
  memcpy(nonce, traffic->iv, 12);
  for (int place = 0; place < 8; place++) nonce[11 - place] ^= (uint8_t)(traffic->sequence >> (8 * place));
}

/// Makes a record in `out`, which has room for `count` bytes and 22 more. `aead` is keyed anew each time: a context
/// that serves all connections of a thread stays in the processor's cache, one for each of them does not.
/// Returns the bytes of the record, or 0 where OpenSSL fails; nothing may be sealed with these keys any more then.
static inline size_t copenssl_seal(
    EVP_CIPHER_CTX *aead, struct copenssl_traffic *traffic, uint8_t type, const void *text, size_t count,
    uint8_t *out) {
  if (count > COPENSSL_LARGEST_TEXT) return 0;
  uint8_t nonce[12], *content = out + COPENSSL_HEADER;
  int length = (int)count + 1, done = 0;
  copenssl_nonce(traffic, nonce);
  traffic->sequence += 1;
  out[0] = 23, out[1] = 3, out[2] = 3;
  out[3] = (uint8_t)((length + COPENSSL_TAG) >> 8), out[4] = (uint8_t)(length + COPENSSL_TAG);
  memcpy(content, text, count);
  content[count] = type;
  if (EVP_EncryptInit_ex2(aead, NULL, traffic->key, nonce, NULL) != 1) return 0;
  if (EVP_EncryptUpdate(aead, NULL, &done, out, COPENSSL_HEADER) != 1) return 0;
  if (EVP_EncryptUpdate(aead, content, &done, content, length) != 1 || done != length) return 0;
  if (EVP_EncryptFinal_ex(aead, content + length, &done) != 1) return 0;
  if (EVP_CIPHER_CTX_ctrl(aead, EVP_CTRL_AEAD_GET_TAG, COPENSSL_TAG, content + length) != 1) return 0;
  return COPENSSL_HEADER + (size_t)length + COPENSSL_TAG;
}

/// Opens a whole record of `count` bytes, header and all, into `out`, which has room for as many. Returns the bytes of
/// its content without padding, and sets `type`; -1 where it is not what the peer sealed, or has no type.
static inline long copenssl_open(
    EVP_CIPHER_CTX *aead, struct copenssl_traffic *traffic, const uint8_t *record, size_t count, uint8_t *out,
    uint8_t *type) {
  if (count < COPENSSL_HEADER + COPENSSL_TAG + 1) return -1;
  int length = (int)(count - COPENSSL_HEADER - COPENSSL_TAG), done = 0;
  uint8_t nonce[12], tag[COPENSSL_TAG];
  copenssl_nonce(traffic, nonce);
  traffic->sequence += 1;
  memcpy(tag, record + COPENSSL_HEADER + length, COPENSSL_TAG);
  if (EVP_DecryptInit_ex2(aead, NULL, traffic->key, nonce, NULL) != 1) return -1;
  if (EVP_CIPHER_CTX_ctrl(aead, EVP_CTRL_AEAD_SET_TAG, COPENSSL_TAG, tag) != 1) return -1;
  if (EVP_DecryptUpdate(aead, NULL, &done, record, COPENSSL_HEADER) != 1) return -1;
  if (EVP_DecryptUpdate(aead, out, &done, record + COPENSSL_HEADER, length) != 1 || done != length) return -1;
  if (EVP_DecryptFinal_ex(aead, out + length, &done) != 1) return -1;
  while (length > 0 && out[length - 1] == 0) length -= 1;
  if (length == 0) return -1;
  *type = out[length - 1];
  return length - 1;
}

static inline int copenssl_hex(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

/// Takes the secret out of a line of OpenSSL's key log, which is "LABEL RANDOM SECRET", the last two in hexadecimal
/// digits. Returns 0 where the line has another label or another form.
static inline int copenssl_take_secret(struct copenssl_traffic *traffic, const char *line, const char *label) {
  size_t label_bytes = strlen(label);
  if (strncmp(line, label, label_bytes) != 0 || line[label_bytes] != ' ') return 0;
  const char *digits = strchr(line + label_bytes + 1, ' ');
  if (digits == NULL) return 0;
  digits += 1;
  size_t count = strlen(digits) / 2;
  if (count != 32 && count != 48) return 0;
  for (size_t place = 0; place < count; place++) {
    int high = copenssl_hex(digits[2 * place]), low = copenssl_hex(digits[2 * place + 1]);
    if (high < 0 || low < 0) return 0;
    traffic->secret[place] = (uint8_t)(high << 4 | low);
  }
  traffic->secret_bytes = (uint8_t)count;
  return 1;
}
