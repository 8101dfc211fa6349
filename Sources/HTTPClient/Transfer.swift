internal import CCurl

/// One call under way: libcurl's handle for it, what has come of the reply, and why it was cut short.
///
/// It belongs to the client's thread. libcurl holds an unretained reference to it, which ends with the handle in
/// `deinit`; by then the loop has taken the handle out of the multi handle, so that nobody calls back.
@safe final class Transfer {
  /// Bytes that the header lines of a reply may have together. 1xx replies and trailers count.
  static let headerLimit = 32 << 10
  /// Milliseconds until there is a connection, TLS included.
  static let connectMilliseconds = 5_000

  let posted: PostedCall
  let host: String
  let easy: UnsafeMutableRawPointer

  private let rule: AddressRule
  private let replyLimit: Int
  private let errorText: UnsafeMutablePointer<CChar>
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var body: [UInt8] = []
  private var headerBytes = 0
  private var isTooLarge = false
  private var refused: String?

  /// - Throws: where libcurl has no memory, or does not take an option that must hold.
  init(_ posted: PostedCall, host: String, limits: HTTPClient.Limits, userAgent: String) throws(HTTPCallError) {
    guard let easy = unsafe curl_easy_init() else { throw .unreachable("there is no memory for the call") }
    unsafe self.easy = unsafe easy
    self.posted = posted
    self.host = host
    rule = AddressRule(allowsPrivate: limits.allowsPrivateAddresses)
    replyLimit = max(limits.replyBytes, 0)
    unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    unsafe headers = nil
    guard setProtocol(userAgent), setTLS(limits.certificateAuthorities), setRequest() else {
      throw .unreachable("libcurl lacks what the call needs; install its build with OpenSSL")
    }
    setReply()
  }

  deinit {
    unsafe curl_easy_cleanup(easy)
    unsafe curl_slist_free_all(headers)
    unsafe errorText.deallocate()
  }

  // MARK: What is asked for

  private func set(_ option: CURLoption, _ value: Int) -> Bool {
    unsafe ccurl_set_number(easy, option, value) == CURLE_OK
  }

  private func set(_ option: CURLoption, _ text: String) -> Bool {
    unsafe ccurl_set_text(easy, option, text) == CURLE_OK
  }

