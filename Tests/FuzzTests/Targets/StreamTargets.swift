import Wire

@testable import Gateway

/// What clients send and hear who have no WebSocket.
enum StreamTargets {
  // MARK: What they hear

  /// The input is what one frame would hold: in JSON, replies with a newline between.
  static func packing(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    // Whatever the bytes are, looking for a chunk in them ends.
    try require(input.withUnsafeBytes { StreamPacking.length(of: $0) } >= 0, "a length below nothing")
    let events = StreamPacking.events(input[...])
    try checkEvents(events, of: input)
    for format in [WireFormat.json, .protobuf] {
      let chunk = StreamPacking.lines(input[...], format)
      let content = try content(of: chunk)
      try require(content == (format == .json ? input + [0x0A] : input), "a chunk holds something else")
    }
    return !events.isEmpty
  }

  private static func checkEvents(_ chunk: [UInt8], of payload: [UInt8]) throws(BrokenProperty) {
    let body = try content(of: chunk)
    var replies: [ArraySlice<UInt8>] = []
    for (index, line) in body.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast().enumerated() {
      if index % 2 == 1 {
        try require(line.isEmpty, "an event has more than a line")
      } else {
        try require(line.starts(with: "data: ".utf8), "an event without data")
        replies.append(line.dropFirst(6))
      }
    }
    try require(replies == payload.split(separator: 0x0A), "the events are not the replies")
  }

  /// What stands in the only chunk; nothing makes none.
  private static func content(of chunk: [UInt8]) throws(BrokenProperty) -> [UInt8] {
    if chunk.isEmpty { return [] }
    let length = chunk.withUnsafeBytes { StreamPacking.length(of: $0) }
    try require(length == chunk.count, "a chunk of \(chunk.count) bytes is taken for one of \(length)")
    guard let lineEnd = chunk.firstIndex(of: 0x0D) else { throw BrokenProperty(description: "a chunk has no length") }
    return Array(chunk[(lineEnd + 2)..<(chunk.count - 2)])
  }

  // MARK: What they send

  /// The first byte chooses the format of the body, which is the rest.
  static func emulation(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    let format: WireFormat = bytes.flag() ? .protobuf : .json
    let body = bytes.rest()
    guard let request = try? EmulationRequest(body, format: format) else { return false }
    try require(request.session.utf8.count <= 128 && request.node.utf8.count <= 128, "a name that is too long")
    try require(request.commands.count <= body.count, "more commands than body")
    let again = try? EmulationRequest(Self.body(request, format), format: format)
    try require(again == request, "\(request) is not read as it was written")
    return true
  }

  private static func body(_ request: EmulationRequest, _ format: WireFormat) -> [UInt8] {
    switch format {
    case .json:
      let commands = JSONText.quoted(String(decoding: request.commands, as: UTF8.self))
      let session = JSONText.quoted(request.session)
      return Array(#"{"session":\#(session),"node":\#(JSONText.quoted(request.node)),"data":\#(commands)}"#.utf8)
    case .protobuf:
      var body: [UInt8] = []
      for (tag, field) in [(10, Array(request.session.utf8)), (18, Array(request.node.utf8)), (26, request.commands)]
        as [(UInt8, [UInt8])]
      {
        body.append(tag)
        var length = field.count
        while length >= 0x80 {
          body.append(UInt8(length & 0x7F) | 0x80)
          length >>= 7
        }
        body.append(UInt8(length))
        body += field
      }
      return body
    }
  }
}
