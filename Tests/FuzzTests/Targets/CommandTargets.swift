import Wire

@testable import FanfareClient

/// What clients say in their messages.
enum CommandTargets {
  // MARK: Commands

  static func commands(_ input: [UInt8], _ format: WireFormat) throws(BrokenProperty) -> Bool {
    guard let commands = try? ClientCodec.decode(input, format: format) else { return false }
    try require(
      (1...ClientCodec.maximumCommands).contains(commands.count), "\(commands.count) commands of one message")
    for command in commands {
      if format == .json {
        for payload in payloads(command) where !payload.isEmpty {
          try require(JSONSyntax.isValid(payload), "a payload is not JSON: \(String(decoding: payload, as: UTF8.self))")
        }
      }
      // Written, it would be an empty command, and that is the answer to a ping.
      if command.id == 0, command.body == .unknown { continue }
      let plain = plain(command)
      let again = try? ClientCodec.decode(CommandEncoder.encode(plain), format: .protobuf)
      try require(again == [plain], "\(plain) is read as \(String(describing: again)) when it is written in Protobuf")
    }
    return true
  }

  private static func payloads(_ command: ClientCommand) -> [[UInt8]] {
    switch command.body {
    case .connect(let connect): [connect.data] + connect.subs.values.map(\.data)
    case .subscribe(let subscribe): [subscribe.data]
    case .publish(let publish): [publish.data]
    case .send(let data), .rpc(_, let data): [data]
    default: []
    }
  }

  /// The command as far as the client in Swift can write it: a filter may be written with more nodes than it was read
  /// from, and patches it does not ask for.
  private static func plain(_ command: ClientCommand) -> ClientCommand {
    var command = command
    switch command.body {
    case .subscribe(let subscribe): command.body = .subscribe(plain(subscribe))
    case .connect(var connect):
      connect.subs = connect.subs.mapValues(plain)
      command.body = .connect(connect)
    default: break
    }
    return command
  }

  private static func plain(_ subscribe: ClientCommand.Subscribe) -> ClientCommand.Subscribe {
    var subscribe = subscribe
    (subscribe.filter, subscribe.refusal, subscribe.takesPatches) = (nil, nil, false)
    return subscribe
  }

  // MARK: JSON

  static func json(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let value = try? JSONValue(parsing: input) else { return false }
    try require(JSONSyntax.isValid(Array(value.bytes)), "a value is not JSON by itself")
    if let strict = try? JSONValue(parsing: input, equalKeys: .refused) {
      try require(strict.bytes == value.bytes, "a value ends elsewhere where its keys are looked at")
    }
    try walk(value, depth: 0)
    return true
  }

  private static func walk(_ value: JSONValue, depth: Int) throws(BrokenProperty) {
    try require(depth <= JSONCursor.maximumDepth + 1, "JSON that is \(depth) levels deep")
    if let string = value.string {
      let again = try? JSONValue(parsing: Array(JSONText.quoted(string).utf8))
      try require(
        again?.string.map { Array($0.utf8) } == Array(string.utf8), "\(string) is not read as it was written")
    }
    for element in value.array ?? [] { try walk(element, depth: depth + 1) }
    for member in value.object?.members ?? [] { try walk(member.value, depth: depth + 1) }
  }

  // MARK: Filters

  private static let publications: [Publication] = [
    Publication(data: []),
    Publication(
      data: [0x31], info: ClientInfo(user: "u1", client: "c"), tags: ["a": "1", "b": "xy", "é": "-2.50"],
      change: KeyChange(key: "k1")),
  ]

  static func filter(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let filter = try? TagFilter(json: input), let channel = try? ChannelName("c") else { return false }
    let message = LinkAudience(channel: channel, user: "u", .admitted, audience: filter)
    let again = try? LinkAudience(bytes: message.bytes)
    try require(again?.audience == filter, "\(filter) is read as \(String(describing: again)) on the link")
    try require(filter.text(most: 60).utf8.count <= 63, "a text that is too long: \(filter.text(most: 60))")
    try require(filter.conditionCount >= 1, "a filter without conditions")
    for publication in publications {
      let isWanted = filter.matches(publication)
      try require(TagFilter.not(filter).matches(publication) == !isWanted, "neither the filter nor its opposite")
      try require(TagFilter.both(filter, filter)?.matches(publication) == isWanted, "twice the filter is another")
    }
    return true
  }

  // MARK: Commands for apps

  static let methods =
    CliqueCommand.Method.allCases.map(\.name) + StateCommand.Method.allCases.map(\.name)
    + PushCommand.Method.allCases.map(\.name) + ["other.method"]

  /// The first byte chooses the method, and the rest is its data.
  static func appCommand(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    let method = bytes.pick(methods)
    guard let command = try? AppCommand(method, bytes.rest(), by: "u") else { return false }
    try require(command.method == method, "\(command) is not of \(method)")
    try require(command.payloadBytes >= 0, "less than no payload")
    try LinkTargets.checkRequest(.call(.init(command, caller: ClientInfo(user: "u", client: "c"))))
    return true
  }
}
