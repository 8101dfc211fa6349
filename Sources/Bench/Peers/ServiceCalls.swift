import ZeroMQ

/// Asks a Fanfare as a service does, many requests at a time: for what a measurement needs to be there before it begins.
enum ServiceCalls {
  /// What is asked for: the frames behind the request's number.
  struct Request {
    var method: String
    var parameters: String
    var data = ""

    /// A method of an app, on behalf of a user.
    static func call(_ method: String, as user: String, _ data: String) -> Request {
      Request(method: "call", parameters: "{\"method\":\"\(method)\",\"user\":\"\(user)\"}", data: data)
    }
  }

  /// Requests that wait for their answers at the same time.
  private static let window = 128
  private static let patienceMilliseconds = 120_000

  /// Makes all requests.
  ///
  /// - Parameters:
  ///   - commands: the server's endpoint for services.
  ///   - answer: what came for a request, by its place in the list; in no particular order.
  /// - Throws: what the server said, where it refused one.
  static func make(
    _ requests: [Request], at commands: String, answer: (_ place: Int, _ result: [UInt8]) -> Void = { _, _ in }
  ) throws(BenchError) {
    do {
      let context = try Context()
      let socket = try Socket(context, .dealer, Socket.Options { $0.lingerMilliseconds = 0 })
      try socket.connect(commands)
      let poller = Poller()
      let registration = poller.add(socket, .input)
      var (sent, answered) = (0, 0)
      var frames: [[UInt8]] = []
      while answered < requests.count {
        while sent < requests.count, sent - answered < window {
          let request = requests[sent]
          var message = [String(sent), request.method, request.parameters].map { Array($0.utf8) }
          if !request.data.isEmpty { message.append(Array(request.data.utf8)) }
          try socket.send(multipart: message)
          sent += 1
        }
        // Libzmq wakes its user for its own affairs too.
        let deadline = MonotonicTime.now() + UInt64(patienceMilliseconds) * 1_000_000
        while poller.ready(registration).isEmpty {
          guard MonotonicTime.now() < deadline else {
            throw BenchError("nothing was answered within \(patienceMilliseconds / 1000) s")
          }
          _ = try poller.wait(timeoutMilliseconds: 1000)
        }
        while try socket.receiveMultipart(into: &frames, maxFrames: 4) != nil {
          guard frames.count == 3, let place = Int(String(decoding: frames[0], as: UTF8.self)) else {
            throw BenchError("an answer has \(frames.count) frames")
          }
          guard frames[1].elementsEqual("ok".utf8) else {
            throw BenchError("\(requests[place].method): \(String(decoding: frames[2], as: UTF8.self))")
          }
          answer(place, frames[2])
          answered += 1
        }
      }
    } catch {
      throw BenchError("what has to be there before the measurement could not be made at \(commands): \(error)")
    }
  }
}
