#if canImport(Darwin)
  internal import Foundation
  internal import NIOCore

  /// Connections over URLSession: Apple's TLS, proxies and ways to save power.
  struct Network: Sendable {
    let http: any HTTPExchanging
    private let endpoint: Endpoint
    private let options: RealtimeClient.Options

    init(_ endpoint: Endpoint, _ options: RealtimeClient.Options) throws(RealtimeError) {
      self.endpoint = endpoint
      self.options = options
      http = URLSessionHTTP(session: URLSession(configuration: Self.configuration(options)))
    }

    static func configuration(_ options: RealtimeClient.Options) -> URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      let (seconds, attoseconds) = options.timeout.components
      configuration.timeoutIntervalForRequest = Double(seconds) + Double(attoseconds) / 1e18
      return configuration
    }

    func transport(on eventLoop: any EventLoop) -> any Transport {
      URLSessionTransport(endpoint, options, on: eventLoop)
    }
  }

  /// Requests over HTTP.
  struct URLSessionHTTP: HTTPExchanging {
    let session: URLSession

    func exchange(_ request: HTTPExchange, maximumBytes: Int) async throws -> HTTPAnswer {
      guard let url = URL(string: request.endpoint.url("http")) else {
        throw RealtimeError.invalidURL(request.endpoint.url("http"))
      }
      var asked = URLRequest(url: url)
      asked.httpMethod = request.method
      for (name, value) in request.headers { asked.setValue(value, forHTTPHeaderField: name) }
      let (data, response) =
        request.method == "PUT"
        ? try await session.upload(for: asked, from: Data(request.body)) : try await session.data(for: asked)
      guard let response = response as? HTTPURLResponse else { throw RealtimeError.unexpectedReply }
      if data.count > maximumBytes { throw RealtimeError.pictureTooLarge(limit: maximumBytes) }
      var headers: [String: String] = [:]
      for (name, value) in response.allHeaderFields {
        headers["\(name)".lowercased()] = "\(value)"
      }
      return HTTPAnswer(status: response.statusCode, headers: headers, body: Array(data))
    }
  }
#endif
