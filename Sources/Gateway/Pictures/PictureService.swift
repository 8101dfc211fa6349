public import Auth
import Dispatch
public import Wire
import NIOCore
import NIOPosix
public import ObjectStore
import Synchronization
import ZeroMQ

/// A picture that was taken in and is on disk.
public struct TakenPicture: Sendable, Equatable {
  public var id: String
  public var user: String
  /// A media type: `image/jpeg`.
  public var type: String
  public var bytes: Int
  /// The key that the picture is encrypted under. Nobody else has it: it is gone if the broker does not take it.
  public var key: [UInt8]
  /// Tells the picture's upload from others under the same id.
  public var upload: [UInt8]
  /// Pixels, where the gateway has looked; 0: it has not.
  public var width = 0
  public var height = 0
}

/// A picture that has begun to come.
public struct BegunPicture: Sendable, Equatable {
  public var id: String
  public var user: String
  /// Bytes of the whole picture.
  public var bytes: Int
  public var key: [UInt8]
  public var upload: [UInt8]
}

/// The key of a picture, for somebody who may see it now.
public struct PictureKey: Sendable, Equatable {
  public var type: String
  public var key: [UInt8]

  public init(type: String, key: [UInt8]) {
    self.type = type
    self.key = key
  }
}

/// What the broker says of pictures that a gateway has.
public struct SortedPictures: Sendable, Equatable {
  /// Ids of pictures that nobody can ever see again.
  public var gone: Set<String>
  /// The uploads that are kept for moderators, by their ids.
  public var kept: [String: [[UInt8]]]

  public init(gone: Set<String>, kept: [String: [[UInt8]]] = [:]) {
    self.gone = gone
    self.kept = kept
  }
}

/// What the picture store needs of the broker. Called on a connection's event loop; answered once, on any thread.
public struct PictureBroker: Sendable {
  public typealias Registered = @Sendable (Result<Void, ClientError>) -> Void
  public typealias UploadKeyed = @Sendable (Result<[UInt8], ClientError>) -> Void
  public typealias Keyed = @Sendable (Result<PictureKey, ClientError>) -> Void
  public typealias Sorted = @Sendable (Result<SortedPictures, ClientError>) -> Void

  // What is said of State here is so of each app: `clique.picture.added`, and so on.

  /// `state.picture.added` in the name of the picture's user.
  public var register: @Sendable (_ picture: TakenPicture, _ answer: @escaping Registered) -> Void
  /// `state.picture.added` without a type, for a picture that has only begun to come: other gateways can go on with it.
  public var begin: @Sendable (_ picture: BegunPicture, _ answer: @escaping Registered) -> Void
  /// `state.picture.upload`: the key of an upload that another gateway began.
  public var uploadKey:
    @Sendable (_ id: String, _ upload: [UInt8], _ user: String, _ answer: @escaping UploadKeyed) -> Void
  /// `state.picture.discard` in the name of the user: an upload, or a picture that was not sent.
  public var discard: @Sendable (_ id: String, _ user: String, _ answer: @escaping Registered) -> Void
  /// `state.picture.key` in the name of the user.
  public var key: @Sendable (_ id: String, _ user: String, _ answer: @escaping Keyed) -> Void
  /// `state.picture.gone`: which of these pictures nobody can ever see again, and what is kept of them.
  public var gone: @Sendable (_ ids: [String], _ answer: @escaping Sorted) -> Void

  public init(
    register: @escaping @Sendable (TakenPicture, @escaping Registered) -> Void,
    begin: @escaping @Sendable (BegunPicture, @escaping Registered) -> Void,
    uploadKey: @escaping @Sendable (String, [UInt8], String, @escaping UploadKeyed) -> Void,
    discard: @escaping @Sendable (String, String, @escaping Registered) -> Void,
    key: @escaping @Sendable (String, String, @escaping Keyed) -> Void,
    gone: @escaping @Sendable ([String], @escaping Sorted) -> Void
  ) {
    self.register = register
    self.begin = begin
    self.uploadKey = uploadKey
    self.discard = discard
    self.key = key
    self.gone = gone
  }
}

public struct PictureConfiguration: Sendable {
  /// Of uploads, and of whole pictures where there is no store of objects: then all gateways of a broker need the same one.
  /// Made where it does not exist; its parent must.
  public var folder: String
  /// Where whole pictures are kept; nil: in the folder.
  public var objects: ObjectStoreConfiguration?
  /// How calls of the store name this server.
  public var userAgent = "Fanfare"
  /// Bytes of a picture of State.
  public var maximumBytes: Int
  /// Bytes, and pixels a side, of a picture of Clique.
  public var maximumCliqueBytes = 8 << 20
  public var maximumCliquePixels = 8192
  /// The apps that take pictures.
  public var purposes: Set<PicturePurpose> = [.state]
  /// An upload, or a download, that does not move for so long ends.
  public var idleTimeoutMilliseconds: Int64 = 15_000
  /// The longest that one request may take; an upload goes on with another.
  public var requestTimeoutMilliseconds: Int64 = 300_000
  /// How long the token check, the disk and the broker may take before the request is given up.
  public var answerTimeoutMilliseconds: Int64 = 60_000
  /// Seconds after which an upload that nobody goes on with is deleted.
  public var partialLifetimeSeconds: Int64 = 3_600
  /// Requests under way, in all and of one user.
  public var maximumRequests: Int
  public var maximumRequestsPerUser: Int
  /// Threads that wait for the disk, or for the store of objects.
  public var threads = 2
  /// Milliseconds until files of forgotten users that could not be deleted are tried again.
  var retryMilliseconds = 1_000

