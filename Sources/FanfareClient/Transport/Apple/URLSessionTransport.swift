#if canImport(Darwin)
  internal import Foundation
  internal import NIOCore
  internal import Wire

  /// Protobuf over WebSocket, on URLSession. What the system tells on its own queue is handed to the event loop, in
  /// order.
  final class URLSessionTransport: Transport {
    private let endpoint: Endpoint
    private let options: RealtimeClient.Options
    private let eventLoop: any EventLoop
    private var session: URLSession?
    private var task: URLSessionWebSocketTask?
    private var receive: ((TransportEvent) -> Void)?

    init(_ endpoint: Endpoint, _ options: RealtimeClient.Options, on eventLoop: any EventLoop) {
      self.endpoint = endpoint
      self.options = options
      self.eventLoop = eventLoop
    }

    /// Closes the connection of a client that nobody holds any more.
    deinit { session?.invalidateAndCancel() }

    func open(_ receive: @escaping (TransportEvent) -> Void) {
      self.receive = receive
      let (eventLoop, this) = (eventLoop, NIOLoopBound(Weak(self), eventLoop: eventLoop))
      let tell: @Sendable (TransportEvent) -> Void = { event in
        eventLoop.execute { this.value.transport?.tell(event) }
      }
      guard let url = URL(string: endpoint.url("ws")) else { return tell(.failed("the address is not one")) }
      let configuration = Network.configuration(options)
      var headers: [AnyHashable: Any] = [:]
      for (name, value) in options.headers { headers[name] = value }
      configuration.httpAdditionalHeaders = headers
      let session = URLSession(configuration: configuration, delegate: Listener(tell), delegateQueue: nil)
      let task = session.webSocketTask(with: url, protocols: [ClientProtocol.name])
      task.maximumMessageSize = options.maximumMessageBytes
      (self.session, self.task) = (session, task)
      task.resume()
    }

    func send(_ command: ClientCommand) {
      // What cannot be sent is told by the end of the task.
      task?.send(.data(Data(CommandEncoder.encode(command)))) { _ in }
    }

    func close() {
      receive = nil
      task?.cancel(with: .normalClosure, reason: nil)
      session?.finishTasksAndInvalidate()
      (task, session) = (nil, nil)
    }

    /// After the event that ends the connection there are none: a task tells its end twice.
    private func tell(_ event: TransportEvent) {
      let receive = receive
      switch event {
      case .opened, .received: break
      case .failed, .refused, .malformed, .tooLarge, .closed: self.receive = nil
      }
      receive?(event)
    }

    private final class Weak {
      weak var transport: URLSessionTransport?

      init(_ transport: URLSessionTransport) { self.transport = transport }
    }
  }

  /// What the system tells of a task. Its session holds it until that is over.
  private final class Listener: NSObject, URLSessionWebSocketDelegate {
    private let tell: @Sendable (TransportEvent) -> Void

    init(_ tell: @escaping @Sendable (TransportEvent) -> Void) { self.tell = tell }

    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol name: String?
    ) {
      guard name == ClientProtocol.name else {
        return tell(.malformed("the server does not speak \(ClientProtocol.name)"))
      }
      tell(.opened)
      Self.listen(to: webSocketTask, tell)
    }

    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
      didCloseWith code: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
      tell(.closed(code: UInt16(clamping: code.rawValue), reason: String(decoding: reason ?? Data(), as: UTF8.self)))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      if let answer = task.response as? HTTPURLResponse, answer.statusCode != 101 {
        tell(.refused(status: UInt(clamping: answer.statusCode)))
      } else if let error {
        tell(.failed(error.localizedDescription))
      } else {
        tell(.closed(code: nil, reason: ""))
      }
    }

    private static func listen(
      to task: URLSessionWebSocketTask, _ tell: @escaping @Sendable (TransportEvent) -> Void
    ) {
      task.receive { result in
        switch result {
        case .success(.data(let data)):
          do {
            for reply in try ReplyDecoder.decode(Array(data)) { tell(.received(reply)) }
            listen(to: task, tell)
          } catch {
            tell(.malformed("the server sent what is not the protocol: \(error)"))
          }
        case .success: tell(.malformed("the server sent a message that does not belong there"))
        case .failure: break  // The end of the task says how.
        }
      }
    }
  }
#endif
