import Wire

/// The messages that the benchmarks work on: 128 bytes of payload, as in the fan-out measurements.
enum Samples {
  static let payloadBytes = 128
  static let channelName = "chat:room-1234"

  /// A JSON object of exactly ``payloadBytes``.
  static let payload: [UInt8] = {
    let (start, end) = (Array("{\"text\":\"".utf8), Array("\"}".utf8))
    let text = (0..<(payloadBytes - start.count - end.count)).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    return start + text + end
  }()

  static func channel() throws -> ChannelName { try ChannelName(channelName) }

  static let publisher = ClientInfo(user: "user-42", client: "5c6c1d3a-1f7e-4b0e-9a43-0f6c8f1d2b3a")

  static let publication = Publication(offset: 123_456, time: 1_700_000_000_000, data: payload, info: publisher)

  static let jsonPublish: [UInt8] =
    Array("{\"id\":7,\"publish\":{\"channel\":\"\(channelName)\",\"data\":".utf8) + payload + Array("}}".utf8)

  /// A publish command in Protobuf; the numbers of its fields are those of `client.proto`.
  static let protobufPublish: [UInt8] = {
    let request = field(1, Array(channelName.utf8)) + field(2, payload)
    let command: [UInt8] = [1 << 3, 7] + field(7, request)
    return varint(command.count) + command
  }()

  private static func field(_ number: UInt8, _ value: [UInt8]) -> [UInt8] {
    [number << 3 | 2] + varint(value.count) + value
  }

  private static func varint(_ value: Int) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + varint(value >> 7)
  }

  /// Options that keep history and let anybody publish, as for a chat.
  static let options: ChannelOptions = {
    var options = ChannelOptions()
    options.historySize = 100
    options.historyTTLMilliseconds = 60_000
    options.allowPublishForAnonymous = true
    options.allowPublishForClient = true
    return options
  }()

  static let namespaces = NamespaceTable(withoutNamespace: options, namespaces: ["chat": options])
}
