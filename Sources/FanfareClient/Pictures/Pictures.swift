internal import NIOCore

/// Pictures of one app over HTTP: Clique's and State's go the same way, on a path each. What is cut off goes on where
/// it was; what does not get further ten times in a row fails. What to do about a status stands in docs/STATE.md.
///
///     upload     begin: PUT all, or the first part
///       201                     → done
///       202, Upload-Offset      → PUT from there
///       409 with Upload-Offset  → PUT from there
///       no answer, 408, 429, 500, 503 → pause, HEAD, PUT from what the server has
///       anything else           → refused
///     download   begin: GET
///       200, 206, whole         → done
///       200, 206, cut off       → pause, GET the rest if the picture is still the same
///       no answer, 408, 429, 500, 503 → pause, the same again
///       anything else           → refused
public struct Pictures: Sendable {
  /// A picture that was fetched.
  public struct Picture: Sendable, Equatable {
    public var bytes: [UInt8]
    /// Such as `image/jpeg`.
    public var type: String
    /// Says which upload it is, and nothing of what is in it.
    public var etag: String?
  }

  private static let attempts = 10
  /// Statuses after which the same may succeed within a moment.
  private static let passing: Set<Int> = [408, 429, 500, 503]
  /// The server keeps an upload in pieces of this size.
  private static let pieceBytes = 65_536
  /// Longest that a server's wish to be asked later is followed.
  private static let longestPause = Duration.seconds(60)

  private let client: RealtimeClient
  private let place: String

  init(_ client: RealtimeClient, _ place: String) {
    self.client = client
    self.place = place
  }

  /// Uploads a picture; it is on the server's disk when this returns.
  ///
  /// - Parameters:
  ///   - id: chosen at random and never twice; keep it to go on after the app was closed.
  ///   - partBytes: how much goes out in one request, rounded up to 64 KiB; nil: all.
  ///   - progress: called with the bytes that the server has, after each part.
  /// - Returns: the id.
  @discardableResult
  public func upload(
    _ bytes: [UInt8], id: String = RealtimeClient.newKey(), partBytes: Int? = nil,
    progress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
  ) async throws(RealtimeError) -> String {
    let part = partBytes.map { max(1, ($0 + Self.pieceBytes - 1) / Self.pieceBytes) * Self.pieceBytes } ?? bytes.count
    var (offset, failures) = (0, 0)
    while true {
      let end = min(bytes.count, offset + part)
      var headers: [(name: String, value: String)] = []
      if offset > 0 || end < bytes.count {
        headers.append(("content-range", "bytes \(offset)-\(end - 1)/\(bytes.count)"))
      }
      let answer = try await ask("PUT", "?id=\(id)", headers, Array(bytes[offset..<end]))
      if answer?.status == 201 {
        progress?(bytes.count, bytes.count)
        return id
      }
      let told = answer?.headers["upload-offset"].flatMap { Int($0) }
      let mayGoOn =
        answer.map {
          Self.passing.contains($0.status) || $0.status == 202
            || ($0.status == 409 && (told != nil || failures > 0))
        } ?? true
      guard mayGoOn else { throw refusal(answer) }
      let before = offset
      if let told {
        offset = told
      } else {
        try await pause(failures, answer)
        offset = try await self.progress(of: id)
      }
      // A picture that is whole and was not answered as such is said again.
      if offset >= bytes.count || offset < 0 { offset = 0 }
      if offset > before { progress?(offset, bytes.count) }
      failures = offset > before ? 0 : failures + 1
      if failures >= Self.attempts { throw refusal(answer) }
    }
  }

  /// How many bytes of an upload the server has.
  public func progress(of id: String) async throws(RealtimeError) -> Int {
    guard let answer = try await ask("HEAD", "?id=\(id)"), (200..<300).contains(answer.status) else { return 0 }
    return answer.headers["upload-offset"].flatMap { Int($0) } ?? 0
  }

  /// Discards an upload, or a picture that was not sent.
  public func discard(_ id: String) async throws(RealtimeError) {
    let answer = try await ask("DELETE", "?id=\(id)")
    guard let answer, (200..<300).contains(answer.status) else { throw refusal(answer) }
  }

  /// Fetches a picture that this user may see.
  public func download(_ id: String) async throws(RealtimeError) -> Picture {
    var got = Picture(bytes: [], type: "", etag: nil)
    var failures = 0
    while true {
      var headers: [(name: String, value: String)] = []
      if !got.bytes.isEmpty, let etag = got.etag {
        headers = [("range", "bytes=\(got.bytes.count)-"), ("if-range", etag)]
      }
      let answer = try await ask("GET", "/\(id)", headers)
      let before = got.bytes.count
      switch answer?.status {
      case 200?, 206?:
        guard let answer else { break }
        if answer.status == 200 { got.bytes = [] }
        got.bytes += answer.body
        (got.type, got.etag) = (answer.headers["content-type"] ?? "", answer.headers["etag"])
        let limit = client.options.maximumPictureBytes
        if got.bytes.count > limit { throw .pictureTooLarge(limit: limit) }
        if answer.isWhole { return got }
      case let status? where !Self.passing.contains(status): throw refusal(answer)
      default: break
      }
      failures = got.bytes.count > before ? 0 : failures + 1
      if failures >= Self.attempts { throw refusal(answer) }
      try await pause(failures, answer)
    }
  }

  // MARK: One request

  /// The answer; nil where none came. A token that is refused is fetched anew once.
  private func ask(
    _ method: String, _ path: String, _ headers: [(name: String, value: String)] = [], _ body: [UInt8] = []
  ) async throws(RealtimeError) -> HTTPAnswer? {
    var endpoint = try client.endpoint.http(place)
    endpoint.target += path
    var refused: String?
    while true {
      let token = await client.httpToken(insteadOf: refused)
      let exchange = HTTPExchange(
        method: method, endpoint: endpoint, headers: [("authorization", "Bearer \(token)")] + headers, body: body)
      let answer: HTTPAnswer
      do {
        answer = try await client.http().exchange(exchange, maximumBytes: client.options.maximumPictureBytes)
      } catch {
        if let error = error as? RealtimeError, case .pictureTooLarge = error { throw error }
        if Task.isCancelled { throw .cancelled }
        return nil
      }
      if Task.isCancelled { throw .cancelled }
      if answer.status != 401 || refused != nil || client.options.tokenProvider == nil { return answer }
      refused = token
    }
  }

  private func refusal(_ answer: HTTPAnswer?) -> RealtimeError {
    guard let answer else {
      return .picture(status: 0, reason: "the server could not be reached; try again", mayPass: true)
    }
    let text = String(decoding: answer.body.prefix(1000), as: UTF8.self)
    let reason = text.trimmingPrefix { $0.isWhitespace }.reversed().trimmingPrefix { $0.isWhitespace }.reversed()
    // A disk that is full (507) has room again some time, and not within the moments that are tried here.
    let mayPass = Self.passing.contains(answer.status) || answer.status == 507
    return .picture(status: answer.status, reason: String(reason), mayPass: mayPass)
  }

  private func pause(_ failures: Int, _ answer: HTTPAnswer?) async throws(RealtimeError) {
    let asked = answer?.headers["retry-after"].flatMap { Int64($0) }.map { Duration.seconds($0) } ?? .zero
    let options = client.options
    let delay = options.backoff.delay(failures: failures, random: options.random())
    do { try await Task.sleep(for: max(delay, min(asked, Self.longestPause))) } catch { throw .cancelled }
  }
}
