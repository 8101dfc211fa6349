import Auth
import Wire

@testable import Gateway

/// What a backend answers that decides who connects, subscribes and publishes.
enum AnswerTargets {
  static func backendReply(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    guard let answer = try? ProxyReply.read(input) else {
      try require(ProxyReply.answer(input) == .failed(.failed), "a reply that is none is an answer")
      return false
    }
    switch answer {
    case .error(let error):
      try require(ProxyReply.errorCodes.contains(error.code), "an error of the code \(error.code)")
    case .disconnect(let code):
      try require(ProxyReply.disconnectCodes.contains(code.code), "a disconnect of the code \(code.code)")
    case .failed: throw BrokenProperty(description: "a reply was read, and is none")
    case .result(let result):
      try checkLine(result.meta)
      for grant in [result.grant] + result.subscriptions.values { try checkLine(grant.info) }
    }
    return true
  }

  /// What others are shown within JSON.
  private static func checkLine(_ json: [UInt8]?) throws(BrokenProperty) {
    guard let json else { return }
    try require(JSONSyntax.isValid(json), "a value is not JSON: \(String(decoding: json, as: UTF8.self))")
  }
}
