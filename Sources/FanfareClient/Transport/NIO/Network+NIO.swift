#if !canImport(Darwin)
  internal import NIOCore
  internal import NIOPosix
  internal import TLS

  /// Connections over NIO, with the system's OpenSSL for `wss:` and `https:`.
  struct Network: Sendable {
    let http: any HTTPExchanging
    private let configuration: WebSocketTransport.Configuration

    init(_ endpoint: Endpoint, _ options: RealtimeClient.Options) throws(RealtimeError) {
      let needsTLS =
        endpoint.isSecure
        || [options.statePictures, options.cliquePictures].contains { (try? endpoint.http($0))?.isSecure == true }
      let context: TLSContext?
      do throws(TLSError) {
        context =
          needsTLS ? try .client(trust: options.certificateAuthorities.map { .authorities(path: $0) } ?? .system) : nil
      } catch {
        throw .tls("\(error)")
      }
      let tls: TLSMaker = { host in
        guard let context else { preconditionFailure("no TLS was asked for") }
        return try context.makeClientHandler(serverName: host)
      }
      configuration = WebSocketTransport.Configuration(
        endpoint: endpoint, headers: options.headers, timeout: TimeAmount(options.timeout),
        maximumMessageBytes: options.maximumMessageBytes, tls: tls)
      http = NIOHTTP(
        group: options.eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton, timeout: TimeAmount(options.timeout),
        idleTime: max(TimeAmount(options.timeout), .seconds(30)), tls: tls)
    }

    func transport(on eventLoop: any EventLoop) -> any Transport { WebSocketTransport(configuration, on: eventLoop) }
  }
#endif
