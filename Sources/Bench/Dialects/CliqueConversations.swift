import COpenSSL

/// The conversations of a measurement of Clique: one writer talks with many readers, each on a channel of its own.
///
/// Unchecked: a worker is one thread.
final class CliqueConversations: @unchecked Sendable {
  static let dialect = "clique"
  /// What is said of a peer that is measured so, behind its other settings.
  static let about = "; each channel a conversation, each publication a clique.send"
  static let shared = CliqueConversations()

  private var ids: [String: String] = [:]

  /// Whoever a connection is: a subscriber of channel 7 is reader 7, whatever the run.
  static func user(_ state: DialectState) -> String {
    state.role == .publisher ? "writer" : reader(of: state.channels.first ?? "")
  }

  private static func reader(of channel: String) -> String {
    let index = channel.split(separator: "-").last ?? ""
    return "reader-\(index)"
  }

  /// The id of the conversation that a channel of the scenario stands for.
  func id(of channel: String) -> String {
    if let id = ids[channel] { return id }
    let id = Self.id("writer", Self.reader(of: channel))
    ids[channel] = id
    return id
  }

  /// As the server works it out: 128 bits of SHA-256 over both users, the lesser first, each with its length before it.
  static func id(_ a: String, _ b: String) -> String {
    var message: [UInt8] = []
    for user in [a, b].sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      for shift in stride(from: UInt64(56), through: 0, by: -8) {
        message.append(UInt8(truncatingIfNeeded: UInt64(user.utf8.count) >> shift))
      }
      message.append(contentsOf: user.utf8)
    }
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 32
    _ = unsafe EVP_Digest(message, message.count, &digest, &length, EVP_sha256(), nil)
    let digits = Array("0123456789abcdef".utf8)
    return "p"
      + String(decoding: digest.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  // MARK: Before a run

  /// Opens the conversations on a server that has just started: each reader asks, the writer accepts.
  ///
  /// - Parameter commands: the server's endpoint for services.
  static func open(count: Int, commands: String) throws(BenchError) {
    let asks = (0..<count).map { index in
      ServiceCalls.Request.call("clique.send", as: "reader-\(index)", "{\"to\":\"writer\",\"text\":\"hello\"}")
    }
    let accepts = (0..<count).map { index in
      ServiceCalls.Request.call("clique.accept", as: "writer", "{\"person\":\"reader-\(index)\"}")
    }
    try ServiceCalls.make(asks, at: commands)
    try ServiceCalls.make(accepts, at: commands)
  }
}
