import ArgumentParser
import Foundation
import Settings
import Wire
import ZeroMQ

/// Where the broker's endpoint for services is.
struct ServiceOptions: ParsableArguments {
  @OptionGroup var settings: SettingsOptions

  @Option(name: .shortAndLong, help: "The broker's endpoint for services; the configured one where it is left out.")
  var endpoint: String?

  @Option(name: .long, help: "The broker's CURVE public key for services, where the endpoint asks for keys.")
  var serverKey: String?

  @Option(name: .long, help: "File with this service's own CURVE secret key ('fanfare config curve FILE').")
  var keyFile: String?

  @Option(name: .long, help: "Seconds to wait for the broker.")
  var timeout = 10

  func connect() throws -> ServiceClient {
    let endpoint = try self.endpoint ?? settings.load().broker.services.commands
    guard (1...86_400).contains(timeout) else {
      throw ValidationError("--timeout \(timeout): write 1 to 86400 seconds")
    }
    return try ServiceClient(endpoint: endpoint, curve: try curve(), timeoutSeconds: timeout)
  }

  /// Sends one request, and waits for its answer, which is JSON.
  func answer(to method: String, _ parameters: [UInt8]) throws -> [UInt8] {
    let client = try connect()
    var answer: [UInt8] = []
    try client.send(method, parameters, payload: nil) { answer = $0 }
    try client.drain { answer = $0 }
    return answer
  }

  func printAnswer(to method: String, _ parameters: [UInt8]) throws {
    print(String(decoding: try answer(to: method, parameters), as: UTF8.self))
  }

  /// Sends one request about a user, and returns its answer: JSON.
  func answer(
    _ method: String, user: String, _ more: (inout JSONWriter) -> Void = { _ in }
  ) throws -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("user", user)
      more(&writer)
    }
    return String(decoding: try answer(to: method, writer.bytes), as: UTF8.self)
  }

  private func curve() throws -> Curve.Role? {
    guard let serverKey, let keyFile else {
      if serverKey == nil && keyFile == nil { return nil }
      throw ValidationError("--server-key and --key-file go together")
    }
    do {
      let secret = try BackboneSetup.secretKey(in: keyFile)
      let own = Curve.KeyPair(publicKey: try secret.publicKey, secretKey: secret)
      return .client(own, server: try Curve.PublicKey(z85: serverKey))
    } catch let error as ZeroMQError {
      throw Complaint("a CURVE key cannot be used: \(error). Keys have 40 characters of Z85")
    }
  }
}

/// A backend service, as small as it can be: requests on a DEALER, several under way at a time.
final class ServiceClient {
  /// Requests under way: enough to fill a group commit, few enough that the answers never fill a pipe.
  private static let window = 512

  private let context: Context
  private let socket: Socket
  private let endpoint: String
  private let timeoutSeconds: Int
  private var frames: [[UInt8]] = []
  private var waiting = 0
  private var nextID: UInt64 = 0

  init(endpoint: String, curve: Curve.Role? = nil, timeoutSeconds: Int) throws {
    self.endpoint = endpoint
    self.timeoutSeconds = timeoutSeconds
    context = try Context()
    var options = Socket.Options()
    options.lingerMilliseconds = 0
    options.receiveTimeoutMilliseconds = Int32(timeoutSeconds * 1000)
    options.sendTimeoutMilliseconds = Int32(timeoutSeconds * 1000)
    options.curve = curve
    let socket = try Socket(context, .dealer, options)
    try socket.connect(endpoint)
    self.socket = socket
  }

  /// Sends a request; where many are under way, takes answers first.
  func send(_ method: String, _ parameters: [UInt8], payload: [UInt8]?, _ answer: ([UInt8]) -> Void) throws {
    while waiting >= Self.window { try takeOne(answer) }
    nextID += 1
    var request = [Array(String(nextID).utf8), Array(method.utf8), parameters]
    if let payload { request.append(payload) }
    try socket.send(multipart: request, blocking: true)
    waiting += 1
  }

  /// Takes the answers that are there, without waiting.
  func takeAnswers(_ answer: ([UInt8]) -> Void) throws {
    while waiting > 0, try receive(blocking: false, answer) {}
  }

  /// Waits for all answers.
  func drain(_ answer: ([UInt8]) -> Void) throws {
    while waiting > 0 { try takeOne(answer) }
  }

  private func takeOne(_ answer: ([UInt8]) -> Void) throws {
    guard try receive(blocking: true, answer) else {
      throw Complaint(
        "no answer from \(endpoint) within \(timeoutSeconds) s. Is the server running, and is this its "
          + "broker.services.commands endpoint? Start one with 'fanfare serve', name another with --endpoint, or run "
          + "this in the server's folder or with its --config. An endpoint over tcp may want a key: --key-file.")
    }
  }

  private func receive(blocking: Bool, _ answer: ([UInt8]) -> Void) throws -> Bool {
    guard try socket.receiveMultipart(into: &frames, maxFrames: 3, blocking: blocking) != nil else { return false }
    waiting -= 1
    guard frames.count == 3 else { throw Complaint("\(endpoint) does not answer as a Fanfare broker does") }
    guard frames[1] == Array("ok".utf8) else {
      throw Complaint("the broker refused: \(Self.sentence(in: frames[2]))")
    }
    answer(frames[2])
    return true
  }

  /// The message for people in a broker's refusal, with its code.
  private static func sentence(in answer: [UInt8]) -> String {
    guard let refusal = (try? JSONValue(parsing: answer))?.object, let code = refusal["code"]?.text,
      let message = refusal["message"]?.string
    else { return String(decoding: answer, as: UTF8.self) }
    return "\(message) (error \(code))"
  }
}
