import DequeModule
import Log
import Wire

/// Everything the broker holds of one webhook: its events in the log, and how far they are sent.
///
/// On disk an outbox is two streams and two entries of a map, all of them hidden. The first stream holds the events
/// that are to be sent, each written in the transaction of what it tells. The second holds those that were given up.
/// The entries say up to which event each stream is done; what is done is trimmed by the next event that is written.
final class Outbox {
  let configuration: WebhookConfiguration
  private(set) var waiting: BrokerChannel
  private(set) var givenUp: BrokerChannel
  var sender: WebhookSender
  /// Bytes of all events: of those on disk, of those that were given to the log, and of those that are done.
  private var landedTotal: UInt64 = 0
  private(set) var nextTotal: UInt64 = 0
  private(set) var doneTotal: UInt64 = 0
  /// Given-up events up to this offset were sent again.
  var resentThrough: UInt64 = 0
  /// Given-up events are on their way back among those that wait.
  var isResending = false
  /// Events that belong to no other entry and that the log did not take: tried again with each tick.
  private(set) var held: Deque<OutboxDraft> = []
  /// When more of them are told, in monotonic milliseconds; `.max`: with the next tick, whenever that comes.
  var tellsNext = Int64.max
  /// The log is asked for these; kept, so that a read that waits for the disk asks the same again.
  var reading: LogRange?
  /// The streams are loaded, and how far they are done. True last, when the outbox is of use.
  private(set) var isOpen = false
  private(set) var hasWaiting = false
  private(set) var hasGivenUp = false
  /// What the process has counted.
  var status = WebhookStatus()
  private var reportedMissing: UInt64 = 0
  /// While the sender is asked what to do next, so that what it does does not ask it once more within.
  var isDriven = false

  /// Events that wait because the log does not take them; one more is lost.
  static let mostHeld = 10_000
  /// Events of these that one turn tells. Each is a transaction of its own.
  static let heldPerTurn = 256
  /// Bytes before the JSON of each event in the log: the total.
  static let headerBytes = 8
  /// Milliseconds that events are kept at most, done or not: ten years.
  static let lifetime: Int64 = 315_360_000_000

  init(_ configuration: WebhookConfiguration, store: any LogStore) {
    self.configuration = configuration
    let nowhere = OpenedChannel(position: StreamPosition(epoch: "", offset: 0))
    waiting = Self.state("fanfare.webhook:\(configuration.name)", store, nowhere)
    givenUp = Self.state("fanfare.webhook-given-up:\(configuration.name)", store, nowhere)
    sender = WebhookSender(configuration, cursor: 0, top: 0)
    status.name = configuration.name
  }

  private static func state(_ name: String, _ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    guard let name = try? ChannelName(name) else {
      preconditionFailure("the settings take only names of webhooks with which \(name) is a channel")
    }
    return state(name, store, opened)
  }

  private static func state(_ name: ChannelName, _ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    var options = ChannelOptions()
    options.durability = .durable
    return BrokerChannel(name: name, options: options, store: store, opened: opened, isHidden: true)
  }

  // MARK: Loading

  func opened(waiting found: OpenedChannel) {
    waiting = Self.state(waiting.name, waiting.store, found)
    hasWaiting = true
  }

  func opened(givenUp found: OpenedChannel) {
    givenUp = Self.state(givenUp.name, givenUp.store, found)
    hasGivenUp = true
  }

  /// Another broker keeps the channels now.
  func lost() { (isOpen, hasWaiting, hasGivenUp) = (false, false, false) }

