import Wire

/// An extension that a client offers in `Sec-WebSocket-Extensions` (RFC 6455, section 9.1).
///
///     permessage-deflate; client_max_window_bits; server_max_window_bits="10", permessage-deflate
struct ExtensionOffer: Equatable {
  struct Parameter: Equatable {
    var name: String
    /// Nil where there is none, without the quotes where it has some.
    var value: String?
  }

  var name: String
  var parameters: [Parameter] = []

  /// - Returns: what stands in one header, in its order; nil where it is not a list of extensions. Empty members count as
  ///   none (RFC 9110, section 5.6.1.2).
  static func list(_ header: String) -> [ExtensionOffer]? {
    var reader = Reader(header)
    var offers: [ExtensionOffer] = []
    repeat {
      reader.skipSpaces()
      guard let name = reader.token() else {
        if reader.isAtEnd || reader.isAt(",") { continue }
        return nil
      }
      var offer = ExtensionOffer(name: name)
      while reader.take(";") {
        guard let parameter = reader.parameter() else { return nil }
        offer.parameters.append(parameter)
      }
      offers.append(offer)
    } while reader.take(",")
    return reader.isAtEnd ? offers : nil
  }

  private struct Reader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    func isAt(_ mark: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: mark) }

    mutating func skipSpaces() { rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }

    /// Takes the mark and the spaces around it, where it comes next.
    mutating func take(_ mark: Unicode.Scalar) -> Bool {
      skipSpaces()
      guard isAt(mark) else { return false }
      rest.removeFirst()
      skipSpaces()
      return true
    }

    mutating func token() -> String? {
      let token = rest.prefix(while: RequestDecision.isTokenByte)
      rest = rest.dropFirst(token.count)
      return token.isEmpty ? nil : String(Substring(token))
    }

    mutating func parameter() -> Parameter? {
      guard let name = token() else { return nil }
      guard take("=") else { return Parameter(name: name) }
      guard isAt("\"") else { return token().map { Parameter(name: name, value: $0) } }
      return quotedToken().map { Parameter(name: name, value: $0) }
    }

    /// Within the quotes, a backslash stands before a byte that means itself; what results must be a token all the same.
    private mutating func quotedToken() -> String? {
      rest.removeFirst()
      var value: [UInt8] = []
      while var byte = rest.popFirst() {
        if byte == UInt8(ascii: "\"") { return value.isEmpty ? nil : String(decoding: value, as: UTF8.self) }
        if byte == UInt8(ascii: "\\") {
          guard let escaped = rest.popFirst() else { return nil }
          byte = escaped
        }
        guard RequestDecision.isTokenByte(byte) else { return nil }
        value.append(byte)
      }
      return nil
    }
  }
}

/// What was agreed on about compression (permessage-deflate, RFC 7692, section 7.1).
///
/// Neither side takes a context over, whatever was asked: ``Compressor`` says why, and ``Inflater`` lives on it too.
struct DeflateAgreement: Equatable {
  /// Of what the server sends.
  let window: DeflateWindow
  /// The client named a limit for it, and is told what became of it.
  private let isWindowAsked: Bool

  /// - Returns: nil where none of the offers can be accepted. The first that can is.
  init?(_ offers: [ExtensionOffer]) {
    for offer in offers where offer.name == "permessage-deflate" {
      if let agreement = DeflateAgreement(offer.parameters) {
        self = agreement
        return
      }
    }
    return nil
  }

  /// - Returns: nil where a parameter is unknown, comes twice or has another value than it may have: such an offer is to
  ///   be declined (section 7.1).
  private init?(_ parameters: [ExtensionOffer.Parameter]) {
    guard Set(parameters.map(\.name)).count == parameters.count else { return nil }
    var window: DeflateWindow?
    for parameter in parameters {
      switch parameter.name {
      case "server_no_context_takeover", "client_no_context_takeover":
        if parameter.value != nil { return nil }
      case "client_max_window_bits":
        // The client can be told a limit, or knows one itself. It needs none: any window can be read here.
        if let value = parameter.value, Self.bits(value) == nil { return nil }
      case "server_max_window_bits":
        guard let bits = parameter.value.flatMap(Self.bits), let fitting = DeflateWindow(within: bits) else {
          return nil
        }
        window = fitting
      default: return nil
      }
    }
    self.window = window ?? .large
    isWindowAsked = window != nil
  }

  /// 8 to 15, without leading zeros (section 7.1.2).
  private static func bits(_ value: String) -> Int? {
    guard let bits = Int(value), (8...15).contains(bits), String(bits) == value else { return nil }
    return bits
  }

  /// The value of the answer's `Sec-WebSocket-Extensions`.
  var answer: String {
    let limit = isWindowAsked ? "; server_max_window_bits=\(window.rawValue)" : ""
    return "permessage-deflate; server_no_context_takeover; client_no_context_takeover" + limit
  }
}
