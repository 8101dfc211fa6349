import CPostgreSQL
import Dispatch
import Glibc

/// A connection to PostgreSQL, on libpq. One thread owns it.
///
/// It is in pipeline mode all the time: statements are sent without waiting, each a transaction of its own, and their
/// results come in the order of sending. A result is given back only when the server has ended the statement's
/// transaction, since a commit comes after the rows, and may still fail.
@safe
public final class Connection {
  /// Statements that may be under way at once. Each has its result in the server's buffers, which are read only when
  /// somebody asks for it.
  public static let pipelineLimit = 64

  /// Nil: closed.
  private var handle: OpaquePointer?
  /// The names of statements that the server knows, by their text.
  private var prepared: [String: String] = [:]
  private var statementCount = 0
  /// Statements of which no result was received, the oldest first: the text where it is prepared along with it.
  private var underWay: [String?] = []
  private let notices = NoticeBox()

  /// Statements that were sent and have no result yet.
  public var pendingCount: Int { underWay.count }

  public init(_ parameters: ConnectionParameters) throws(PostgresError) {
    let keywords = try parameters.keywords().sorted { $0.key < $1.key }
    guard let opened = unsafe Self.connect(keywords) else {
      throw PostgresError(.lost, "there is no memory to connect")
    }
    unsafe handle = unsafe opened
    guard unsafe PQstatus(opened) == CONNECTION_OK else {
      let message = unsafe Self.message(of: opened)
      close()
      throw PostgresError(Self.kind(ofRefusal: message), message)
    }
    let box = unsafe Unmanaged.passUnretained(notices).toOpaque()
    _ = unsafe PQsetNoticeReceiver(
      opened,
      { box, result in
        guard let box = unsafe box, let result = unsafe result else { return }
        unsafe Unmanaged<NoticeBox>.fromOpaque(box).takeUnretainedValue().add(result)
      }, box)
    guard unsafe PQsetnonblocking(opened, 1) == 0, unsafe PQenterPipelineMode(opened) == 1 else {
      close()
      throw PostgresError(.lost, "the connection does not take statements one after another")
    }
  }

  deinit { close() }

  private static func connect(_ keywords: [(key: String, value: String)]) -> OpaquePointer? {
    var names = unsafe keywords.map { unsafe strdup($0.key) }
    var values = unsafe keywords.map { unsafe strdup($0.value) }
    defer { unsafe (names + values).forEach { unsafe free($0) } }
    unsafe names.append(nil)
    unsafe values.append(nil)
    let (keys, texts) = unsafe (names.map { unsafe UnsafePointer($0) }, values.map { unsafe UnsafePointer($0) })
    return unsafe PQconnectdbParams(keys, texts, 0)
  }

  /// The server's own process, by which others may end the connection.
  public var processNumber: Int32 { unsafe handle.map { unsafe PQbackendPID($0) } ?? 0 }

  /// The server's version, such as 150004 for 15.4; 0: not known.
  public var serverVersion: Int { unsafe handle.map { Int(unsafe PQserverVersion($0)) } ?? 0 }

  /// Closes the connection. What was sent and has no result may be done all the same. A second time does nothing.
  public func close() {
    guard let open = unsafe handle else { return }
    unsafe handle = nil
    underWay = []
    unsafe PQfinish(open)
  }

  // MARK: Statements

  /// Sends a statement as a transaction of its own; ``receive(by:)`` gives its result.
  ///
  /// - Throws: an error of kind ``PostgresError/Kind/lost``, after which the connection is of no use.
  public func send(_ sql: String, _ parameters: [Parameter] = [], by deadline: DispatchTime) throws(PostgresError) {
    precondition(underWay.count < Self.pipelineLimit, "results must be received before more is sent")
    let open = try unsafe opened()
    var name = prepared[sql]
    if name == nil {
      statementCount += 1
      let new = "s\(statementCount)"
      let types = parameters.map(\.type)
      guard unsafe PQsendPrepare(open, new, sql, CInt(types.count), types) == 1 else { throw unsafe lost(open) }
      name = new
      prepared[sql] = new
      underWay.append(sql)
    } else {
      underWay.append(nil)
    }
    let isSent = unsafe withPointers(to: parameters) { values, lengths in
      let formats = [CInt](repeating: 1, count: parameters.count)
      return unsafe PQsendQueryPrepared(open, name, CInt(parameters.count), values, lengths, formats, 1) == 1
    }
    guard isSent, unsafe PQpipelineSync(open) == 1 else { throw unsafe lost(open) }
    try unsafe flush(open, by: deadline)
  }

