import Wire

/// What reads bytes of a peer, or is fed with what a peer does, and what has to hold whatever the bytes are.
///
/// The targets are compiled twice: into the test suite, which runs each of them over its seeds, the committed corpus and
/// seeded changes of both (`ReplayTests`), and into `fanfare-fuzz`, which hands them to libFuzzer (docs/FUZZING.md).
enum FuzzTarget: String, CaseIterable, Sendable {
  case frames
  case compressedFrames = "compressed-frames"
  case deflate
  case proxyHeaders = "proxy-headers"
  case httpHeads = "http-heads"
  case httpFields = "http-fields"
  case streams
  case emulation
  case jsonCommands = "json-commands"
  case protobufCommands = "protobuf-commands"
  case json
  case filters
  case appCommands = "app-commands"
  case serviceRequests = "service-requests"
  case apiCalls = "api-calls"
  case pushDevices = "push-devices"
  case linkMessages = "link-messages"
  case tokens
  case keySets = "key-sets"
  case pictures
  case patches
  case configuration
  case backendReplies = "backend-replies"
  case clientReplies = "client-replies"
  case storeAnswers = "store-answers"
  case sessions
  case gatewayLinks = "gateway-links"
  case brokers
  case clients

  /// The longest input that is worth trying: long enough for every part of the format, short enough to be quick.
  var maximumBytes: Int {
    switch self {
    case .proxyHeaders: 5_000
    case .httpHeads, .httpFields, .filters, .jsonCommands, .protobufCommands, .configuration, .keySets: 4_096
    case .pictures, .patches: 8_192
    default: 2_048
    }
  }

  /// Reads the input.
  ///
  /// - Returns: whether a decoder took it for something of its own, or a machine came to where it has something to lose.
  /// - Throws: what has to hold and does not. What traps ends the process, as it would end the server.
  func run(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    switch self {
    case .frames: try FrameTargets.frames(input)
    case .compressedFrames: try FrameTargets.compressedFrames(input)
    case .deflate: try FrameTargets.deflate(input)
    case .proxyHeaders: try FrameTargets.proxyHeader(input)
    case .httpHeads: try HTTPTargets.head(input)
    case .httpFields: try HTTPTargets.fields(input)
    case .streams: try StreamTargets.packing(input)
    case .emulation: try StreamTargets.emulation(input)
    case .jsonCommands: try CommandTargets.commands(input, .json)
    case .protobufCommands: try CommandTargets.commands(input, .protobuf)
    case .json: try CommandTargets.json(input)
    case .filters: try CommandTargets.filter(input)
    case .appCommands: try CommandTargets.appCommand(input)
    case .serviceRequests: try ServiceTargets.request(input)
    case .apiCalls: try APITargets.call(input)
    case .pushDevices: try DeviceTargets.device(input)
    case .linkMessages: try LinkTargets.message(input)
    case .tokens: try TokenTargets.token(input)
    case .keySets: try TokenTargets.keySet(input)
    case .pictures: try PictureTargets.picture(input)
    case .patches: try PatchTargets.patch(input)
    case .configuration: try ConfigurationTargets.file(input)
    case .backendReplies: try AnswerTargets.backendReply(input)
    case .clientReplies: try ClientTargets.replies(input)
    case .storeAnswers: try StoreTargets.answer(input)
    case .sessions: try SessionRun.run(input)
    case .gatewayLinks: try GatewayLinkRun.run(input)
    case .brokers: try BrokerRun.run(input)
    case .clients: try ClientRun.run(input)
    }
  }
}

/// What a decoder or a machine did that it must never do. The description is a sentence.
struct BrokenProperty: Error, CustomStringConvertible {
  var description: String
}

/// - Throws: the sentence, where the condition does not hold.
func require(_ holds: Bool, _ sentence: @autoclosure () -> String) throws(BrokenProperty) {
  if !holds { throw BrokenProperty(description: sentence()) }
}
