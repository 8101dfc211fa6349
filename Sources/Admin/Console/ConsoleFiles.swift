import HTTPTypes
import Web

/// The console's page and what it is made of, and what every answer below `/console` tells browsers. No data is in it, so
/// it is for everybody.
struct ConsoleFiles: Sendable {
  private struct Served: Sendable {
    let file: WebFile
    let body: [UInt8]
  }

  private let served = Dictionary(
    uniqueKeysWithValues: WebFiles.console.map { ($0.path, Served(file: $0, body: Array($0.text.utf8))) })

  /// - Returns: nil where there is no such file.
  func answer(_ request: AdminRequest) -> AdminAnswer? {
    guard let served = served[request.path == "/console/" ? "/console/index.html" : request.path] else { return nil }
    var answer = AdminAnswer(served.file.contentType, served.body)
    answer.fields[.eTag] = served.file.tag
    // Kept, and asked for with the tag whether it is still the same: after an update the page is the new one at once.
    answer.fields[.cacheControl] = "no-cache"
    if Self.isKnown(served.file.tag, request.fields[values: .ifNoneMatch]) {
      answer.status = 304
      answer.body = []
    }
    return answer
  }

  /// Whether a browser has the file of this tag (RFC 9110, section 13.1.2).
  private static func isKnown(_ tag: String, _ lines: [String]) -> Bool {
    lines.contains { line in
      line.split(separator: ",").contains { given in
        let given = given.drop { $0 == " " }.prefix { $0 != " " }
        return given == "*" || given == tag || given == "W/" + tag
      }
    }
  }

  /// Scripts and styles come from this server's files alone; nothing is loaded from or sent to elsewhere; no other page shows
  /// the console; and no script can make a script of a text.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    + "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    + "require-trusted-types-for 'script'; trusted-types 'none'"

  private static let policies: [(String, String)] = [
    ("content-security-policy", contentSecurityPolicy), ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY"), ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
  ]

  static func safe(_ answer: AdminAnswer) -> AdminAnswer {
    var answer = answer
    for (name, value) in policies {
      if let name = HTTPField.Name(name) { answer.fields[name] = value }
    }
    return answer
  }
}
