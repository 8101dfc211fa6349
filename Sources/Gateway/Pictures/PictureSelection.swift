import NIOHTTP1

/// Which part of a picture a download asks for, and on what condition (RFC 9110, sections 13 and 14): a decision without
/// I/O, made when the broker has let the user see the picture, and its size and tag are known.
///
/// | The request | The answer |
/// |---|---|
/// | `If-Match` without the picture's tag | 412 |
/// | `If-None-Match` with the picture's tag | 304 |
/// | no `Range`, or one that is not understood; several ranges; `HEAD` | all of it |
/// | `If-Range` that is not the picture's tag | all of it, since what the client has is of another |
/// | one range that begins within the picture | this part |
/// | one range that does not | 416 |
struct PictureSelection: Equatable {
  enum Answer: Equatable {
    case whole
    case part(Range<Int>)
    case notModified
    case changed
    case outside
  }

  /// One range as it is asked for.
  enum Wanted: Equatable {
    case from(Int, through: Int?)
    case last(Int)
  }

  /// Tags of a list, or any tag.
  enum Tags: Equatable {
    case any
    /// - weak: tags that were given as weak.
    case these(strong: [String], weak: [String])
  }

  var wanted: Wanted?
  var ifMatch: Tags?
  var ifNoneMatch: Tags?
  /// As the client says it; anything but the picture's tag, a date among it, is another picture's.
  var ifRange: String?

  init() {}

  init(_ headers: HTTPHeaders, isHead: Bool) {
    ifMatch = Self.tags(headers["if-match"])
    ifNoneMatch = Self.tags(headers["if-none-match"])
    // A range means something for GET alone.
    if isHead { return }
    let ranges = headers["range"]
    wanted = ranges.count == 1 ? ranges.first.flatMap(Self.range) : nil
    let conditions = headers["if-range"]
    if !conditions.isEmpty { ifRange = conditions.count == 1 ? String(conditions[0][...].trimmingSpaces()) : "" }
  }

  /// - Parameters:
  ///   - total: bytes of the picture, at least one.
  ///   - tag: its entity tag, which is strong, with its quotes.
  func answer(total: Int, tag: String) -> Answer {
    if let ifMatch, !ifMatch.hold(tag, weakly: false) { return .changed }
    if let ifNoneMatch, ifNoneMatch.hold(tag, weakly: true) { return .notModified }
    guard let wanted, ifRange == nil || ifRange == tag else { return .whole }
    switch wanted {
    case .from(let first, let last):
      guard first < total else { return .outside }
      return .part(first..<min(last ?? total - 1, total - 1) + 1)
    case .last(let count):
      guard count > 0 else { return .outside }
      return .part(max(0, total - count)..<total)
    }
  }

  // MARK: Reading

  // A client chooses the texts of these headers, and how long they are. They are read as bytes: read as characters, tags of
  // 4 KiB took an event loop three to five milliseconds for each request.

  /// `bytes=first-last`, `bytes=first-` or `bytes=-count`; nil for all else, which is to be passed over.
  private static func range(_ text: String) -> Wanted? {
    let text = text[...].trimmingSpaces()
    guard text.prefix(6).lowercased() == "bytes=" else { return nil }
    let ends = Substring(text.utf8.dropFirst(6)).trimmingSpaces().utf8
      .split(separator: UInt8(ascii: "-"), maxSplits: 2, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    if ends[0].isEmpty { return number(ends[1]).map { .last($0) } }
    guard let first = number(ends[0]) else { return nil }
    if ends[1].isEmpty { return .from(first, through: nil) }
    guard let last = number(ends[1]), first <= last else { return nil }
    return .from(first, through: last)
  }

  /// Digits alone. A number with more of them than any picture's size is as good as the largest.
  private static func number(_ text: Substring.UTF8View) -> Int? {
    guard !text.isEmpty, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(Substring(text)) ?? .max
  }

  /// The tags of a header's fields; nil where there is none.
  private static func tags(_ fields: [String]) -> Tags? {
    if fields.isEmpty { return nil }
    var strong: [String] = []
    var weak: [String] = []
    // Our tags hold no comma, so a tag that does is cut into texts that are none of ours.
    for part in fields.lazy.flatMap({ $0.utf8.split(separator: UInt8(ascii: ",")) }) {
      let text = Substring(part).trimmingSpaces()
      if text == "*" { return .any }
      if text.utf8.starts(with: "W/".utf8) {
        weak.append(String(Substring(text.utf8.dropFirst(2))))
      } else {
        strong.append(String(text))
      }
    }
    return .these(strong: strong, weak: weak)
  }
}

extension PictureSelection.Tags {
  fileprivate func hold(_ tag: String, weakly: Bool) -> Bool {
    switch self {
    case .any: true
    case .these(let strong, let weak): strong.contains(tag) || weakly && weak.contains(tag)
    }
  }
}
