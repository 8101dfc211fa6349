import Wire

extension TopFrame {
  /// The frame for programs: the numbers as they are, in seconds and bytes.
  public var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      if let seconds { writer.write("seconds", raw: Self.number(seconds)) }
      writer.list("rates") { Self.write(rates, &$0) }
      writer.list("now") { Self.write(now, &$0) }
      writer.list("latencies") { writer in
        for latency in latencies {
          writer.object { writer in
            writer.write("hop", latency.hop)
            writer.write("p50_seconds", raw: Self.number(latency.median))
            writer.write("p99_seconds", raw: Self.number(latency.p99))
            writer.write("measured", raw: Self.number(latency.count))
          }
        }
      }
      writer.list("channels") { writer in
        for channel in channels { writer.object { Self.write(channel, &$0) } }
      }
      writer.list("slowest") { Self.write(slowest, &$0) }
      writer.list("busiest") { Self.write(busiest, &$0) }
      writer.list("limits") { Self.write(limits, &$0) }
      writer.list("troubles") { writer in for trouble in troubles { writer.write(element: trouble) } }
    }
    return writer.bytes
  }

  private static func write(_ rows: [Row], _ writer: inout JSONWriter) {
    for row in rows {
      writer.object { writer in
        writer.write("name", row.name)
        writer.write("value", raw: number(row.value))
        writer.write("unit", row.unit.rawValue)
      }
    }
  }

  private static func write(_ channel: Channel, _ writer: inout JSONWriter) {
    writer.write("channel", channel.name)
    writer.write("subscribers", raw: number(channel.subscribers))
    writer.write("bytes_per_second", raw: number(channel.bytesPerSecond))
    if let rate = channel.publicationsPerSecond { writer.write("publications_per_second", raw: number(rate)) }
    if let rate = channel.deliveriesPerSecond { writer.write("deliveries_per_second", raw: number(rate)) }
  }

  private static func write(_ clients: [TopSnapshot.Client], _ writer: inout JSONWriter) {
    for client in clients {
      writer.object { writer in
        writer.write("client", client.client)
        writer.write("user", client.user)
        writer.write("address", client.address)
        writer.write("waiting_bytes", raw: number(client.waitingBytes))
        writer.write("subscriptions", raw: number(client.subscriptions))
      }
    }
  }

  /// JSON knows no infinity.
  private static func number(_ value: Double) -> [UInt8] {
    guard value.isFinite else { return Array("null".utf8) }
    if value == value.rounded(), abs(value) < 1e15 { return Array(String(Int64(value)).utf8) }
    return Array(String(value).utf8)
  }
}
