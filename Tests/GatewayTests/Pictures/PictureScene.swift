import Auth
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import ObjectStore
import Synchronization
import TestSupport
import Wire

@testable import Gateway

/// A listener that takes pictures in, with a broker and a token check that do what a test says.
final class PictureScene {
  /// Stands for the broker's rules: keeps what was registered, and shows it to whom the test says.
  final class Broker: Sendable {
    struct State {
      var pictures: [String: TakenPicture] = [:]
      var refusal: ClientError?
      var viewers: Set<String> = []
      var registrations = 0
      var uploads: [String: BegunPicture] = [:]
      /// What is done with a beginning, in place of telling the broker of it at once.
      var whenBegun: (@Sendable (_ tell: @escaping @Sendable () -> Void) -> Void)?
      /// As brokers do: an upload that has only begun does not replace a picture that is whole.
      var keepsWhole = false
      /// What happens when a picture is registered, before that is answered.
      var whenRegistered: @Sendable () -> Void = {}
      var uploadKeysAsked = 0
      var keysAsked = 0
      /// Ids that were discarded.
      var barred: Set<String> = []
      var kept: [String: [[UInt8]]] = [:]
    }
    let state = Mutex(State())

    var refusal: ClientError? {
      get { state.withLock(\.refusal) }
      set { state.withLock { $0.refusal = newValue } }
    }
    var registrations: Int { state.withLock(\.registrations) }
    var barred: Set<String> { state.withLock(\.barred) }
    var keysAsked: Int { state.withLock(\.keysAsked) }
    func picture(_ id: String) -> TakenPicture? { state.withLock { $0.pictures[id] } }
    func forget(_ id: String) { state.withLock { $0.pictures[id] = nil } }
    func sort(_ ids: [String]) -> SortedPictures {
      state.withLock { state in
        SortedPictures(
          gone: Set(ids.filter { state.pictures[$0] == nil }), kept: state.kept.filter { ids.contains($0.key) })
      }
    }
    /// What moderators have of a picture, or no more.
    func keep(_ id: String, _ uploads: [[UInt8]]) { state.withLock { $0.kept[id] = uploads } }
    var uploads: [String: BegunPicture] { state.withLock(\.uploads) }
    var uploadKeysAsked: Int { state.withLock(\.uploadKeysAsked) }
    func forgetUploads() { state.withLock { $0.uploads = [:] } }
    func hide(from user: String) { state.withLock { _ = $0.viewers.remove(user) } }
    func show(to user: String) { state.withLock { _ = $0.viewers.insert(user) } }

    func register(_ picture: TakenPicture) -> Result<Void, ClientError> {
      state.withLock(\.whenRegistered)()
      return state.withLock { state in
        state.registrations += 1
        if let refusal = state.refusal { return .failure(refusal) }
        if state.barred.contains(picture.id) { return .failure(ClientError(code: 437, message: "in use")) }
        state.pictures[picture.id] = picture
        return .success(())
      }
    }

    func begin(_ picture: BegunPicture) -> Result<Void, ClientError> {
      state.withLock { state in
        if let refusal = state.refusal { return .failure(refusal) }
        if state.keepsWhole, state.pictures[picture.id] != nil {
          return .failure(ClientError(code: 437, message: "in use"))
        }
        state.uploads[picture.id] = picture
        return .success(())
      }
    }

    func discard(_ id: String, _ user: String) -> Result<Void, ClientError> {
      state.withLock { state in
        if let refusal = state.refusal { return .failure(refusal) }
        state.barred.insert(id)
        if state.pictures[id]?.user == user { state.pictures[id] = nil }
        return .success(())
      }
    }

    func uploadKey(_ id: String, _ upload: [UInt8], _ user: String) -> Result<[UInt8], ClientError> {
      state.withLock { state in
        state.uploadKeysAsked += 1
        if let refusal = state.refusal { return .failure(refusal) }
        guard let picture = state.uploads[id], picture.user == user, picture.upload == upload else {
          return .failure(ClientError(code: 436, message: "unknown"))
        }
        return .success(picture.key)
      }
    }