  /// Waits for the result of the oldest statement that has none.
  ///
  /// - Throws: ``PostgresError/Kind/refused(_:)`` where the server refused it, after which the connection goes on.
  public func receive(by deadline: DispatchTime) throws(PostgresError) -> Rows {
    guard let statement = underWay.first else { preconditionFailure("nothing was sent that has no result yet") }
    let open = try unsafe opened()
    var found: OpaquePointer?
    var refusal: PostgresError?
    var isOver = false
    var ends = 0
    while !isOver {
      do throws(PostgresError) { try unsafe wait(open, by: deadline) } catch {
        unsafe PQclear(found)
        throw error
      }
      guard let result = unsafe PQgetResult(open) else {
        // One stands behind the preparation and one behind the rows. More of them: libpq knows of nothing to come.
        ends += 1
        if unsafe PQstatus(open) != CONNECTION_OK || ends > 2 {
          unsafe PQclear(found)
          throw unsafe lost(open)
        }
        continue
      }
      switch unsafe PQresultStatus(result) {
      case PGRES_TUPLES_OK:
        unsafe PQclear(found)
        unsafe found = unsafe result
        continue
      case PGRES_PIPELINE_SYNC: isOver = true
      case PGRES_FATAL_ERROR: if refusal == nil { refusal = unsafe Self.error(in: result) }
      default: break
      }
      unsafe PQclear(result)
      if unsafe PQstatus(open) != CONNECTION_OK || refusal?.isLost == true {
        unsafe PQclear(found)
        if let refusal, refusal.isLost { throw refusal }
        throw unsafe lost(open)
      }
    }
    underWay.removeFirst()
    let rows = unsafe Rows(found, notices: notices.take())
    if let refusal {
      if let statement { prepared[statement] = nil }
      throw refusal
    }
    return rows
  }

  /// Sends a statement and waits for its result. Nothing else may be under way.
  public func query(
    _ sql: String, _ parameters: [Parameter] = [], within seconds: Double = 60
  ) throws(PostgresError) -> Rows {
    let deadline = DispatchTime.now() + seconds
    try send(sql, parameters, by: deadline)
    return try receive(by: deadline)
  }

  /// Runs statements that take no values, one after another, as one transaction. Nothing else may be under way.
  public func run(script: String, within seconds: Double = 30) throws(PostgresError) {
    let open = try unsafe opened()
    precondition(underWay.isEmpty, "a script must not come between statements")
    guard unsafe PQexitPipelineMode(open) == 1, unsafe PQsendQuery(open, script) == 1 else { throw unsafe lost(open) }
    let deadline = DispatchTime.now() + seconds
    try unsafe flush(open, by: deadline)
    var refusal: PostgresError?
    while true {
      try unsafe wait(open, by: deadline)
      guard let result = unsafe PQgetResult(open) else { break }
      if unsafe PQresultStatus(result) == PGRES_FATAL_ERROR { refusal = unsafe refusal ?? Self.error(in: result) }
      unsafe PQclear(result)
    }
    _ = notices.take()
    guard unsafe PQstatus(open) == CONNECTION_OK, unsafe PQenterPipelineMode(open) == 1 else { throw unsafe lost(open) }
    if let refusal { throw refusal }
  }

  // MARK: The socket

  private func opened() throws(PostgresError) -> OpaquePointer {
    guard let open = unsafe handle else { throw PostgresError(.lost, "the connection is closed") }
    return unsafe open
  }

  /// Hands to the kernel all that libpq holds, and reads meanwhile: the server may wait until we do.
  private func flush(_ open: OpaquePointer, by deadline: DispatchTime) throws(PostgresError) {
    while true {
      switch unsafe PQflush(open) {
      case 0: return
      case 1:
        try unsafe poll(open, for: Int16(POLLIN | POLLOUT), by: deadline)
        guard unsafe PQconsumeInput(open) == 1 else { throw unsafe lost(open) }
      default: throw unsafe lost(open)
      }
    }
  }

  /// Waits until the next result is there.
  private func wait(_ open: OpaquePointer, by deadline: DispatchTime) throws(PostgresError) {
    while unsafe PQisBusy(open) == 1 {
      try unsafe poll(open, for: Int16(POLLIN), by: deadline)
      guard unsafe PQconsumeInput(open) == 1 else { throw unsafe lost(open) }
    }
  }

