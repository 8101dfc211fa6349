public import ZeroMQ

/// The plain libzmq fan-out that Fanfare is compared with: what publishers send to the second port goes out to those
/// subscribers of the first port that asked for its topic.
///
/// Publishers are PUB sockets that connect to a SUB here; the classic forwarder of the ZeroMQ guide.
public enum ZeroMQPublisher {
  /// Passes messages and subscriptions on, until the process ends.
  ///
  /// - Parameter port: for subscribers; publishers connect to the next one. On 127.0.0.1.
  public static func run(port: Int) throws(ZeroMQError) -> Never {
    let context = try Context(maxSockets: 16)
    // Without limits on what waits, nothing is dropped: a run that loses messages is none to compare with.
    let options = Socket.Options {
      $0.sendHighWaterMark = 0
      $0.receiveHighWaterMark = 0
      $0.backlog = 4096
    }
    let output = try Socket(context, .xpub, options)
    let input = try Socket(context, .sub, options)
    try input.subscribe(to: [])
    // The publishers' port is opened first: who finds the subscribers' port open can publish, too.
    try input.bind("tcp://127.0.0.1:\(port + 1)")
    try output.bind("tcp://127.0.0.1:\(port)")

    let poller = Poller()
    let incoming = poller.add(input, .input)
    let subscriptions = poller.add(output, .input)
    while true {
      _ = try poller.wait(timeoutMilliseconds: -1)
      if !poller.ready(subscriptions).isEmpty {
        // Reading the subscriptions is what makes libzmq act on them soon.
        while try output.receive() != nil {}
      }
      if !poller.ready(incoming).isEmpty { try passOn(from: input, to: output) }
    }
  }

  private static func passOn(from input: borrowing Socket, to output: borrowing Socket) throws(ZeroMQError) {
    // At most so many messages are passed on before subscriptions are looked at again.
    for _ in 0..<256 {
      guard let frame = try input.receive() else { return }
      var isFollowed = frame.hasMore
      try output.send(frame, more: isFollowed)
      while isFollowed, let next = try input.receive() {
        isFollowed = next.hasMore
        try output.send(next, more: isFollowed)
      }
    }
  }
}