  /// Begins where the process before this one ended.
  ///
  /// - Parameters:
  ///   - done: what the map says; nil: nothing was sent yet.
  ///   - newest: the newest event that says its total; nil: there is none, or it is not kept any more.
  func begin(after done: OutboxRecord?, newest: Publication?) {
    let top = waiting.sequencer.top
    var cursor: UInt64 = 0
    if let done, done.epoch.hasSameBytes(as: top.epoch) { (cursor, doneTotal) = (done.offset, done.total) }
    sender = WebhookSender(configuration, cursor: cursor, top: top.offset)
    landedTotal = max(newest.flatMap { Self.total(of: $0) } ?? 0, doneTotal)
    nextTotal = landedTotal
    reportedMissing = 0
    (isDriven, isResending, reading) = (false, false, nil)
    isOpen = true
  }

  // MARK: Events

  /// The next event that is to go to the log, and its offset, `ahead` events after the newest that the log took.
  ///
  /// - Returns: nil while the channel drains.
  func publication(of draft: OutboxDraft, ahead: UInt64, after before: UInt64?) -> Publication? {
    guard let next = waiting.sequencer.peek() else { return nil }
    let offset = next + ahead
    let json = draft.json(id: "\(configuration.name)-\(waiting.sequencer.top.epoch)-\(offset)")
    return Self.publication(json, at: offset, time: draft.time, after: before ?? nextTotal)
  }

  static func publication(_ json: [UInt8], at offset: UInt64, time: Int64, after before: UInt64) -> Publication {
    // What was before comes from the disk.
    let total = before &+ UInt64(json.count)
    var data: [UInt8] = []
    data.reserveCapacity(headerBytes + json.count)
    for shift in stride(from: 56, through: 0, by: -8) { data.append(UInt8(truncatingIfNeeded: total >> UInt64(shift))) }
    data.append(contentsOf: json)
    return Publication(offset: offset, time: time, data: data)
  }

  /// Nil where the log holds something else than this version writes.
  static func event(_ publication: Publication) -> OutboxEvent? {
    guard let total = total(of: publication) else { return nil }
    return OutboxEvent(
      offset: publication.offset, time: publication.time, total: total,
      json: Array(publication.data.dropFirst(headerBytes)))
  }

  /// The bytes of all events up to and with this one; nil as for ``event(_:)``, whose JSON is not copied here.
  static func total(of publication: Publication) -> UInt64? {
    guard publication.data.count >= headerBytes else { return nil }
    return publication.data.prefix(headerBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
  }

  /// How many of the newest events the log keeps when it takes the one at the offset: those that are not done, and
  /// never more than twice as many as may wait.
  func kept(at offset: UInt64) -> Int {
    let undone = offset > sender.cursor ? offset - sender.cursor : 1
    return Int(clamping: min(undone, 2 * UInt64(configuration.mostWaiting) + 1000))
  }

  /// How many of the newest given-up events the log keeps when it takes the one at the offset.
  func keptGivenUp(at offset: UInt64) -> Int {
    Int(clamping: min(offset > resentThrough ? offset - resentThrough : 1, UInt64(configuration.mostGivenUp)))
  }

  /// The log took an event.
  func taken(_ publication: Publication) {
    if let total = Self.total(of: publication) { nextTotal = total }
  }

  /// An event is on disk.
  func landed(_ publication: Publication) {
    if let total = Self.total(of: publication) { landedTotal = total }
    sender.appended(publication.offset)
  }

  /// An event did not get to the disk. To be called after the channel's sequencer was told.
  func failed(_ draft: OutboxDraft?) {
    if waiting.sequencer.isIdle { nextTotal = landedTotal }
    if let draft { hold(draft) }
  }

  // MARK: Events that the log does not take now

  func hold(_ draft: OutboxDraft) {
    if held.count < Self.mostHeld { held.append(draft) } else { status.lost += 1 }
  }

  /// Empties events in memory. Those that are on their way to the log are found there.
  func erase(where isErased: ([UInt8]) -> Bool) {
    held.removeAll { isErased($0.json(id: "")) }
    sender.erase(where: isErased)
  }

  /// The log took the first of those that waited.
  func toldHeld() { held.removeFirst() }

  // MARK: How it is doing

  /// The cursor is on disk.
  func done(_ record: OutboxRecord) { doneTotal = record.total }

  var waitingCount: UInt64 { sender.top - sender.cursor }
  var waitingBytes: UInt64 { landedTotal > doneTotal ? landedTotal - doneTotal : 0 }

  var isOverfull: Bool {
    waitingCount > UInt64(configuration.mostWaiting) || waitingBytes > UInt64(configuration.mostWaitingBytes)
  }

  /// Offsets of the given-up events that are kept: after the first, up to and with the second.
  var givenUpRange: (after: UInt64, through: UInt64) {
    let top = givenUp.sequencer.top.offset
    let most = UInt64(configuration.mostGivenUp)
    return (min(top, max(resentThrough, top > most ? top - most : 0)), top)
  }

  /// How the webhook is doing now.
  func currentStatus() -> WebhookStatus {
    status.lost += sender.missing - reportedMissing
    reportedMissing = sender.missing
    var now = status
    now.waiting = waitingCount + UInt64(held.count)
    now.waitingBytes = waitingBytes
    now.oldest = sender.batch?.events.first?.time ?? held.first?.time
    let (after, through) = givenUpRange
    now.keptGivenUp = through - after
    return now
  }
}

/// How far an outbox is sent, as the log keeps it.
struct OutboxRecord: Equatable {
  /// Of the outbox's channel: offsets of another epoch are other events.
  var epoch: String
  var offset: UInt64
  var total: UInt64

