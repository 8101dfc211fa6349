/// What the floor answers a publication with: a frame as long as the one with which Fanfare answers it, so that what an
/// answer costs is in both figures.
///
/// Fanfare's answer in JSON is `{"id":1234,"publish":{}}`, with as many digits as the command's number has, and in Protobuf
/// a length, the number (field 1) and an empty result (field 8). The floor's is as long for a number of four digits, or of
/// two bytes, whatever the publication's number is, and its content is filler.
enum FloorReply: String, CaseIterable {
  case json, protobuf

  /// So many frames are sent in one call at most.
  static let repeated = 4096

  /// Which path a publisher asks for, to be answered so.
  var path: String { "/publish/\(rawValue)" }

  /// Bytes of the answer without the frame's head.
  var contentSize: Int {
    switch self {
    case .json: #"{"id":1234,"publish":{}}"#.utf8.count
    case .protobuf: [0x05, 0x08, 0x80, 0x01, 0x42, 0x00].count
    }
  }

  var frameSize: Int { 2 + contentSize }

  /// ``repeated`` frames in a row.
  var frames: [UInt8] { self == .json ? Self.jsonFrames : Self.protobufFrames }

  private static let jsonFrames = makeFrames(json.contentSize)
  private static let protobufFrames = makeFrames(protobuf.contentSize)

  private static func makeFrames(_ size: Int) -> [UInt8] {
    let frame: [UInt8] = [0x82, UInt8(size)] + [UInt8](repeating: UInt8(ascii: "x"), count: size)
    return (0..<repeated).flatMap { _ in frame }
  }
}
