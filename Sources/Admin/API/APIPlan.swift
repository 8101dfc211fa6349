import Auth
import Wire

/// A call of the server API, taken apart: what the broker is asked, in which steps, and where each answer belongs.
struct APIPlan {
  /// One request for the broker, or why it is not made.
  enum Part {
    /// Its place among all requests.
    case asked(Int, BrokerRequest)
    case refused(ClientError)
  }

  struct Command {
    /// Nil: a batch named a method that does not exist.
    var method: APIMethod?
    /// One, or one for each channel of a broadcast.
    var parts: [Part] = []
    /// The command could not be read, or is not allowed as a whole.
    var failure: ClientError?

    var isRefused: Bool {
      failure != nil || parts.contains { if case .refused = $0 { true } else { false } }
    }
  }

  /// One request that a command asks for.
  struct Target {
    let method: APIMethod
    let arguments: JSONArguments
    /// The channel of this request, where one command has several; nil: that of its parameters.
    let channel: String?
    /// What is published, which the requests of a broadcast share.
    let payload: [UInt8]?
  }

  typealias Reading = (Target) throws(ClientError) -> BrokerRequest

  private(set) var commands: [Command] = []
  /// What is asked together. A step begins when the one before is answered.
  private(set) var steps: [[BrokerRequest]] = []
  let isBatch: Bool
  private let limit: Int
  private var parts = 0
  private var requests = 0
  /// Whether the last step holds publications alone, so that more of them may join it.
  private var lastPublishes = false

  /// The levels of JSON around a payload: a batch, its list, a command, its parameters.
  private static let levels = 4

  /// - Parameters:
  ///   - method: of the path.
  ///   - limit: requests that one call may make.
  ///   - read: makes a command a request, or says why not.
  /// - Throws: a sentence where the body as a whole is none of the method's.
  init(_ method: String, body: [UInt8], limit: Int, _ read: Reading) throws(ClientError) {
    self.limit = limit
    isBatch = method == "batch"
    let document: JSONValue
    do throws(MalformedInput) {
      document = try JSONValue(parsing: body.isEmpty ? Array("{}".utf8) : body, levels: Self.levels)
    } catch {
      throw .badRequest.saying("the body is not JSON: \(error.description)")
    }
    let arguments = try JSONArguments(document, called: "the body")
    guard isBatch else {
      guard let method = APIMethod(rawValue: method) else { throw .methodNotFound }
      add(method, arguments, isAlone: true, read)
      return
    }
    guard let list = arguments["commands"]?.array else {
      throw .badRequest.saying("a batch needs commands: a list of objects such as {\"publish\": {…}}")
    }
    guard list.count <= limit else {
      throw .badRequest.saying("a batch may hold \(limit) commands (admin.api.max_commands), and this one has more")
    }
    let isParallel = try arguments.flag("parallel") ?? false
    for command in list { add(command, isParallel: isParallel, read) }
  }

  private mutating func add(_ command: JSONValue, isParallel: Bool, _ read: Reading) {
    guard let member = command.object?.members.first, command.object?.members.count == 1 else {
      let error = ClientError.badRequest.saying("a command is an object with one member, its method")
      return commands.append(Command(method: nil, failure: error))
    }
    guard let method = APIMethod(rawValue: member.key) else {
      let error = ClientError.methodNotFound.saying(
        "there is no method \(member.key.prefix(40).debugDescription) for a batch; see /api/openapi.json")
      return commands.append(Command(method: nil, failure: error))
    }
    do throws(ClientError) {
      add(method, try JSONArguments(member.value, called: "the parameters"), isAlone: !isParallel, read)
    } catch {
      commands.append(Command(method: method, failure: error))
    }
  }

  /// - Parameter isAlone: the command begins when those before it are answered. Publications of one channel are done in
  ///   their order anyway, so those that follow one another are asked together.
  private mutating func add(_ method: APIMethod, _ arguments: JSONArguments, isAlone: Bool, _ read: Reading) {
    var command = Command(method: method)
    do throws(ClientError) {
      let targets = try Self.targets(of: method, arguments)
      guard parts + targets.count <= limit else {
        throw .limitExceeded.saying("one call may ask for \(limit) things (admin.api.max_commands), and this is beyond")
      }
      parts += targets.count
      if isAlone, !(method.publishes && lastPublishes) { steps.append([]) }
      if steps.isEmpty { steps.append([]) }
      lastPublishes = method.publishes
      for target in targets {
        do throws(ClientError) {
          let request = try read(target)
          command.parts.append(.asked(requests, request))
          steps[steps.count - 1].append(request)
          requests += 1
        } catch {
          command.parts.append(.refused(error))
        }
      }
    } catch {
      command.failure = error
    }
    commands.append(command)
  }

  /// What a command asks for: one request, or one for each channel of a broadcast.
  private static func targets(of method: APIMethod, _ arguments: JSONArguments) throws(ClientError) -> [Target] {
    let payload = try payload(of: arguments)
    guard method == .broadcast else {
      return [Target(method: method, arguments: arguments, channel: nil, payload: payload)]
    }
    guard let channels = try arguments.strings("channels"), !channels.isEmpty else {
      throw .badRequest.saying("broadcast needs the channels: a list of names")
    }
    return channels.map { Target(method: method, arguments: arguments, channel: $0, payload: payload) }
  }

  /// What a command publishes: JSON in `data`, or any bytes in `b64data`.
  private static func payload(of arguments: JSONArguments) throws(ClientError) -> [UInt8]? {
    if try arguments.flag("skip_history") == true {
      throw .badRequest.saying(
        "skip_history is not to be had: a publication without its place in the order could not be recovered. Publish "
          + "on a namespace with history_size 0")
    }
    guard let text = try arguments.string("b64data"), !text.isEmpty else {
      return arguments["data"].map { Array($0.bytes) }
    }
    guard let bytes = Base64.standard.bytes(text) else {
      throw .badRequest.saying("b64data is not base64 with padding (RFC 4648, section 4)")
    }
    return bytes
  }
}