  var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("epoch", epoch)
      writer.write("offset", offset)
      writer.write("total", total)
    }
    return writer.bytes
  }

  init(epoch: String, offset: UInt64, total: UInt64) {
    self.epoch = epoch
    self.offset = offset
    self.total = total
  }

  /// Nil where the bytes are none of this version's.
  init?(_ bytes: [UInt8]) {
    guard let fields = (try? JSONValue(parsing: bytes))?.object, let epoch = fields["epoch"]?.string,
      let offset = fields["offset"].flatMap({ UInt64($0.text) }),
      let total = fields["total"].flatMap({ UInt64($0.text) })
    else { return nil }
    self.init(epoch: epoch, offset: offset, total: total)
  }
}

/// An event before it has a place in an outbox.
struct OutboxDraft {
  var event: WebhookEvents
  /// Milliseconds since 1970.
  var time: Int64
  var channel: ChannelName?
  /// Nil for events that are no publications.
  var publication: (Publication, epoch: String, binary: Bool)?
  var client: ClientEvent?
  /// What an app tells, as JSON.
  var data: [UInt8]?
  /// The request that told of it, so that a gateway which repeats it after a restart is not believed twice.
  var origin: RequestOrigin?

  init(
    _ event: WebhookEvents, at time: Int64, channel: ChannelName? = nil, client: ClientEvent? = nil,
    data: [UInt8]? = nil
  ) {
    self.event = event
    self.time = time
    self.channel = channel
    self.client = client
    self.data = data
  }

  /// The event as its receiver gets it.
  func json(id: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 192 + (publication?.0.data.count ?? 0))
    writer.object { writer in
      writer.write("id", id)
      writer.write("type", event.name)
      // A publication brings its own time along, which is the same.
      if publication == nil { writer.write("time", time) }
      if let channel { writer.write("channel", channel.string) }
      if let client { write(client, &writer) }
      if let (publication, epoch, binary) = publication {
        writer.write("epoch", epoch)
        if binary { writer.write("binary", true) }
        writer.write(publication, binary: binary)
      }
      if let data { writer.write("data", raw: data) }
    }
    return writer.bytes
  }

  private func write(_ client: ClientEvent, _ writer: inout JSONWriter) {
    writer.write("user", client.user)
    writer.write("client", client.client)
    guard client.kind == .disconnected else { return }
    writer.write("code", client.code)
    writer.write("reason", client.reason)
  }
}
