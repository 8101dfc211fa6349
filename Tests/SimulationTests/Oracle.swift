import Wire

/// Knows everything that anybody was ever told, and complains when two of them were told different things.
struct Oracle {
  struct Place: Hashable {
    var channel: ChannelName
    var epoch: String
    var offset: UInt64
  }

  private struct Acknowledgement {
    var place: Place
    var payload: [UInt8]
  }

  private var truth: [Place: [UInt8]] = [:]
  private var places: [[UInt8]: [Place]] = [:]
  private var acknowledgements: [Acknowledgement] = []

  /// The broker delivered: the first time that anybody can have seen this.
  mutating func delivered(_ channel: ChannelName, _ epoch: String, _ publication: Publication) -> String? {
    let place = Place(channel: channel, epoch: epoch, offset: publication.offset)
    if let other = truth[place], other != publication.data {
      return "\(place): two publications, \(text(other)) and \(text(publication.data))"
    }
    if truth[place] != nil { return "\(place): delivered twice" }
    truth[place] = publication.data
    for other in places[publication.data] ?? [] where other.epoch == epoch || channel.namespace == "d" {
      return "\(text(publication.data)) has two places: \(other) and \(place)"
    }
    places[publication.data, default: []].append(place)
    return nil
  }

  /// A client got it, live or by recovery.
  func seen(_ channel: ChannelName, _ epoch: String, _ publication: Publication) -> String? {
    let place = Place(channel: channel, epoch: epoch, offset: publication.offset)
    guard let data = truth[place] else { return "\(place): seen, but never delivered" }
    return data == publication.data ? nil : "\(place): seen \(text(publication.data)), delivered \(text(data))"
  }

  mutating func acknowledged(_ channel: ChannelName, _ position: StreamPosition, _ payload: [UInt8]) {
    let place = Place(channel: channel, epoch: position.epoch, offset: position.offset)
    acknowledgements.append(Acknowledgement(place: place, payload: payload))
  }

  /// What is on disk when a broker ends, delivered or not: the next one stands by it. A relaxed channel's stand in its
  /// new epoch at the same offsets.
  mutating func survived(_ name: ChannelName, _ channel: SimulatedDisk.Channel) -> String? {
    for publication in channel.written {
      let place = Place(channel: name, epoch: channel.epoch, offset: publication.offset)
      if truth[place] == nil {
        if let complaint = delivered(name, channel.epoch, publication) { return complaint }
      } else if truth[place] != publication.data {
        return "\(place): delivered and on disk differ"
      }
    }
    return nil
  }

  /// What was acknowledged must be what was delivered there; on a durable channel it must be on disk, or have been
  /// pushed out by newer ones.
  func verdict(disk: [ChannelName: SimulatedDisk.Channel]) -> [String] {
    var complaints: [String] = []
    for acknowledgement in acknowledgements {
      let place = acknowledgement.place
      if truth[place] != acknowledgement.payload {
        complaints.append("\(place): acknowledged \(text(acknowledgement.payload)), which is not there")
      }
      guard place.channel.namespace == "d" else { continue }
      let channel = disk[place.channel]
      if channel?.epoch != place.epoch || (channel?.top ?? 0) < place.offset {
        complaints.append("\(place): acknowledged and lost")
      }
      if let kept = channel?.kept, let oldest = kept.first?.offset, place.offset >= oldest,
        kept.first(where: { $0.offset == place.offset })?.data != acknowledgement.payload
      {
        complaints.append("\(place): acknowledged, and something else is on disk")
      }
    }
    return complaints
  }

  private func text(_ data: [UInt8]) -> String { String(decoding: data, as: UTF8.self) }
}

/// What the seeds reached together: a simulation in which nothing goes wrong shows nothing.
struct Coverage {
  var acknowledged = 0
  var refused = 0
  var recovered = 0
  var notRecovered = 0
  var lostPositions = 0
  var lostMessages = 0
  var brokerCrashes = 0
  var brokerRestarts = 0
  var gatewayCrashes = 0
  var gaps: UInt64 = 0
  var resets: UInt64 = 0
  var refilled: UInt64 = 0
  /// Requests and answers that waited for room on a link.
  var deferred: UInt64 = 0
  /// First tries that would have held more.
  var tooLarge = 0

  mutating func add(_ other: Coverage) {
    acknowledged += other.acknowledged
    refused += other.refused
    recovered += other.recovered
    notRecovered += other.notRecovered
    lostPositions += other.lostPositions
    lostMessages += other.lostMessages
    brokerCrashes += other.brokerCrashes
    brokerRestarts += other.brokerRestarts
    gatewayCrashes += other.gatewayCrashes
    gaps += other.gaps
    resets += other.resets
    refilled += other.refilled
    deferred += other.deferred
    tooLarge += other.tooLarge
  }
}
