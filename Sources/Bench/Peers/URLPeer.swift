import Glibc

/// A server that somebody else runs: nothing is started, nothing is stopped.
struct URLPeer: Peer {
  let name: String
  let target: Target
  /// The server's process ids, where it runs on this machine; without them its CPU and memory are not measured.
  let processes: [Int32]

  /// - Parameters:
  ///   - url: `ws://…` or `wss://…` of any server that speaks the Centrifuge protocol; another dialect by name.
  ///   - secret: signs a token for each client; `token` is given to all instead. Neither: no token.
  ///   - templates: what is said in the dialect `template`.
  ///   - trust: a file of certificates that are trusted for wss.
  init(
    url: String, dialect: String = "centrifuge", publishURL: String? = nil, secret: String? = nil,
    token: String? = nil, trust: String? = nil, templates: MessageTemplates? = nil,
    processes: [Int32] = [], name: String = MeasurementRun.Remote.name
  ) throws(BenchError) {
    guard let scheme = url.firstRange(of: "://"), !url[scheme.upperBound...].isEmpty else {
      throw BenchError("\"\(url)\" is no address; write it like ws://127.0.0.1:8000/connection/websocket.")
    }
    guard ["ws", "wss", "tcp"].contains(url[..<scheme.lowerBound]) else {
      throw BenchError("\"\(url)\" must begin with ws:// or wss:// (or tcp:// for servers without WebSocket).")
    }
    for process in processes where kill(process, 0) != 0 && errno == ESRCH {
      throw BenchError("there is no process \(process); give --pid the server's process id, or leave it out.")
    }
    self.name = name
    self.processes = processes
    let host = url[scheme.upperBound...].prefix { $0 != "/" && $0 != ":" }
    target = Target(
      dialect: dialect, url: url, publishURL: publishURL, secret: secret, token: token, trust: trust,
      spreadsSourceAddresses: host == "localhost" || host.hasPrefix("127."), templates: templates,
      subscribesPublishers: dialect == "centrifuge")
  }

  func describe() throws(BenchError) -> PeerDescription {
    PeerDescription(
      name: name, version: "unknown",
      settings: "the server at \(target.url), as it was found"
        + (target.subscribesPublishers ? "; its publishers are subscribed, too, and get what they publish" : "")
        + (target.dialect == CliqueConversations.dialect ? CliqueConversations.about : "")
        + (target.templates.map { "; \($0.about)" } ?? ""))
  }

  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer {
    RunningPeer(target: target, processes: processes) {}
  }
}
