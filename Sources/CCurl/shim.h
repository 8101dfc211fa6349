#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

// libcurl sets and reads its options with variadic functions, which Swift does not import.

static inline CURLcode ccurl_set_number(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

typedef size_t (*ccurl_take)(char *bytes, size_t size, size_t count, void *context);
typedef curl_socket_t (*ccurl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

/// Who is given the reply's body and its header lines, and who opens the sockets.
static inline void ccurl_set_callbacks(
  CURL *easy, void *context, ccurl_take take_body, ccurl_take take_header, ccurl_open open) {
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
}

/// The status of the last reply, 0 where there was none.
static inline long ccurl_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

/// Bytes of the request that went to connections, TLS not counted; 0 before there is one.
static inline long ccurl_sent_bytes(CURL *easy) {
  long bytes = 0;
  return curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK ? bytes : 0;
}

/// The seconds of the last reply's Retry-After, which may be a date; 0 where it has none.
static inline curl_off_t ccurl_retry_after(CURL *easy) {
  curl_off_t seconds = 0;
  return curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK ? seconds : 0;
}

/// A header of the last reply, where it came once; NULL where not.
static inline const char *ccurl_header(CURL *easy, const char *name) {
  struct curl_header *header = NULL;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK || header->amount != 1) return NULL;
  return header->value;
}

/// What CURLOPT_PRIVATE was set to.
static inline void *ccurl_context(CURL *easy) {
  char *context = NULL;
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context) == CURLE_OK ? context : NULL;
}

static inline CURLMcode ccurl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

/// A call that has ended: its handle and how it ended; NULL where there is none. A C union is read here.
static inline CURL *ccurl_next_ended(CURLM *multi, CURLcode *code) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *code = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

/// Copies the bytes of an address: 4 of IPv4, 16 of IPv6. Returns how many, 0 for an address of another kind.
static inline int ccurl_address_bytes(const struct curl_sockaddr *address, unsigned char *bytes) {
  // The field is declared as long as the shortest kind of address; addrlen says how long it is.
  const char *start = (const char *)address + offsetof(struct curl_sockaddr, addr);
  if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
    struct sockaddr_in four;
    memcpy(&four, start, sizeof four);
    memcpy(bytes, &four.sin_addr, 4);
    return 4;
  }
  if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
    struct sockaddr_in6 six;
    memcpy(&six, start, sizeof six);
    memcpy(bytes, &six.sin6_addr, 16);
    return 16;
  }
  return 0;
}

/// The socket that libcurl would have opened by itself, closed when a program is started.
static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
#ifdef SOCK_CLOEXEC
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
  return socket(address->family, address->socktype, address->protocol);
#endif
}

/// What an open callback returns in place of a socket; Swift does not import the macro.
static inline curl_socket_t ccurl_no_socket(void) { return CURL_SOCKET_BAD; }

/// Has an aborted call not wait for a name that is still being resolved: the thread that resolves ends by itself.
static inline void ccurl_leave_resolver_behind(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)easy;
#endif
}

/// Nothing but HTTP and HTTPS, whatever a URL says.
static inline CURLcode ccurl_allow_http_only(CURL *easy) {
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
}

// As `top -H` shows the calling thread; Linux keeps the first 15 bytes.
static inline void ccurl_name_this_thread(const char *name) {
#ifdef __linux__
  prctl(PR_SET_NAME, name, 0, 0, 0);
#else
  pthread_setname_np(name);
#endif
}
