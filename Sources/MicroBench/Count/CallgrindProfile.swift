/// The profile of a run under callgrind, as far as it is of interest here.
///
/// The file's lines that matter (callgrind's format, version 1):
///
///     fn=(12) malloc          a function's costs follow; its name stands at the number's first use only
///     cfn=(12)                a function that is called from there
///     calls=3 0               how often, on the line that follows the called function's name
///     totals: 123456          instructions of the whole run, or of one thread in a profile of its own
public struct CallgrindProfile: Sendable, Equatable {
  public struct Unreadable: Error, Equatable, CustomStringConvertible {
    public let description = "valgrind left no whole profile; run it by hand to see why: valgrind --tool=callgrind"
  }

  public private(set) var instructions: UInt64 = 0
  /// How often each function was called, by its name as the linker knows it.
  public private(set) var calls: [String: UInt64] = [:]

  public init(_ text: [UInt8]) throws(Unreadable) {
    var names: [Substring: String] = [:]
    var caller: String?
    var called: String?
    var hasTotals = false
    for line in text.split(separator: UInt8(ascii: "\n")) {
      switch line.first {
      case UInt8(ascii: "f"), UInt8(ascii: "c"):
        let line = Substring(decoding: line, as: UTF8.self)
        if line.hasPrefix("fn=") {
          caller = Self.name(line.dropFirst(3), &names)
        } else if line.hasPrefix("cfn=") {
          called = Self.name(line.dropFirst(4), &names)
        } else if line.hasPrefix("calls=") {
          guard let name = called, let count = UInt64(line.dropFirst(6).prefix { $0 != " " }) else {
            throw Unreadable()
          }
          if !Self.isAllocator(caller) { calls[name, default: 0] += count }
          called = nil
        }
      case UInt8(ascii: "t"):
        let line = Substring(decoding: line, as: UTF8.self)
        guard line.hasPrefix("totals: ") else { continue }
        guard let total = UInt64(line.dropFirst(8)) else { throw Unreadable() }
        instructions = total
        hasTotals = true
      default: continue
      }
    }
    guard hasTotals else { throw Unreadable() }
  }

  /// The name of a function: `(12) malloc` gives number 12 a name, `(12)` uses that name, and `malloc` is a name by
  /// itself.
  private static func name(_ text: Substring, _ names: inout [Substring: String]) -> String? {
    guard text.hasPrefix("("), let end = text.firstIndex(of: ")") else { return String(text) }
    let number = text[...end]
    let rest = text[text.index(after: end)...].drop { $0 == " " }
    // Callgrind tells a function that calls itself from its first call by a `'2`.
    if !rest.isEmpty { names[number] = String(rest.prefix { $0 != "'" }) }
    return names[number]
  }

  /// Whether a function allocates memory. Such functions of the C library call each other, and one allocation is not to
  /// be counted twice.
  private static func isAllocator(_ function: String?) -> Bool {
    guard let name = function?.prefix(while: { $0 != "." }) else { return false }
    return name == "_mid_memalign" || Counts.allocating.contains(String(name))
  }

  /// How often any of the functions was called, all of them together.
  public func calls(of functions: [String]) -> UInt64 { functions.reduce(0) { $0 + (calls[$1] ?? 0) } }
}
