public import Wire

/// What `fanfare top` saw in one look: the counters of each process, and what the gateways told of channels and clients.
public struct TopSnapshot: Sendable {
  public struct Channel: Sendable, Equatable {
    public var name: String
    public var subscribers: Double
    public var bytesPerSecond: Double
    /// The offset of the newest publication; nil: not known.
    public var offset: Double?
  }

  public struct Client: Sendable, Equatable {
    public var client: String
    public var user: String
    public var address: String
    public var waitingBytes: Double
    public var subscriptions: Double
  }

  /// Seconds of a clock that never goes back.
  public var at: Double
  public var pages: [MetricsPage]
  public var channels: [Channel] = []
  public var slowest: [Client] = []
  public var busiest: [Client] = []
  /// Gateways that did not tell in time.
  public var unanswered = 0
  /// What could not be looked at, as sentences.
  public var troubles: [String] = []

  public init(at: Double, pages: [MetricsPage]) {
    self.at = at
    self.pages = pages
  }

  /// Takes in the answer to `top`. A field that is not there, as of an older server, is left out.
  public mutating func add(top answer: JSONValue) {
    guard let object = answer.object else { return }
    channels = (object["channels"]?.array ?? []).compactMap { element in
      guard let one = element.object, let name = one["channel"]?.string else { return nil }
      return Channel(
        name: name, subscribers: Self.number(one["subscribers"]) ?? 0,
        bytesPerSecond: Self.number(one["bytes_per_second"]) ?? 0, offset: Self.number(one["offset"]))
    }
    slowest = Self.clients(object["slowest"])
    busiest = Self.clients(object["busiest"])
    unanswered = Int(Self.number(object["unanswered"]) ?? 0)
  }

  private static func clients(_ list: JSONValue?) -> [Client] {
    (list?.array ?? []).compactMap { element in
      guard let one = element.object, let client = one["client"]?.string else { return nil }
      return Client(
        client: client, user: one["user"]?.string ?? "", address: one["address"]?.string ?? "",
        waitingBytes: number(one["waiting_bytes"]) ?? 0, subscriptions: number(one["subscriptions"]) ?? 0)
    }
  }

  private static func number(_ value: JSONValue?) -> Double? { value.flatMap { Double($0.text) } }

  /// The sum of a metric over all processes; nil: none of them has it.
  func sum(_ name: String) -> Double? {
    let values = pages.compactMap { $0.sum(name) }
    return values.isEmpty ? nil : values.reduce(0, +)
  }

  /// Sums of a metric over all processes, by one of its labels.
  func sums(_ name: String, by label: String) -> [String: Double] {
    var sums: [String: Double] = [:]
    for page in pages {
      for sample in page.samples where sample.name == name { sums[sample[label] ?? "", default: 0] += sample.value }
    }
    return sums
  }
}
