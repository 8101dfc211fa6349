import NIOCore
import Wire

/// Asking the backend: the event loop writes the question and goes on; the answer comes back to it as an input.
extension SessionDriver {
  /// A connect without a token costs a call to the backend, and comes from anybody: it waits as a token check would.
  func askBackend(_ tag: UInt64, _ question: ProxyQuestion) {
    guard case .connect(let connect) = question, connect.user == nil else { return send(tag, question) }
    guard let delay = isGone ? nil : transport.signInDelay() else {
      host.note(.signIns, from: self)
      return disconnect(.tooManyRequests)
    }
    if delay == 0 { return send(tag, question) }
    host.note(.signIns, from: self)
    eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delay)) { [self] in
      if session.isPending(tag) { send(tag, question) }
    }
  }

  private func send(_ tag: UInt64, _ question: ProxyQuestion) {
    guard let proxies = host.proxies else { return feed(.backendAnswered(tag: tag, .failed(.closed))) }
    let driver = NIOLoopBound(self, eventLoop: eventLoop)
    let eventLoop = eventLoop
    var asker = ProxyAsker(client: client, format: format, user: user, meta: session.ties?.meta)
    asker.transport = form.packing.transportName
    let call = host.beginBackendCall(question)
    proxies.ask(question, from: asker, headers: transport.forwardedHeaders, under: call?.context) { answer in
      eventLoop.execute {
        guard var call else { return driver.value.backendAnswered(tag, answer) }
        call.answered()
        driver.value.host.resume(call) { driver.value.backendAnswered(tag, answer) }
      }
    }
  }

  /// A client that the backend lets in may still be one connection too many of its user's. One with a token has been
  /// counted before the backend was asked.
  private func backendAnswered(_ tag: UInt64, _ answer: ProxyAnswer) {
    // Before the client is let in: the answer to its connect may carry what was published on channels.
    if session.phase == .connecting, session.isPending(tag), case .result(let result) = answer,
      let user = result.user, host.revocations.isSuspended(user)
    {
      host.signInRefused(.invalidToken, "the user is suspended", user: user, self)
      return disconnect(.invalidToken)
    }
    if session.phase == .connecting, session.isPending(tag), !session.hasAccount, case .result(let result) = answer,
      let user = result.user, !user.isEmpty
    {
      switch host.openAccount(of: user) {
      case .none: break
      case .opened(let account): session.enter(account)
      case .full:
        host.note(.userConnections, from: self)
        return disconnect(.connectionLimit)
      }
    }
    let isConnecting = session.phase == .connecting
    feed(.backendAnswered(tag: tag, answer))
    // A token may have been revoked while the backend was asked: of what was said since, this event loop has heard
    // already, and is not told again.
    guard isConnecting, session.phase != .closed else { return }
    for revocations in host.revocations.inForce { feed(.tokensRevoked(revocations)) }
  }
}