  public init(folder: String, maximumBytes: Int, maximumRequests: Int, maximumRequestsPerUser: Int) {
    self.folder = folder
    self.maximumBytes = maximumBytes
    self.maximumRequests = maximumRequests
    self.maximumRequestsPerUser = maximumRequestsPerUser
  }
}

/// Pictures over HTTP (docs/STATE.md): give it to ``ListenerConfiguration/pictures``.
public final class PictureService: Sendable {
  let configuration: PictureConfiguration
  let store: PictureStore
  let verifier: any TokenVerifier
  let brokers: [PicturePurpose: PictureBroker]
  let budget: PictureBudget
  private let pool: NIOThreadPool
  /// One thread that deletes files, in the order in which that is asked for: what is discarded before users are
  /// forgotten is gone when they are.
  private let cleaning = NIOThreadPool(numberOfThreads: 1)
  /// What is to become of pictures whose files the disk did not let go of.
  private let undone = Mutex<Set<PictureFate>>([])
  /// Whether pictures that lie in the folder have all been moved to where they are kept.
  private let hasMoved = Mutex(false)
  /// Whether no upload is left of a picture that was whole before this process began.
  private let hasTidied = Mutex(false)
  /// With more, some are left to ``reconcile()``.
  private static let mostUndone = 100_000
  /// Tells the operator what went wrong.
  private let warn: @Sendable (String) -> Void

