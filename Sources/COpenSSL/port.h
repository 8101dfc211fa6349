#pragma once
// A BIO between OpenSSL and memory that belongs to somebody else: it reads from bytes that a caller has in hand, and
// writes into a buffer that many connections share. So a connection at rest has no buffer of its own.
#include <openssl/bio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct copenssl_port {
  /// The bytes that may be read now; reading moves the start forward.
  const uint8_t *input;
  size_t input_count;
  /// The bytes that were written since the buffer was last emptied.
  uint8_t *output;
  size_t output_count;
  size_t output_capacity;
};

/// Room for `count` bytes behind those that were written; NULL where memory is out.
static inline uint8_t *copenssl_port_room(struct copenssl_port *port, size_t count) {
  if (port->output_capacity - port->output_count < count) {
    size_t capacity = port->output_capacity == 0 ? 4096 : port->output_capacity;
    while (capacity - port->output_count < count) capacity *= 2;
    uint8_t *grown = (uint8_t *)realloc(port->output, capacity);
    if (grown == NULL) return NULL;
    port->output = grown;
    port->output_capacity = capacity;
  }
  return port->output + port->output_count;
}

/// Frees the buffer, with what is in it.
static inline void copenssl_port_release(struct copenssl_port *port) {
  free(port->output);
  port->output = NULL;
  port->output_count = port->output_capacity = 0;
}

static inline int copenssl_port_write(BIO *bio, const char *bytes, size_t count, size_t *written) {
  struct copenssl_port *port = (struct copenssl_port *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  uint8_t *room = port == NULL ? NULL : copenssl_port_room(port, count);
  if (room == NULL) return 0;
  memcpy(room, bytes, count);
  port->output_count += count;
  *written = count;
  return 1;
}

static inline int copenssl_port_read(BIO *bio, char *bytes, size_t count, size_t *taken) {
  struct copenssl_port *port = (struct copenssl_port *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *taken = 0;
  if (port == NULL || port->input_count == 0) {
    // No bytes in hand mean "later", not the end.
    BIO_set_retry_read(bio);
    return 0;
  }
  *taken = count < port->input_count ? count : port->input_count;
  memcpy(bytes, port->input, *taken);
  port->input += *taken;
  port->input_count -= *taken;
  return 1;
}

static inline long copenssl_port_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static inline int copenssl_port_create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

/// The methods that all of these BIOs share, which are never freed; NULL where memory is out.
static inline BIO_METHOD *copenssl_port_method(void) {
  BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "port");
  if (method == NULL) return NULL;
  BIO_meth_set_write_ex(method, copenssl_port_write);
  BIO_meth_set_read_ex(method, copenssl_port_read);
  BIO_meth_set_ctrl(method, copenssl_port_control);
  BIO_meth_set_create(method, copenssl_port_create);
  return method;
}