  /// Where the call goes and what is not done on the way: no redirects, no proxies and no passwords from the
  /// environment.
  private func setProtocol(_ userAgent: String) -> Bool {
    unsafe ccurl_leave_resolver_behind(easy)
    // Refused by a libcurl without HTTP/2, which then speaks HTTP/1.1.
    _ = set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    // Waits for a connection that is being made, in case that it can carry this call too. Without TLS it never can, and
    // the wait would be for the end of the first call.
    if host.hasPrefix("https:") { _ = set(CURLOPT_PIPEWAIT, 1) }
    return unsafe ccurl_allow_http_only(easy) == CURLE_OK && set(CURLOPT_URL, posted.call.url)
      && set(CURLOPT_NOSIGNAL, 1) && set(CURLOPT_FOLLOWLOCATION, 0) && set(CURLOPT_PROXY, "")
      && set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)) && set(CURLOPT_USERAGENT, userAgent)
      && set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
  }

  private func setTLS(_ authorities: String?) -> Bool {
    // For the two protocols alike; it has no effect on http.
    let isVerified =
      set(CURLOPT_SSL_VERIFYPEER, 1) && set(CURLOPT_SSL_VERIFYHOST, 2)
      && set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    guard let authorities else { return isVerified }
    // The folder of the system's authorities would be looked at besides.
    return unsafe isVerified && set(CURLOPT_CAINFO, authorities)
      && ccurl_set_text(easy, CURLOPT_CAPATH, nil) == CURLE_OK
  }

  private func setRequest() -> Bool {
    let call = posted.call
    let hasBody = !call.body.isEmpty || ["POST", "PUT", "PATCH"].contains(call.method)
    var lines = call.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    // libcurl would wait for a "100 Continue" before a large body, and would call it a form.
    lines.append("Expect:")
    if hasBody, !call.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
      lines.append("Content-Type:")
    }
    for line in lines {
      guard let longer = unsafe curl_slist_append(headers, line) else { return false }
      unsafe headers = unsafe longer
    }
    guard unsafe ccurl_set_headers(easy, headers) == CURLE_OK else { return false }
    if call.method == "HEAD" { return set(CURLOPT_NOBODY, 1) }
    guard hasBody else { return set(CURLOPT_HTTPGET, 1) && set(CURLOPT_CUSTOMREQUEST, call.method) }
    // Without a pointer libcurl would read the body from the standard input.
    let bytes = call.body.isEmpty ? [0] : call.body
    return unsafe set(CURLOPT_POST, 1)
      && ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(call.body.count)) == CURLE_OK
      && ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, bytes) == CURLE_OK
      && set(CURLOPT_CUSTOMREQUEST, call.method)
  }

  // MARK: What comes back

  private func setReply() {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe ccurl_set_callbacks(
      easy, context,
      { bytes, size, count, context in
        let taken = unsafe Transfer.from(context)?.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        return taken ?? false ? size * count : 0
      },
      { _, size, count, context in
        unsafe Transfer.from(context)?.takeHeader(size * count) ?? false ? size * count : 0
      },
      { context, _, address in unsafe Transfer.from(context)?.open(address) ?? ccurl_no_socket() })
    // Ends a call whose Content-Length says too much before its body is read.
    _ = unsafe ccurl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(max(replyLimit, 1)))
    _ = unsafe ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
  }

  static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= replyLimit - body.count else {
      isTooLarge = true
      return false
    }
    unsafe body.append(contentsOf: bytes)
    return true
  }

  private func takeHeader(_ count: Int) -> Bool {
    headerBytes += count
    isTooLarge = isTooLarge || headerBytes > Self.headerLimit
    return !isTooLarge
  }

  private func open(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let address = unsafe address else { return ccurl_no_socket() }
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe ccurl_address_bytes(address, &bytes)
    bytes.removeLast(bytes.count - Int(count))
    if let kind = rule.refusal(of: bytes) {
      refused = "\(addressText(bytes)) (\(kind))"
      return ccurl_no_socket()
    }
    return unsafe ccurl_open_socket(address)
  }

  /// Whether libcurl has handed some of the request to a connection. A call that is sent once more, since a kept
  /// connection was closed, stays so.
  var mayHaveGoneOut: Bool { unsafe ccurl_sent_bytes(easy) > 0 }

  /// How the call ended, by libcurl's code.
  func result(_ code: CURLcode) -> Result<HTTPReply, HTTPCallError> {
    let status = unsafe Int(ccurl_status(easy))
    switch code {
    case CURLE_OK where status > 0:
      var reply = HTTPReply(status: status, body: body)
      let seconds = unsafe Int64(ccurl_retry_after(easy))
      if seconds > 0 { reply.retryAfterSeconds = seconds }
      if let range = unsafe ccurl_header(easy, "content-range") { reply.contentRange = unsafe String(cString: range) }
      return .success(reply)
    // One header line that libcurl's own buffer has no room for ends with the code of missing memory.
    case CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY: return .failure(.tooLarge(limit: replyLimit))
    case _ where isTooLarge: return .failure(.tooLarge(limit: replyLimit))
    case CURLE_OPERATION_TIMEDOUT: return .failure(.timedOut)
    default: break
    }
    if code == CURLE_COULDNT_CONNECT, let refused { return .failure(.refusedAddress(refused)) }
    let detail = unsafe String(cString: errorText)
    let text = detail.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : detail
    // Some of it may have been said by the other side.
    let printable = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
    return .failure(.unreachable(String(printable).trimmingSpaces()))
  }
}

extension String {
  fileprivate func trimmingSpaces() -> String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