    func key(_ id: String, _ user: String) -> Result<PictureKey, ClientError> {
      state.withLock { state in
        state.keysAsked += 1
        guard state.viewers.contains(user), let picture = state.pictures[id] else {
          return .failure(ClientError(code: 436, message: "not revealed"))
        }
        return .success(PictureKey(type: picture.type, key: picture.key))
      }
    }
  }

  /// Whoever says "token of ada" is ada.
  struct Verifier: TokenVerifier {
    func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
      switch token {
      case "expired": throw .expired
      case "away": throw .unavailable(reason: "no keys")
      case "anonymous": return ConnectionClaims(user: "")
      default: break
      }
      guard token.hasPrefix("token-of-") else { throw .invalid(reason: "a test's") }
      return ConnectionClaims(user: String(token.dropFirst("token-of-".count)))
    }

    func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
      throw .invalid(reason: "unused")
    }
  }

  struct Answer {
    var status: Int
    var head: String
    var body: [UInt8]

    func header(_ name: String) -> String? {
      head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
        .map { String($0.dropFirst(name.count + 2)) }
    }
  }

  let broker: Broker
  let service: PictureService
  let harness: ListenerHarness
  let folder: String
  /// What is in the bucket, where pictures are kept in one.
  let objects: ObjectStore?
  /// Of the requests for pictures: of State, if nothing else is said.
  var path = PicturePurpose.state.path

  init(
    folder: String, broker: Broker = Broker(), _ configure: (inout PictureConfiguration) -> Void = { _ in },
    listener configureListener: (inout ListenerConfiguration) -> Void = { _ in }
  ) throws {
    self.folder = folder + "/pictures"
    self.broker = broker
    var configuration = PictureConfiguration(folder: self.folder)
    // Tokens are checked on threads that other tests keep busy, for minutes where all of them start at once.
    configuration.idleTimeoutMilliseconds = 600_000
    configuration.answerTimeoutMilliseconds = 600_000
    configuration.objects = PictureStand.objects
    configure(&configuration)
    objects = try configuration.objects.map { try ObjectStore($0, userAgent: "tests") }
    let service = try PictureService(
      configuration, verifier: Verifier(),
      broker: { _ in
        PictureBroker(
          register: { picture, answer in answer(broker.register(picture)) },
          begin: { picture, answer in
            let tell: @Sendable () -> Void = { answer(broker.begin(picture)) }
            if let later = broker.state.withLock(\.whenBegun) { later(tell) } else { tell() }
          },
          uploadKey: { id, upload, user, answer in answer(broker.uploadKey(id, upload, user)) },
          discard: { id, user, answer in answer(broker.discard(id, user)) },
          key: { id, user, answer in answer(broker.key(id, user)) },
          gone: { ids, answer in answer(.success(broker.sort(ids))) })
      })
    self.service = service
    harness = try ListenerHarness { listener in
      listener.pictures = service
      configureListener(&listener)
    }
  }

  func stop() {
    harness.stop()
    service.stopWaiting()
    objects?.close()
  }

  // MARK: The disk

  /// Keeps one of the disk's threads busy, behind what waits for it already, until the semaphore is signalled.
  func occupyDisk() -> DispatchSemaphore {
    let release = DispatchSemaphore(value: 0)
    _ = service.work(on: harness.group.next()) { _ in release.wait() }
    return release
  }

  /// Returns when the event loops have done what they were given before, and what was due within the time.
  func runLoops(afterMilliseconds time: Int64 = 0) throws {
    for loop in Array(harness.group.makeIterator()) {
      try loop.scheduleTask(in: .milliseconds(time)) {}.futureResult.wait()
      try loop.submit {}.wait()
    }
  }

  // MARK: Requests

  static func head(
    _ method: String, _ path: String, token: String? = "token-of-ada", _ headers: [String] = []
  ) -> String {
    let lines = ["Host: a"] + (token.map { ["Authorization: Bearer \($0)"] } ?? []) + headers
    return "\(method) \(path) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  func ask(
    _ method: String, _ path: String, token: String? = "token-of-ada", _ headers: [String] = [], body: [UInt8] = []
  ) throws -> Answer {
    let client = try ListenerRawClient(port: harness.port)
    let length = method == "PUT" && !headers.contains { $0.hasPrefix("Content-Length") || $0.hasPrefix("Transfer") }
    try client.send(
      Self.head(method, path, token: token, headers + (length ? ["Content-Length: \(body.count)"] : [])))
    // The answer may come, and the connection end, before all is sent.
    if !body.isEmpty { try? client.send(body) }
    return try read(client)
  }

  func read(_ client: ListenerRawClient) throws -> Answer {
    let head = try client.readHead()
    let status = Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
    return Answer(status: status, head: head, body: try client.readToEnd())
  }

  /// Discards pictures and waits until that is over: an upload that begins within it would be ended by it. What is asked of
  /// the service's cleaning is done in order.
  func discard(_ ids: [String]) throws { try decide(ids.map(PictureFate.init(gone:))) }

  func decide(_ fates: [PictureFate]) throws {
    service.decide(fates)
    let isOver = Mutex(false)
    service.forget([]) { _ in isOver.withLock { $0 = true } }
    let isDone = try harness.wait { isOver.withLock { $0 } }
    precondition(isDone, "the service has discarded pictures")
  }

  func put(_ id: String, _ picture: [UInt8], token: String = "token-of-ada") throws -> Answer {
    try ask("PUT", "\(path)?id=\(id)", token: token, body: picture)
  }

  func put(_ id: String, _ picture: [UInt8], _ range: Range<Int>, total: Int? = nil) throws -> Answer {
    try ask(
      "PUT", "\(path)?id=\(id)",
      ["Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total ?? picture.count)"],
      body: Array(picture[range]))
  }

  func offset(_ id: String, token: String = "token-of-ada") throws -> String? {
    try ask("HEAD", "\(path)?id=\(id)", token: token).header("Upload-Offset")
  }

  func get(_ id: String, user: String = "ada") throws -> Answer {
    try ask("GET", "\(path)/\(id)", token: "token-of-\(user)")
  }

  /// Whether the picture's owner, who may see it from now on, gets it as it was sent.
  func shows(_ picture: [UInt8]) throws -> Bool {
    broker.show(to: "ada")
    return try get(Self.id).body == picture
  }

  /// An upload that has sent so many of a picture's bytes and stands still, when the server says that it has what is whole
  /// of them.
  func hangingUpload(of picture: [UInt8], after sent: Int) throws -> ListenerRawClient {
    let client = try ListenerRawClient(port: harness.port)
    try client.send(
      Self.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: \(picture.count)"]))
    try client.send(Array(picture[..<sent]))
    let whole = sent - sent % 65_536
    let isThere = try harness.wait { try offset(Self.id) == "\(whole)" }
    guard isThere else { throw ListenerRawClient.Failure.timedOut }
    return client
  }

  /// What reads pictures as the broker's process does.
  func reader() throws -> PictureReader {
    guard let objects else { return PictureReader(folder: folder) }
    return try PictureReader(objects: objects.configuration, userAgent: "tests")
  }

  /// The files of uploads and of whole pictures, these also where they are objects, by the names that files have.
  var files: [String] { (names + ((try? PictureStand.names(in: objects)) ?? ["unreadable"])).sorted() }

  /// What is in the folder.
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

  static let id = "0123456789abcdef0123456789abcdef"

  /// A picture by its first bytes, the rest by a seed, so that no stretch of it stands anywhere by chance.
  static func picture(_ bytes: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SplitMix(state: seed)
    return [0xFF, 0xD8, 0xFF, 0xE0] + (4..<max(bytes, 4)).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }
}

/// Starts a scene in a folder of its own and ends both in any case.
///
/// On a thread of its own: the tests wait for answers, and the server checks tokens on the threads that tests run on.
func withPictures(
  _ configure: @escaping @Sendable (inout PictureConfiguration) -> Void = { _ in },
  listener: @escaping @Sendable (inout ListenerConfiguration) -> Void = { _ in },
  _ body: @escaping @Sendable (PictureScene) throws -> Void
) async throws {
  try await onOwnThread {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pictures-" + UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let scene = try PictureScene(folder: folder, configure, listener: listener)
    defer { scene.stop() }
    try body(scene)
  }
}
