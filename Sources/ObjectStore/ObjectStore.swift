import Dispatch
import HTTPClient
import Metrics
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// An S3-compatible store: puts, reads, copies, deletes and lists objects of one bucket, whose names begin with one prefix.
///
/// Waits for the store: call it on threads that may wait, any number of them. A call ends when its time is over, whatever
/// the store does. Certificates are verified as everywhere (``HTTPClient``); private addresses are called, because the
/// operator names the endpoint and nobody else can.
///
/// What is read is asked for once more where there was no answer, since asking changes nothing. What changes something is
/// sent once: whoever asks for it knows what doing it twice would mean.
public final class ObjectStore: Sendable {
  /// Bytes of the largest answer: a page of a thousand names, or as much of an object as is read at a time.
  public static let mostAnswerBytes = 4 << 20
  /// Bytes of an object that one call may read.
  public static let mostReadBytes = 3 << 20
  /// More pages than any bucket of pictures has: a store that never ends its list is given up.
  private static let mostPages = 200_000

  public let configuration: ObjectStoreConfiguration
  private let endpoint: StoreEndpoint
  private let signature: RequestSignature
  private let client: HTTPClient
  private let clock: @Sendable () -> Int64
  private let metrics = ObjectStoreMetrics()

  /// - Parameters:
  ///   - userAgent: as the store's log shows it.
  ///   - clock: seconds since 1970; nil: as the machine has them. The store compares them with its own.
  /// - Throws: ``ObjectStoreFault/invalid(_:)``.
  public init(
    _ configuration: ObjectStoreConfiguration, userAgent: String,
    clock: (@Sendable () -> Int64)? = nil
  ) throws(ObjectStoreFault) {
    endpoint = try StoreEndpoint(configuration.endpoint)
    self.configuration = configuration
    self.clock = clock ?? { Int64(time(nil)) }
    signature = RequestSignature(
      credentials: StoreCredentials(
        accessKeyID: configuration.accessKeyID, secretAccessKey: configuration.secretAccessKey,
        region: configuration.region))
    client = HTTPClient(
      HTTPClient.Limits(
        connections: configuration.connections, connectionsPerHost: configuration.connections, waiting: 4096,
        replyBytes: Self.mostAnswerBytes, allowsPrivateAddresses: true,
        certificateAuthorities: configuration.certificateAuthorities),
      name: "pictures", userAgent: userAgent)
  }

  /// Ends all calls that are under way, and those that come.
  public func close() { client.close() }

  // MARK: Calls

  /// Puts an object there, in place of one of the same name. When it returns, the store has all of it.
  public func put(_ name: String, _ bytes: [UInt8]) throws(ObjectStoreFault) {
    try measured(.put) { () throws(ObjectStoreFault) in
      _ = try ask(StoreRequest(method: "PUT", path: path(name), body: bytes), for: [200])
    }
  }

  /// Reads some of an object.
  ///
  /// - Parameters:
  ///   - offset: of the first byte.
  ///   - count: at least one and at most ``mostReadBytes``.
  /// - Returns: the bytes, fewer only where the object ends; and the bytes of the whole object.
  public func read(
    _ name: String, at offset: Int, count: Int
  ) throws(ObjectStoreFault) -> (bytes: [UInt8], total: Int) {
    try measured(.get) { () throws(ObjectStoreFault) in
      let last = offset + min(count, Self.mostReadBytes) - 1
      let request = StoreRequest(
        method: "GET", path: path(name), headers: [("range", "bytes=\(offset)-\(last)")])
      let reply = try ask(request, for: [206], again: true)
      guard let range = ContentRange(reply.contentRange), range.first == offset, range.last <= last,
        reply.body.count == range.last - range.first + 1, range.last == min(last, range.total - 1)
      else {
        throw .unavailable("the store of pictures gives out another part of an object than was asked for")
      }
      return (reply.body, range.total)
    }
  }

  /// Copies an object within the store.
  public func copy(_ name: String, to newName: String) throws(ObjectStoreFault) {
    try measured(.copy) { () throws(ObjectStoreFault) in
      let source = StoreRequest.encoded(path(name), except: UInt8(ascii: "/"))
      let reply = try ask(
        StoreRequest(method: "PUT", path: path(newName), headers: [("x-amz-copy-source", source)]), for: [200])
      // The status is sent before the copy is made, so that an error may stand in the body of a success.
      guard let root = try? XMLReader.read(reply.body), root.name == "CopyObjectResult" else {
        throw Self.fault(status: 500, reply.body)
      }
    }
  }

  /// Deletes an object, or finds that there is none.
  public func delete(_ name: String) throws(ObjectStoreFault) {
    try measured(.delete) { () throws(ObjectStoreFault) in
      do throws(ObjectStoreFault) {
        _ = try ask(StoreRequest(method: "DELETE", path: path(name)), for: [200, 204])
      } catch .missing {
        // Some stores say so, where S3 says that it is deleted.
      }
    }
  }

  /// The names of all objects that begin so, a page with each call.
  public func names(beginningWith start: String = "") throws(ObjectStoreFault) -> [String] {
    var names: [String] = []
    var next: String?
    for _ in 0..<Self.mostPages {
      let page = try page(start, from: next)
      for name in page.names where name.hasPrefix(configuration.prefix + start) {
        names.append(String(name.dropFirst(configuration.prefix.count)))
      }
      guard let token = page.next else { return names }
      guard token != next else { break }
      next = token
    }
    throw .unavailable("the store of pictures does not end its list of objects")
  }

