/// The servers that can be measured by name.
enum PeerCatalogue {
  static let names =
    FanfarePeer.Variant.allCases.map(\.rawValue) + [
      "floor", "libzmq", "nats", "nchan", "mosquitto", "redis", "uwebsockets", "uwebsockets-tls",
    ]

  /// What the program behind `benchmarks/peers/uwebsockets` is to speak. It answers, because Fanfare does.
  private static let lines = MessageTemplates(sub: "S %C", pub: "P %C %P", subAck: "S %C", pubAck: "K")

  /// - Throws: a sentence with all names, for a name that is none of them.
  static func peer(named name: String) throws(BenchError) -> any Peer {
    if let variant = FanfarePeer.Variant(rawValue: name) { return FanfarePeer(variant) }
    switch name {
    case "floor": return FloorPeer()
    case "libzmq": return LibzmqPeer()
    case "nats": return ScriptPeer(name: name, dialect: "nats", scheme: "ws", path: "/")
    case "nchan": return ScriptPeer(name: name, dialect: "nchan", scheme: "ws", path: "/sub/", publishPath: "/pub/")
    case "mosquitto": return ScriptPeer(name: name, dialect: "mqtt", scheme: "ws", path: "/mqtt")
    case "redis": return ScriptPeer(name: name, dialect: "redis", scheme: "tcp")
    case "uwebsockets": return ScriptPeer(name: name, dialect: "template", scheme: "ws", path: "/", templates: lines)
    case "uwebsockets-tls":
      return ScriptPeer(
        name: name, dialect: "template", scheme: "wss", path: "/", scriptName: "uwebsockets", templates: lines,
        isSecure: true)
    default:
      throw BenchError("there is no peer \"\(name)\"; the peers are \(names.joined(separator: ", ")).")
    }
  }
}