  private func poll(_ open: OpaquePointer, for events: Int16, by deadline: DispatchTime) throws(PostgresError) {
    var descriptor = unsafe pollfd(fd: PQsocket(open), events: events, revents: 0)
    while true {
      let now = DispatchTime.now().uptimeNanoseconds
      let end = deadline.uptimeNanoseconds
      guard now < end else { throw PostgresError(.lost, "the server did not answer in time") }
      let milliseconds = CInt(clamping: (end - now) / 1_000_000 + 1)
      let count = unsafe Glibc.poll(&descriptor, 1, milliseconds)
      if count > 0 { return }
      if count < 0, errno != EINTR {
        throw PostgresError(.lost, "the connection cannot be waited for (errno \(errno))")
      }
    }
  }

  // MARK: Errors

  private func lost(_ open: OpaquePointer) -> PostgresError {
    PostgresError(.lost, unsafe Self.message(of: open))
  }

  private static func message(of open: OpaquePointer) -> String {
    let text = unsafe String(cString: PQerrorMessage(open))
    let line = text.split(separator: "\n").joined(separator: "; ")
    return line.isEmpty ? "the connection was lost" : line
  }

  /// What a refused connection was refused for: libpq tells it in words alone, and the server's words are in the
  /// language that `lc_messages` names, so that a kind which is not recognised is taken for a lost connection.
  private static func kind(ofRefusal message: String) -> PostgresError.Kind {
    if message.contains("password authentication failed") || message.contains("no password supplied") {
      return .refused(.invalidPassword)
    }
    if message.contains("database"), message.contains("does not exist") { return .refused(.invalidDatabase) }
    if message.contains("role"), message.contains("does not exist") { return .refused(.invalidPassword) }
    return .lost
  }

  /// The error that a result tells of. A server that shuts down, or ends the connection, says so before it does.
  private static func error(in result: OpaquePointer) -> PostgresError {
    let state = unsafe field(result, UInt8(ascii: "C"))
    let message = unsafe field(result, UInt8(ascii: "M")) ?? String(cString: PQresultErrorMessage(result))
    guard let state, !state.hasPrefix("08"), !state.hasPrefix("57P") else {
      return PostgresError(.lost, message.isEmpty ? "the connection was lost" : message)
    }
    return PostgresError(.refused(SQLState(state)), message)
  }

  static func field(_ result: OpaquePointer, _ code: UInt8) -> String? {
    guard let text = unsafe PQresultErrorField(result, CInt(code)) else { return nil }
    return unsafe String(cString: text)
  }

  // MARK: Values

  /// Calls `body` with pointers to the values, which lie one after another in one buffer, and their lengths.
  private func withPointers<Result>(
    to parameters: [Parameter], _ body: ([UnsafePointer<CChar>?], [CInt]) -> Result
  ) -> Result {
    var buffer: [CChar] = []
    buffer.reserveCapacity(parameters.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
    var starts: [Int?] = []
    for parameter in parameters {
      starts.append(parameter.bytes == nil ? nil : buffer.count)
      if let bytes = parameter.bytes { buffer.append(contentsOf: bytes.lazy.map { CChar(bitPattern: $0) }) }
    }
    buffer.append(0)  // The last value may be empty, and needs an address within the buffer all the same.
    let lengths = parameters.map { CInt(clamping: $0.bytes?.count ?? 0) }
    return unsafe buffer.withUnsafeBufferPointer { buffer in
      let pointers = unsafe starts.map { start -> UnsafePointer<CChar>? in
        guard let start, let base = buffer.baseAddress else { return nil }
        return unsafe base + start
      }
      return unsafe body(pointers, lengths)
    }
  }
}

/// Remarks of the server that nobody has read yet, the newest few of them.
@safe
private final class NoticeBox {
  private static let limit = 16
  private var notices: [Notice] = []

  func add(_ result: OpaquePointer) {
    if notices.count >= Self.limit { notices.removeFirst() }
    let state = unsafe Connection.field(result, UInt8(ascii: "C")) ?? ""
    let severity = unsafe Connection.field(result, UInt8(ascii: "V")) ?? ""
    let message = unsafe Connection.field(result, UInt8(ascii: "M")) ?? ""
    notices.append(Notice(state: SQLState(state), severity: severity, message: message))
  }

  func take() -> [Notice] {
    defer { notices = [] }
    return notices
  }
}
