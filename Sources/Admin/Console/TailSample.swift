import Wire

/// What a live tail shows of a channel's publications, however many there are: pure.
///
/// Each publication is held against the filter; of those that pass, at most ``rate`` are kept until they are taken, in few
/// bytes. All others are counted.
struct TailSample {
  /// Publications that are shown: in a second, and at once.
  static let rate = RateLimit(perSecond: 20, burst: 20)
  /// Bytes of a payload that are shown; of a larger one only its length is told.
  static let longestData = 16 << 10
  /// Bytes of payloads that wait to be taken.
  static let mostBytes = 128 << 10

  /// One publication that is shown.
  struct Shown: Sendable {
    var publication: Publication
    /// Bytes of the payload where it was left out.
    var leftOut: Int?
  }

  struct Taken: Sendable {
    var shown: [Shown] = []
    /// Publications that passed the filter and are not among those shown.
    var skipped = 0
    /// Publications that did not pass the filter.
    var filtered = 0

    var isEmpty: Bool { shown.isEmpty && skipped == 0 && filtered == 0 }
  }

  private let filter: TagFilter?
  private var level = TokenLevel(TailSample.rate)
  private var waiting = Taken()
  private var bytes = 0

  init(filter: TagFilter?) { self.filter = filter }

  /// - Parameter now: milliseconds of a clock that never goes back.
  mutating func offer(_ publication: Publication, at now: Int64) {
    if let filter, !filter.matches(publication) {
      waiting.filtered += 1
      return
    }
    let isLong = publication.data.count > Self.longestData
    let cost = isLong ? 0 : publication.data.count
    guard waiting.shown.count < Self.rate.burst, bytes + cost <= Self.mostBytes, level.take(of: Self.rate, at: now)
    else {
      waiting.skipped += 1
      return
    }
    var shown = Shown(publication: publication)
    if isLong {
      shown.leftOut = publication.data.count
      shown.publication.data = []
    }
    bytes += cost
    waiting.shown.append(shown)
  }

  /// What came since it was last asked.
  mutating func take() -> Taken {
    defer {
      waiting = Taken()
      bytes = 0
    }
    return waiting
  }
}

extension TailSample.Taken {
  /// As events: one for each publication, then one that counts the others.
  ///
  /// - Parameter binary: the channel's payloads are any bytes, and shown as base64.
  func events(binary: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    for shown in shown {
      var writer = JSONWriter()
      writer.object { writer in
        guard let length = shown.leftOut else { return writer.write(shown.publication, binary: binary) }
        writer.writeAbout(shown.publication)
        writer.write("data_bytes", length)
      }
      bytes += ConsoleEvents.event(writer.bytes)
    }
    if skipped > 0 || filtered > 0 {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("skipped", skipped)
        writer.write("filtered", filtered)
      }
      bytes += ConsoleEvents.event(writer.bytes)
    }
    return bytes
  }
}

/// Server-Sent Events (HTML Living Standard, section 9.2).
enum ConsoleEvents {
  static let contentType = "text/event-stream"
  /// A line that readers pass over: it tells that the stream is open, and finds out whether anybody still reads.
  static let comment = Array(":\n\n".utf8)

  /// - Parameter json: without line ends, which would end the field.
  static func event(_ json: [UInt8]) -> [UInt8] {
    Array("data: ".utf8) + json.filter { $0 != 0x0A && $0 != 0x0D } + Array("\n\n".utf8)
  }
}
