import TestSupport
import Wire

@testable import FanfareClient
@testable import Gateway

/// Inputs from which a fuzzer sets out: of each target some that it understands, written by our own encoders where there
/// are any. What was found since then is in `Corpus`.
enum Seeds {
  static func of(_ target: FuzzTarget) -> [[UInt8]] {
    switch target {
    case .frames: conversations(isCompressed: false)
    case .compressedFrames: conversations(isCompressed: true)
    case .deflate: deflated
    case .proxyHeaders: proxyHeaders
    case .httpHeads: SeedTexts.heads.map { Array($0.replacing("\n", with: "\r\n").utf8) }
    case .httpFields: SeedTexts.fields.map { Array($0.utf8) }
    case .streams: ["{}", "{\"id\":1}\n{\"id\":2}", String(repeating: "x", count: 300)].map { Array($0.utf8) }
    case .emulation: emulated
    case .jsonCommands: (SeedTexts.commands + [SeedTexts.commands.joined(separator: "\n")]).map { Array($0.utf8) }
    case .protobufCommands: protobufCommands
    case .json: (SeedTexts.commands + SeedTexts.json).map { Array($0.utf8) }
    case .filters: SeedTexts.filters.map { Array($0.utf8) }
    case .appCommands: appCommands
    case .serviceRequests: (0..<47).map { [$0] + Array(SeedTexts.parameters.utf8) + Array("\0{}".utf8) }
    case .apiCalls: SeedTexts.calls.map { [$0.method] + Array($0.body.utf8) }
    case .pushDevices: SeedTexts.devices.map { Array($0.utf8) }
    case .linkMessages: LinkSeeds.messages.map { $0.header.bytes + $0.body.bytes }
    case .tokens: SeedTexts.claims.map { [0] + Array($0.utf8) } + [[1] + Array(SeedTexts.token.utf8)]
    case .keySets: SeedTexts.keySets.map { Array($0.utf8) }
    case .pictures: pictures
    case .patches: patches
    case .configuration: SeedTexts.configurations.map { Array($0.utf8) }
    case .backendReplies: SeedTexts.backendReplies.map { Array($0.utf8) }
    case .clientReplies: LinkSeeds.replies.map { ClientCodec.encode($0, format: .protobuf) }
    case .storeAnswers: SeedTexts.storeAnswers.map { Array($0.utf8) }
    case .sessions: MachineSeeds.of(MachineSeeds.session)
    case .gatewayLinks: MachineSeeds.of(MachineSeeds.gatewayLink)
    case .brokers: MachineSeeds.of(MachineSeeds.broker)
    case .clients: MachineSeeds.of(MachineSeeds.client)
    }
  }

  // MARK: Frames

  /// As a client sends it.
  private static func masked(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    let mask: [UInt8] = [1, 2, 3, 4]
    var frame: [UInt8] = [first]
    switch payload.count {
    case ..<126: frame.append(0x80 | UInt8(payload.count))
    default: frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    }
    return frame + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
  }

  private static func conversations(isCompressed: Bool) -> [[UInt8]] {
    let text = Array("h€llo 👋".utf8)
    let frames: [[UInt8]] = [
      masked(0x81, text), masked(0x01, [0xE2, 0x82]) + masked(0x89, [1, 2, 3]) + masked(0x80, [0xAC]),
      masked(0x82, [UInt8](repeating: 0x41, count: 300)), masked(0x8A, []), masked(0x81, []),
      masked(0x88, [0x03, 0xE8, 0x6F, 0x6B]),
    ]
    let letters = deflate(Array(repeating: 0x61, count: 200))
    let zeros = deflate(Array(repeating: 0, count: 900))
    let all = isCompressed ? frames + [masked(0xC1, letters), masked(0xC2, zeros)] : frames
    return (all + [all.flatMap { $0 }]).map { [3, 0x5A] + $0 }
  }

  private static func deflate(_ message: [UInt8]) -> [UInt8] {
    guard let deflater = Deflater(.small) else { return [] }
    return message.withUnsafeBytes { bytes in deflater.deflate(bytes).map { Array($0) } } ?? []
  }

  private static let deflated: [[UInt8]] =
    [
      [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
      [0x00], deflate(Array(repeating: 0x61, count: 500)),
      deflate(Array(#"{"id":1,"publish":{"channel":"channel","data":{}}}"#.utf8)),
    ].flatMap { payload in [[6] + payload, [7] + payload] }

  private static let proxyHeaders: [[UInt8]] = [
    ProxyHeader.signature + [0x21, 0x11, 0, 12, 192, 0, 2, 1, 10, 0, 0, 1, 0x30, 0x39, 0x1F, 0x40],
    ProxyHeader.signature + [0x21, 0x21, 0, 36] + [UInt8](repeating: 9, count: 36),
    ProxyHeader.signature + [0x20, 0x00, 0, 0],
  ]

  // MARK: Commands

  private static let emulated: [[UInt8]] = [
    [0] + Array(#"{"session":"s","node":"n","data":"{\"id\":1,\"ping\":{}}\n{}"}"#.utf8),
    [1, 10, 1, 0x73, 18, 1, 0x6E, 26, 3, 2, 8, 1],
  ]

  private static let appCommands: [[UInt8]] = SeedTexts.appCommands.compactMap { method, data in
    guard let index = CommandTargets.methods.firstIndex(of: method) else { return nil }
    return [UInt8(index)] + Array(data.utf8)
  }

  private static let protobufCommands: [[UInt8]] = {
    let commands = SeedTexts.commands.flatMap { (try? ClientCodec.decode(Array($0.utf8), format: .json)) ?? [] }
      .map { CommandEncoder.encode($0) }
    return commands + [commands.flatMap { $0 }]
  }()

  // MARK: Files

  private static let pictures: [[UInt8]] =
    [PictureSample.jpeg(pixels: 60), .png(pixels: 60)].flatMap { [$0.dirty, $0.clean] }
    + PictureSample.WebPKind.allCases.flatMap { kind in
      let sample = PictureSample.webP(kind, pixels: 61)
      return [sample.dirty, sample.clean]
    }

  private static let patches: [[UInt8]] = {
    let base = #"{"text":"the first of several messages that are nearly the same","number":1}"#
    let target = #"{"text":"the second of several messages that are nearly the same","number":2}"#
    let long = String(repeating: "ab€", count: 100)
    return [
      patch(base, target, isText: true), patch(target, base, isText: false), patch(long, long + base, isText: true),
      patch("", target, isText: false),
    ]
  }()

  private static func patch(_ base: String, _ target: String, isText: Bool) -> [UInt8] {
    let count = base.utf8.count
    let head: [UInt8] = [isText ? 1 : 0, UInt8(count >> 8), UInt8(count & 0xFF)]
    return head + Array(base.utf8) + Array(target.utf8)
  }
}
