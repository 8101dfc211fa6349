import Foundation
import Synchronization
import TestSupport
import Testing

/// One device of somebody under fire. What it asks is asked again, word for word and with the same key, until it is
/// answered; where its connection is lost it connects again, and goes on with its channels where it was.
///
/// It belongs to one task at a time. What it has seen may be looked at meanwhile.
final class FireDevice: Sendable {
  struct Answer {
    var data: JSON
    /// It was asked more than once: what was asked before may have been done.
    var isRepeated: Bool
  }

  /// A refusal, which is an answer too.
  struct Refusal: Error, CustomStringConvertible {
    var fault: Phone.Fault
    var isRepeated: Bool
    var description: String { "\(fault)\(isRepeated ? ", asked again" : "")" }
  }

  /// What has come of a stream with all connections, in the order in which it came.
  private struct Stream {
    var epoch = ""
    var seen: [JSON] = []
    var last: Int { seen.last?["offset"].int ?? 0 }
  }

  private struct State {
    var phone: Phone?
    /// All channels are subscribed to again on the connection.
    var isReady = false
    var streams: [String: Stream] = [:]
    /// Streams of which more may come.
    var open: Set<String> = []
    var maps: Set<String> = []
    var heard: [String] = []
    var faults: [String] = []
  }

  let user: String
  /// The gateway to which it connects.
  let gateway: String
  private let ground: any FireGround
  private let watch: FireWatch
  private let state = Mutex(State())

  init(_ user: String, at gateway: String, of ground: any FireGround, _ watch: FireWatch) {
    (self.user, self.gateway, self.ground, self.watch) = (user, gateway, ground, watch)
  }

  deinit { state.withLock { $0.phone }?.cut() }

  // MARK: Asking

  /// Longer than a gateway waits for its broker.
  private static let patience = Duration.seconds(120)

  @discardableResult
  func call(_ method: String, _ data: String) async throws -> Answer {
    var isRepeated = false
    let answer = try await untilAnswered("\(method) \(data)") { () -> Answer? in
      do {
        let result = try await self.connected().call(method, data)
        return Answer(data: result, isRepeated: isRepeated)
      } catch {
        try Self.refuse(error, isRepeated)
        isRepeated = true
        return nil
      }
    }
    watch.step()
    return answer
  }

  /// Throws where the server has said what it makes of a request, rather than that it cannot now, or nothing.
  private static func refuse(_ error: any Error, _ isRepeated: Bool = false) throws {
    guard let fault = error as? Phone.Fault, fault.code != 100, fault.code != 111 else { return }
    throw Refusal(fault: fault, isRepeated: isRepeated)
  }

  /// A call that is refused where an earlier one of the same has been done, of which the answer was lost.
  ///
  /// - Parameter code: of an error that is an answer, too; nil: none is.
  /// - Returns: nil where it was refused so.
  @discardableResult
  func callOnce(_ method: String, _ data: String, orRefused code: Int? = nil) async throws -> Answer? {
    do { return try await call(method, data) } catch let refusal as Refusal
      where refusal.isRepeated || refusal.fault.code == code
    {
      return nil
    }
  }

  @discardableResult
  private func untilAnswered<Result>(
    _ what: String, _ attempt: () async throws -> Result?
  ) async throws -> Result {
    var answer: Result?
    let isAnswered = try await eventually(within: Self.patience) {
      answer = try await attempt()
      return answer != nil
    }
    guard isAnswered, let answer else { throw Failure("\(user) was never answered: \(what)") }
    return answer
  }

  // MARK: Pictures

  private func pictures(_ app: String) throws -> PictureClient {
    PictureClient(
      port: URL(string: try ground.url(of: gateway))?.port ?? 0, token: try ground.pass(of: user), app: app)
  }

  /// Uploads a picture, from its beginning each time.
  func upload(_ picture: PictureClient.Picture, to app: String) async throws {
    let refused: Set<Int> = [400, 401, 403, 411, 413, 415, 422]
    try await untilAnswered("upload \(picture.id)") { () -> Bool? in
      let status = try? await onOwnThread { try self.pictures(app).put(picture) }
      if let status, refused.contains(status) { throw Failure("\(user)'s picture \(picture.id): status \(status)") }
      return status == 201 ? true : nil
    }
    watch.step()
  }

  /// What somebody finds who looks for a picture.
  func look(at picture: PictureClient.Picture, of app: String, clean: [UInt8]? = nil) async throws -> PictureLook {
    try await untilAnswered("look at \(picture.id)") { () -> PictureLook? in
      let began = FireClock.now
      let answer = try? await onOwnThread { try self.pictures(app).get(picture) }
      guard let answer, !answer.isCutOff, answer.status == 200 || answer.status == 404 else { return nil }
      return PictureLook(
        viewer: user, picture: picture.id, isOpen: answer.status == 200,
        isWhole: answer.body == (clean ?? picture.bytes), began: began, ended: FireClock.now)
    }
  }

  // MARK: Channels

  /// Follows a stream from its beginning, or from where it was left.
  func follow(_ channel: String) async throws {
    state.withLock {
      $0.open.insert(channel)
      $0.isReady = false
    }
    try await mend()
  }

  func follow(map channel: String) async throws {
    state.withLock {
      $0.maps.insert(channel)
      $0.isReady = false
    }
    try await mend()
  }