  /// - Parameters:
  ///   - broker: for each purpose of the configuration.
  ///   - warn: tells the operator what went wrong, with a sentence.
  /// - Throws: where the folder cannot be made or read, or where what is deleted from the store of objects would not be
  ///   gone. The description is a sentence for the operator.
  public init(
    _ configuration: PictureConfiguration, verifier: any TokenVerifier,
    broker: (PicturePurpose) -> PictureBroker,
    warn: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(ListenerError) {
    self.configuration = configuration
    self.warn = warn
    self.verifier = verifier
    brokers = Dictionary(uniqueKeysWithValues: configuration.purposes.map { ($0, broker($0)) })
    budget = PictureBudget(total: configuration.maximumRequests, perUser: configuration.maximumRequestsPerUser)
    var limits = PictureStore.Limits()
    limits.partialLifetimeSeconds = configuration.partialLifetimeSeconds
    limits.cliquePixels = configuration.maximumCliquePixels
    let depot = try Self.depot(configuration, warn)
    do {
      store = try PictureStore(folder: configuration.folder, depot: depot, limits: limits) {
        Int64(MonotonicClock.now() / 1_000_000_000)
      }
    } catch {
      throw .pictureFolder(configuration.folder, "\(error)")
    }
    pool = NIOThreadPool(numberOfThreads: max(1, configuration.threads))
    pool.start()
    cleaning.start()
    cleaning.submit { [self] state in
      guard case .active = state else { return }
      moveIn()
      tidy()
    }
  }

  /// - Returns: nil where pictures are kept in the folder.
  private static func depot(
    _ configuration: PictureConfiguration, _ warn: @escaping @Sendable (String) -> Void
  ) throws(ListenerError) -> ObjectDepot? {
    guard let objects = configuration.objects else { return nil }
    do throws(ObjectStoreFault) {
      let depot = ObjectDepot(try ObjectStore(objects, userAgent: configuration.userAgent), warn: warn)
      do throws(ObjectStoreFault) { try depot.check() } catch .unavailable(let sentence) {
        // Everything but pictures goes on without it.
        warn("pictures cannot be kept or shown before their store answers: \(sentence)")
      }
      return depot
    } catch {
      throw .pictureStore("\(error)")
    }
  }

  /// Moves whole pictures that lie in the folder to where they are kept: they were taken in before that was another place.
  private func moveIn() {
    if hasMoved.withLock({ $0 }) { return }
    do {
      let count = try store.moveIn()
      hasMoved.withLock { $0 = true }
      if count > 0 { warn("\(count) pictures that lay in \(configuration.folder) have been moved into their store") }
    } catch {
      warn("pictures that lie in \(configuration.folder) are not all in their store yet: \(error)")
    }
  }

  /// Deletes uploads that processes before this one have left of whole pictures.
  private func tidy() {
    if hasTidied.withLock({ $0 }) { return }
    // A store that is away now is asked again with the next sweep.
    guard (try? store.removeTaken()) != nil else { return }
    hasTidied.withLock { $0 = true }
  }

  /// Deletes pictures, or keeps them for moderators, as ``AppEffect`` says. Returns at once.
  public func decide(_ fates: [PictureFate]) {
    cleaning.submit { [self] state in
      if case .active = state { decideNow(fates) }
    }
  }

  /// - Returns: whether nothing is left to do for these pictures, nor for those for which it could not be done before.
  @discardableResult
  private func decideNow(_ fates: [PictureFate]) -> Bool {
    let all = undone.withLock { Array($0.union(fates)) }
    let left = all.isEmpty ? [] : store.decide(all)
    undone.withLock { $0 = Set(left.prefix(Self.mostUndone)) }
    return left.isEmpty
  }

  /// Deletes the files of all pictures that users have sent, and what was discarded before; tried again until the disk
  /// lets go of them. Pictures that come later are kept again: end the users' sessions first. Returns at once.
  ///
  /// - Parameter then: called once, with true when none of the files is there any more, or with false where the service
  ///   was stopped before.
  public func forget(_ users: [String], then: @escaping @Sendable (Bool) -> Void) { forget(users, attempt: 1, then) }

  private func forget(_ users: [String], attempt: Int, _ then: @escaping @Sendable (Bool) -> Void) {
    cleaning.submit { [self] state in
      guard case .active = state else { return then(false) }
      do {
        try store.forget(users)
        guard decideNow([]) else { throw PictureFault.system("files that are still there") }
        then(true)
      } catch {
        // Once at first, and then as often as somebody may look.
        if attempt % 60 == 1 { warn("pictures of users whose data is deleted cannot be deleted yet: \(error)") }
        let wait = DispatchTimeInterval.milliseconds(configuration.retryMilliseconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + wait) { [self] in
          forget(users, attempt: attempt + 1, then)
        }
      }
    }
  }

  /// Does what the broker wanted done while there was no link to it, because the broker says so only once. Returns at
  /// once.
  public func reconcile() {
    cleaning.submit { [self] state in
      if case .active = state { reconcile((try? store.finished()) ?? []) }
    }
  }

  private func reconcile(_ pictures: [StoredPicture]) {
    if pictures.isEmpty { return }
    var asked: [PicturePurpose: [StoredPicture]] = [:]
    for picture in pictures.prefix(Self.picturesPerQuestion) {
      // Each app knows its own pictures alone: of others it would say that they are gone.
      if let purpose = store.purpose(of: picture) { asked[purpose, default: []].append(picture) }
    }
    let questions = PicturePurpose.allCases.compactMap { purpose in
      asked[purpose].flatMap { pictures in brokers[purpose].map { (broker: $0, pictures: pictures) } }
    }
    ask(questions[...]) { [weak self] in
      self?.cleaning.submit { [weak self] state in
        if case .active = state { self?.reconcile(Array(pictures.dropFirst(Self.picturesPerQuestion))) }
      }
    }
  }

  /// Asks one question after the other, because the broker has more to do.
  ///
  /// - Parameter then: called when all were answered; not, where the broker cannot answer now.
  private func ask(
    _ questions: ArraySlice<(broker: PictureBroker, pictures: [StoredPicture])>, then: @escaping @Sendable () -> Void
  ) {
    guard let question = questions.first else { return then() }
    question.broker.gone(question.pictures.map(\.id)) { [weak self] answer in
      guard let self else { return }
      switch answer {
      case .success(let sorted): decide(question.pictures.compactMap { $0.fate(by: sorted) })
      case .failure(let error): if error.temporary { return }
      }
      ask(questions.dropFirst(), then: then)
    }
  }

  /// The largest picture of each app that takes any.
  var sizes: PictureSizes {
    PictureSizes(
      state: brokers[.state] == nil ? nil : configuration.maximumBytes,
      clique: brokers[.clique] == nil ? nil : configuration.maximumCliqueBytes)
  }

  private static let picturesPerQuestion = 100

  /// Deletes uploads that nobody goes on with, and looks again at what could not be done or may have been done. Returns at
  /// once; the listener asks every few minutes.
  public func sweep() {
    cleaning.submit { [self] state in
      guard case .active = state else { return }
      store.sweep()
      decideNow([])
      moveIn()
      tidy()
      reconcile((try? store.doubted()) ?? [])
    }
  }

  /// Ends the threads, after the listener.
  public func stop() async {
    // What waits for the store is told that nobody does any more.
    store.depot.close()
    try? await pool.shutdownGracefully()
    try? await cleaning.shutdownGracefully()
  }

  /// Ends the threads, and blocks until they have ended.
  func stopWaiting() {
    store.depot.close()
    try? pool.syncShutdownGracefully()
    try? cleaning.syncShutdownGracefully()
  }

  /// Runs `body` on a thread that may wait for the disk. Fails where the threads have ended.
  func work<Value: Sendable>(
    on eventLoop: any EventLoop, _ body: @escaping @Sendable (PictureStore) throws -> Value
  ) -> EventLoopFuture<Value> {
    pool.runIfActive(eventLoop: eventLoop) { [store] in try body(store) }
  }
}
