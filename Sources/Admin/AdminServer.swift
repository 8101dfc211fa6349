import HTTPTypes
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import Synchronization

/// The port for backends and operators: the server API, metrics and health, over HTTP/1.1 on a thread of its own.
///
/// Nothing of it is on the way of a publication: a client of this port that asks for much delays others of this port.
public final class AdminServer: Sendable {
  private let configuration: AdminConfiguration
  private let routes: AdminRoutes
  private let logger: Logger
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let running = Mutex<Running?>(nil)

  /// The port, from when it is opened to when it is closed.
  private struct Running: Sendable {
    /// Takes no more connections, and ends those at which nothing is under way.
    let close: @Sendable () async throws -> Void
    /// Ends when the port is closed and each connection of it has ended.
    let serving: Task<Void, Never>
  }

  public init(_ configuration: AdminConfiguration, routes: AdminRoutes, logger: Logger) {
    self.configuration = configuration
    self.routes = routes
    self.logger = logger
  }

  /// Opens the port.
  ///
  /// - Returns: the port, which the system chose where 0 was configured.
  public func start() async throws(AdminError) -> Int {
    // Hummingbird's own lines would tell an operator nothing that ours do not.
    let quiet = Logger(label: "fanfare.admin.http") { _ in SwiftLogNoOpLogHandler() }
    let timeout = TimeAmount.milliseconds(configuration.requestTimeoutMilliseconds)
    let channel = HTTP1Channel(
      responder: { [self] request, writer, channel in try await respond(to: request, writer, on: channel) },
      configuration: .init(
        idleTimeout: timeout,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100)))
    let (opened, tell) = AsyncStream.makeStream(of: Result<Int, AdminError>.self)
    let server = Server(
      childChannelSetup: channel,
      configuration: ServerConfiguration(
        address: .hostname(configuration.host, port: configuration.port),
        availableConnectionsDelegate: MaximumAvailableConnections(configuration.maximumConnections)),
      onServerRunning: { tell.yield(.success($0.localAddress?.port ?? 0)) }, eventLoopGroup: group, logger: quiet)
    let place = "\(configuration.host):\(configuration.port)"
    // Detached, so that the server does not hear of the process's own shutdown: it would begin to close the port in a task
    // for which nobody waits, and which might still use the event loop when that is gone.
    let serving = Task.detached {
      do { try await server.run() } catch {
        tell.yield(
          .failure(
            AdminError(
              description: "the port for backends and operators cannot be opened at \(place): \(error); choose another "
                + "with admin.port, or do without it with admin.enabled=false")))
      }
      tell.finish()
    }
    running.withLock { $0 = Running(close: { try await server.shutdownGracefully() }, serving: serving) }
    for await result in opened { return try result.get() }
    throw AdminError(description: "the port for backends and operators at \(place) was closed before it was open")
  }

  /// Closes the port. Requests that are under way are answered first; those that do not end within the deadline are cut
  /// off by the end of the process.
  public func stop(deadline: Duration) async {
    guard let running = running.withLock({ $0.take() }) else { return }
    // Its streams would not end by themselves.
    routes.console?.stop()
    let (ends, tell) = AsyncStream.makeStream(of: Bool.self)
    Task {
      try? await running.close()
      // The server still uses the event loop after it has said that it is shut down.
      await running.serving.value
      tell.yield(true)
    }
    let timer = Task {
      try? await Task.sleep(for: deadline)
      tell.yield(false)
    }
    defer { timer.cancel() }
    // A request that still waits may use the event loop when its answer comes, so that loop lives on.
    guard await ends.first(where: { _ in true }) == true else { return }
    try? await group.shutdownGracefully()
  }

  // MARK: One request

  private func respond(
    to request: Request, _ writer: consuming ResponseWriter, on channel: any Channel
  ) async throws {
    let timeout = channel.eventLoop.scheduleTask(in: .milliseconds(configuration.requestTimeoutMilliseconds)) {
      channel.close(promise: nil)
    }
    defer { timeout.cancel() }
    let head = AdminRequest(
      method: request.method.rawValue, path: request.uri.path, authorization: request.headers[.authorization],
      apiKey: HTTPField.Name("X-API-Key").flatMap { request.headers[$0] },
      traceparent: HTTPField.Name("traceparent").flatMap { request.headers[$0] },
      peer: channel.remoteAddress?.ipAddress, query: request.uri.query, authority: request.head.authority,
      fields: request.headers)
    var reply = AdminReply.answer(
      .sentence(413, "the body is larger than \(configuration.maximumBodyBytes) bytes (admin.api.max_body_bytes)"))
    var isTooLarge = false
    do {
      reply = try await routes.reply(to: head) {
        Array(try await request.body.collect(upTo: configuration.maximumBodyBytes).readableBytesView)
      }
    } catch is NIOTooManyBytesError {
      isTooLarge = true
    }
    switch reply {
    case .answer(let answer): try await send(answer, to: request, writer)
    case .stream(let head, let events):
      timeout.cancel()
      return try await send(events, after: head, writer, on: channel)
    }
    // What is left of the body would be read to its end otherwise.
    if isTooLarge { channel.close(promise: nil) }
  }

  private func send(_ answer: AdminAnswer, to request: Request, _ writer: consuming ResponseWriter) async throws {
    var fields = Self.fields(of: answer)
    // Neither has a body, so nothing is said of its length (RFC 9110, section 8.6).
    if answer.status != 204, answer.status != 304 { fields[.contentLength] = String(answer.body.count) }
    if answer.status == 401, !WebConsole.owns(request.uri.path) { fields[.wwwAuthenticate] = "apikey" }
    if answer.status == 405, fields[.allow] == nil {
      fields[.allow] = request.uri.path.hasPrefix("/api/") ? "POST" : "GET, HEAD"
    }
    let head = HTTPResponse(status: .init(code: answer.status), headerFields: fields)
    let isHead = request.method == .head
    let body = isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body))
    try await writer.write(response: head, body: body)
  }

  /// Sends a body that goes on until the stream ends or nobody takes it any more: a part that is not taken within the time for
  /// a request closes the connection.
  private func send(
    _ events: AsyncStream<[UInt8]>, after answer: AdminAnswer, _ writer: consuming ResponseWriter,
    on channel: any Channel
  ) async throws {
    let patience = TimeAmount.milliseconds(configuration.requestTimeoutMilliseconds)
    let head = HTTPResponse(status: .init(code: answer.status), headerFields: Self.fields(of: answer))
    var body = try await writer.writeHead(head)
    for await event in events {
      let timeout = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
      defer { timeout.cancel() }
      try await body.write(ByteBuffer(bytes: event))
    }
    try await body.finish(nil)
  }

  private static func fields(of answer: AdminAnswer) -> HTTPFields {
    var fields = answer.fields
    fields[.contentType] = answer.contentType
    if fields[.cacheControl] == nil { fields[.cacheControl] = "no-store" }
    return fields
  }
}
