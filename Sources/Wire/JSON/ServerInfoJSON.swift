extension JSONWriter {
  /// Writes the fields of what the whole server carries, as services and backends get them. The gateways are what
  /// Centrifugo calls nodes: they have the clients.
  public mutating func write(_ info: ServerInfo) {
    list("nodes") { writer in
      for gateway in info.gateways { writer.object { $0.write(gateway) } }
    }
    object("broker") { writer in
      writer.write("version", info.broker.version)
      writer.write("uptime", info.broker.uptime)
      writer.write("num_channels", info.broker.channels)
      writer.write("num_publications", info.broker.publications)
    }
    if info.unanswered > 0 {
      write("partial", true)
      write("unanswered", info.unanswered)
    }
  }

  private mutating func write(_ gateway: ServerInfo.Gateway) {
    let counts = gateway.counts
    write("uid", LinkIdentity.text(of: gateway.number))
    write("name", counts.name)
    write("version", counts.version)
    write("num_clients", counts.clients)
    write("num_users", counts.users)
    write("num_subs", counts.subscriptions)
    write("num_channels", counts.channels)
    write("uptime", counts.uptime)
  }
}
