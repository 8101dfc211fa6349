import TestSupport
import Wire

/// Patches that are made of two payloads of clients: there is an encoder alone, which must be right for any two.
enum PatchTargets {
  /// The first byte says whether both are text, the next two how long the base is.
  static func patch(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    let isText = bytes.flag()
    var base = bytes.take(Int(bytes.byte()) << 8 | Int(bytes.byte()))
    var target = bytes.rest()
    if isText {
      base = Array(String(decoding: base, as: UTF8.self).utf8)
      target = Array(String(decoding: target, as: UTF8.self).utf8)
    }
    guard let patch = FossilPatch.make(from: base, to: target, isText: isText) else { return false }
    try require(patch.count < target.count, "a patch of \(patch.count) bytes for \(target.count)")
    if isText { try require(String(validating: patch, as: UTF8.self) != nil, "a patch of texts is none") }
    let made: [UInt8]
    do throws(FossilDecoder.Fault) { made = try FossilDecoder.apply(patch, to: base) } catch {
      throw BrokenProperty(description: "a patch that cannot be applied: \(error)")
    }
    try require(made == target, "a patch makes something else")
    return true
  }
}
