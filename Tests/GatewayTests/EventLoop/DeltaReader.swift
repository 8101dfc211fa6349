import Foundation
import TestSupport
import Testing
import Wire

/// What a client that takes patches makes of the frames that it gets.
struct DeltaReader {
  let format: WireFormat
  private var previous: [UInt8]?
  private(set) var payloads: [String] = []
  /// For each payload whether it came as a patch.
  private(set) var frames: [Bool] = []
  /// Frames that had no payload: joins and leaves.
  private(set) var others = 0

  init(_ format: WireFormat) { self.format = format }

  /// Reads whole frames, one behind another.
  mutating func read(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let length = Array(rest).withUnsafeBytes { ServerFrame.length(of: $0) }
      let frame = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
      let header = frame[1] & 0x7F < 126 ? 2 : frame[1] & 0x7F == 126 ? 4 : 10
      try take(Array(frame[header...]))
    }
  }

  private mutating func take(_ message: [UInt8]) throws {
    guard let (data, isPatch) = try format == .json ? Self.json(message) : Self.protobuf(message) else {
      others += 1
      return
    }
    frames.append(isPatch)
    if isPatch {
      let base = try #require(previous, "a patch comes behind a publication")
      previous = try FossilDecoder.apply(data, to: base)
    } else {
      previous = data
    }
    payloads.append(String(decoding: previous ?? [], as: UTF8.self))
  }

  private static func json(_ message: [UInt8]) throws -> ([UInt8], Bool)? {
    let reply = try JSONSerialization.jsonObject(with: Data(message)) as? [String: Any]
    guard let publication = (reply?["push"] as? [String: Any])?["pub"] as? [String: Any] else { return nil }
    let text = try #require(publication["data"] as? String, "payloads are strings")
    return (Array(text.utf8), publication["delta"] as? Bool ?? false)
  }

  private static func protobuf(_ message: [UInt8]) throws -> ([UInt8], Bool)? {
    let reply = try #require(ProtobufFraming.split(message).first)
    guard let push = try fields(reply)[4], let publication = try fields(push)[4] else { return nil }
    let fields = try fields(publication)
    return (fields[4] ?? [], fields[8] == [1])
  }

  /// The fields of a message by number: contents, or the bytes of a varint.
  private static func fields(_ message: [UInt8]) throws -> [UInt8: [UInt8]] {
    var fields: [UInt8: [UInt8]] = [:]
    var place = 0
    func varint() throws -> [UInt8] {
      let start = place
      while try #require(message.indices.contains(place) ? message[place] : nil) & 0x80 != 0 { place += 1 }
      place += 1
      return Array(message[start..<place])
    }
    while place < message.count {
      let tag = try #require(try varint().first)
      let bytes = try varint()
      guard tag & 7 == 2 else {
        fields[tag >> 3] = bytes
        continue
      }
      let length = bytes.reversed().reduce(0) { $0 << 7 | Int($1 & 0x7F) }
      try #require(length <= message.count - place)
      fields[tag >> 3] = Array(message[place..<(place + length)])
      place += length
    }
    return fields
  }
}