  private func page(_ start: String, from token: String?) throws(ObjectStoreFault) -> ObjectPage {
    try measured(.list) { () throws(ObjectStoreFault) in
      var query = [
        (name: "list-type", value: "2"), (name: "encoding-type", value: "url"),
        (name: "max-keys", value: "\(configuration.namesPerPage)"),
        (name: "prefix", value: configuration.prefix + start),
      ]
      if let token { query.append((name: "continuation-token", value: token)) }
      let reply = try ask(StoreRequest(method: "GET", path: bucketPath, query: query), for: [200], again: true)
      return try Self.parsed { () throws(XMLFault) in try ObjectPage(reply.body) }
    }
  }

  /// Whether the bucket keeps what is deleted.
  public func versioning() throws(ObjectStoreFault) -> BucketVersioning {
    try measured(.versioning) { () throws(ObjectStoreFault) in
      let reply = try ask(
        StoreRequest(method: "GET", path: bucketPath, query: [("versioning", "")]), for: [200], again: true)
      do throws(XMLFault) { return try BucketVersioning(reply.body) } catch {
        throw .notAllowed("an answer of the store of pictures \(error.why)")
      }
    }
  }

  // MARK: The way there

  private var bucketPath: String { "/" + configuration.bucket }
  private func path(_ name: String) -> String { bucketPath + "/" + configuration.prefix + name }

  private func measured<Value>(
    _ call: StoreCall, _ body: () throws(ObjectStoreFault) -> Value
  ) throws(ObjectStoreFault) -> Value {
    let start = ContinuousClock.now
    do throws(ObjectStoreFault) {
      let value = try body()
      metrics.note(call, nil, after: ContinuousClock.now - start)
      return value
    } catch {
      metrics.note(call, error, after: ContinuousClock.now - start)
      throw error
    }
  }

  private static func parsed<Value>(_ body: () throws(XMLFault) -> Value) throws(ObjectStoreFault) -> Value {
    do throws(XMLFault) { return try body() } catch {
      throw .unavailable("an answer of the store of pictures \(error.why)")
    }
  }

  /// - Parameters:
  ///   - statuses: of an answer that says that it is done.
  ///   - again: whether it is asked for once more where there was no answer.
  private func ask(
    _ request: StoreRequest, for statuses: Set<Int>, again: Bool = false
  ) throws(ObjectStoreFault) -> HTTPReply {
    do throws(ObjectStoreFault) { return try askOnce(request, for: statuses) } catch {
      guard again, error.leavesDoubt else { throw error }
    }
    return try askOnce(request, for: statuses)
  }

  private func askOnce(_ request: StoreRequest, for statuses: Set<Int>) throws(ObjectStoreFault) -> HTTPReply {
    let query = request.query.isEmpty ? "" : "?" + request.encodedQuery
    let call = HTTPCall(
      method: request.method, url: endpoint.address + request.encodedPath + query,
      headers: signature.headers(of: request, host: endpoint.host, at: clock()), body: request.body,
      timeoutMilliseconds: configuration.timeoutMilliseconds)
    let answer = Mutex<Result<HTTPReply, HTTPCallError>?>(nil)
    let arrived = DispatchSemaphore(value: 0)
    client.send(call) { result in
      answer.withLock { $0 = result }
      arrived.signal()
    }
    // The client ends each call when its time is over, or when it is closed itself.
    arrived.wait()
    switch answer.withLock({ $0 }) {
    case .success(let reply) where statuses.contains(reply.status): return reply
    case .success(let reply): throw Self.fault(status: reply.status, reply.body)
    case .failure(let error): throw fault(error)
    case nil: throw .unavailable("the store of pictures was not called")
    }
  }

  private func fault(_ error: HTTPCallError) -> ObjectStoreFault {
    switch error {
    case .badURL, .refusedAddress:
      .invalid("the store of pictures at \(configuration.endpoint) cannot be called: \(error)")
    case .unreachable, .timedOut, .tooLarge, .tooMany, .closed:
      .unavailable("the store of pictures at \(configuration.endpoint): \(error)")
    }
  }

  /// What an answer means that does not say that it is done.
  static func fault(status: Int, _ body: [UInt8]) -> ObjectStoreFault {
    let error = StoreError(body)
    let said = error.map { "\($0.code)\($0.message.isEmpty ? "" : ", \($0.message)")" } ?? "status \(status)"
    switch (status, error?.code) {
    // Not a bucket that is not there, nor whatever else stands at a wrong address: then nobody knows of the object.
    case (404, "NoSuchKey"): return .missing
    case (416, _): return .outside
    case (404, "NoSuchBucket"):
      return .refused("the bucket of the pictures is not there (\(said)); make it, or correct its name")
    case (_, "RequestTimeTooSkewed"):
      return .refused("the clocks of this machine and of the store of pictures differ (\(said)); set this one")
    case (301, _), (307, _):
      return .refused("the bucket of the pictures is somewhere else (\(said)); correct endpoint and region")
    case (403, "AccessDenied"), (403, nil):
      return .notAllowed(
        "the store of pictures does not let this key do that (\(said)); it needs to get, put, delete and list objects")
    case (401, _), (403, _):
      return .refused("the store of pictures refuses the key (\(said)); check key, secret and region")
    case (405, _), (501, _): return .notAllowed("the store of pictures does not know what it is asked for (\(said))")
    case (400..<500, _) where status != 408 && status != 429:
      return .refused("the store of pictures refuses what it is asked for (\(said))")
    default: return .unavailable("the store of pictures cannot do it now (\(said))")
    }
  }
}