  /// Leaves a stream and a map, which may not be subscribed to for a while.
  func leave(_ channels: [String]) async throws {
    try await untilAnswered("leave \(channels)") { () -> Bool? in
      do {
        let phone = try await self.connected()
        for channel in channels { try await phone.ask(#""unsubscribe":{"channel":"\#(channel)"}"#) }
        return true
      } catch {
        try Self.refuse(error)
        return nil
      }
    }
    state.withLock { state in
      Self.keep(&state)
      for channel in channels {
        state.open.remove(channel)
        state.maps.remove(channel)
      }
      // The next connection alone has what is followed from now on.
      state.isReady = false
    }
  }

  /// Connects again where the connection, or a map, was lost.
  func mend() async throws {
    try await untilAnswered("connect") { () -> Phone? in
      do { return try await self.connected() } catch {
        try Self.refuse(error)
        return nil
      }
    }
  }

  /// The connection, with everything followed on it.
  private func connected() async throws -> Phone {
    if let usable = state.withLock({ Self.usable($0) }) { return usable }
    if let old = state.withLock({ $0.phone }) {
      old.cut()
      // Everything that came is taken in by then.
      _ = await eventually(within: .seconds(60)) { old.closing != nil }
    }
    state.withLock { Self.keep(&$0) }
    let phone = try await onOwnThread { [ground, gateway] in try Phone(ground.url(of: gateway)) }
    state.withLock { ($0.phone, $0.isReady) = (phone, false) }
    try await phone.connect(ground.pass(of: user))
    for channel in state.withLock({ $0.open.sorted() }) { try await recover(channel, on: phone) }
    for channel in state.withLock({ $0.maps.sorted() }) { try await phone.subscribeMap(channel) }
    state.withLock { $0.isReady = true }
    return phone
  }

  private static func usable(_ state: State) -> Phone? {
    guard state.isReady, let phone = state.phone, phone.closing == nil else { return nil }
    // A map that could not be continued over the end of a broker is to be read from its start.
    return state.maps.contains { phone.unsubscribed($0) != nil } ? nil : phone
  }

  private func recover(_ channel: String, on phone: Phone) async throws {
    let stream = state.withLock { $0.streams[channel] ?? Stream() }
    let result = try await phone.subscribe(
      channel, #","recover":true,"epoch":"\#(stream.epoch)","offset":\#(stream.last)"#)
    state.withLock { state in
      if !stream.epoch.isEmpty, !result["recovered"].bool { state.faults.append("\(channel) was not recovered") }
      var next = stream
      next.epoch = result["epoch"].string ?? ""
      next.seen += result["publications"].array
      state.streams[channel] = next
      state.heard += result["publications"].array.map(\.description)
    }
  }

  /// Takes over what has come with the connection that is given up.
  private static func keep(_ state: inout State) {
    guard let phone = state.phone else { return }
    for channel in state.open {
      state.streams[channel, default: Stream()].seen += live(channel, phone)
      if let code = phone.unsubscribed(channel) { state.faults.append("\(channel) ended with \(code)") }
    }
    state.heard += phone.pushes.map(\.description)
    state.phone?.cut()
    state.phone = nil
  }

  private static func live(_ channel: String, _ phone: Phone) -> [JSON] {
    phone.pushes.filter { $0["channel"].string == channel && !$0["pub"].isNull }.map { $0["pub"] }
  }

  /// All that stands in a stream now, page by page.
  func read(_ channel: String) async throws -> ChatReading {
    try await untilAnswered("read \(channel)") { () -> ChatReading? in
      do { return try await Self.read(channel, on: self.connected()) } catch {
        try Self.refuse(error)
        return nil
      }
    }
  }

  private static func read(_ channel: String, on phone: Phone) async throws -> ChatReading {
    let began = FireClock.now
    var (publications, since) = ([JSON](), "")
    while true {
      let page = try await phone.ask(#""history":{"channel":"\#(channel)","limit":-1\#(since)}"#)["history"]
      publications += page["publications"].array
      guard let last = page["publications"].array.last?["offset"].int, last < page["offset"].int ?? 0 else { break }
      since = #","since":{"epoch":"\#(page["epoch"].string ?? "")","offset":\#(last)}"#
    }
    return ChatReading(publications: publications, began: began, ended: FireClock.now)
  }

  // MARK: What it has seen

  /// All that has come of a stream, in the order in which it came.
  func seen(_ channel: String) -> [JSON] {
    state.withLock { state in
      let live = state.phone.map { Self.live(channel, $0) } ?? []
      return (state.streams[channel]?.seen ?? []) + live
    }
  }

  func map(_ channel: String) -> [String: JSON] { state.withLock { $0.phone }?.map(channel) ?? [:] }

  /// Everything that the device was ever sent, but for answers to calls.
  var heard: [String] {
    state.withLock { state in state.heard + (state.phone?.pushes.map(\.description) ?? []) }
  }

  /// Streams that could not be recovered, or were ended by the server.
  var faults: [String] { state.withLock { $0.faults.map { "\(user) at \(gateway): \($0)" } } }
}

/// Milliseconds since 1970, by the clock that the servers have too.
enum FireClock {
  static var now: Int { Int(Date().timeIntervalSince1970 * 1000) }
}

/// What somebody has found who looked for a picture.
struct PictureLook: Sendable {
  var viewer: String
  var picture: String
  /// It was given out; else the answer was that there is nothing.
  var isOpen: Bool
  /// Each byte was as it was to be.
  var isWhole = true
  var began = 0
  var ended = 0
}
