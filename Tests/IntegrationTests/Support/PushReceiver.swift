import Foundation
import Synchronization
import TestSupport
import Testing

/// Stands in for Firebase Cloud Messaging on a port of this machine: takes whatever comes, and notes it in order.
final class PushReceiver: Sendable {
  private static let script = #"""
    import http.server, json, ssl, sys, threading

    lock, tokens = threading.Lock(), 0

    class Receiver(http.server.BaseHTTPRequestHandler):
        # Connections stay, and answers say how long they are: one that ends with its connection may look cut off, and
        # its sender cannot know then whether the device was told.
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            global tokens
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                if self.path == "/token":
                    tokens += 1
                    answer = {"access_token": str(tokens), "expires_in": 3600, "token_type": "Bearer"}
                else:
                    life = int(self.headers["authorization"].split()[1])
                    print(json.dumps({"life": life, "message": json.loads(body)["message"]}), flush=True)
                    answer = {"name": "projects/fire/messages/1"}
            told = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        # Shaken hands with on the thread of the connection, so that one that was killed halfway holds nobody up.
        def finish_request(self, request, address):
            super().finish_request(context.wrap_socket(request, server_side=True), address)

        def handle_error(self, *_):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server = Server(("127.0.0.1", 0), Receiver)
    print(server.server_port, flush=True)
    server.serve_forever()
    """#

  /// A token of which the name is a part.
  static func token(_ name: String) -> String { "\(name):APA91b" + String(repeating: "x", count: 140) }

  private let process: ChildProcess
  private let output: URL
  private let noted: Mutex<Noted>
  /// Of a server that sends here, and of its gateways.
  let settings: [String]

  /// - Parameter folder: where its files are.
  init(in folder: URL) async throws {
    let certificate = try TestCertificate()
    output = folder.appendingPathComponent("pushed.jsonl")
    let script = folder.appendingPathComponent("receiver.py")
    try Self.script.write(to: script, atomically: true, encoding: .utf8)
    let chain = folder.appendingPathComponent("push-chain.pem")
    try FileManager.default.copyItem(atPath: certificate.chainPath, toPath: chain.path)
    process = try ChildProcess(
      URL(fileURLWithPath: "/usr/bin/env"), ["python3", script.path, certificate.chainPath, certificate.keyPath],
      environment: ProcessInfo.processInfo.environment, output: output,
      errors: folder.appendingPathComponent("receiver-errors.txt"))
    let (process, output) = (process, output)
    var noted = Noted()
    _ = await eventually {
      _ = noted.arrivals(in: output)
      return noted.port != nil || !process.isRunning
    }
    guard let port = noted.port else { throw Failure("the receiver did not start") }
    let origin = "https://localhost:\(port)"
    let account = folder.appendingPathComponent("account.json")
    let key = try TestCertificate.openssl(["genpkey", "-algorithm", "RSA", "-quiet"])
    let fields = [
      "type": "service_account", "project_id": "fire", "private_key_id": "1", "private_key": key,
      "client_email": "fire@example.com", "token_uri": "\(origin)/token",
    ]
    let isWritten = FileManager.default.createFile(
      atPath: account.path, contents: try JSONEncoder().encode(fields), attributes: [.posixPermissions: 0o600])
    if !isWritten { throw Failure("\(account.path) cannot be written") }
    settings = [
      "push.notifications=true", "push.fcm.service_account_file=\(account.path)", "push.fcm.url=\(origin)",
      "push.certificate_authorities=\(chain.path)",
    ]
    self.noted = Mutex(noted)
    // The receiver has read its files.
    withExtendedLifetime(certificate) {}
  }

  func stop() { process.signal(SIGKILL) }

  /// All that has come, in order.
  var arrivals: [NoticeArrival] { noted.withLock { $0.arrivals(in: output) } }

  /// What was read of the file so far: people look at it all the time.
  private struct Noted {
    private var bytes: UInt64 = 0
    private(set) var port: Int?
    private var arrivals: [NoticeArrival] = []

    mutating func arrivals(in file: URL) -> [NoticeArrival] {
      guard let handle = try? FileHandle(forReadingFrom: file) else { return arrivals }
      defer { try? handle.close() }
      try? handle.seek(toOffset: bytes)
      let read = (try? handle.readToEnd()) ?? Data()
      // A line of which a part was written is read when it is whole.
      let whole = read.prefix(read.lastIndex(of: UInt8(ascii: "\n")).map { $0 - read.startIndex + 1 } ?? 0)
      bytes += UInt64(whole.count)
      for line in String(decoding: whole, as: UTF8.self).split(separator: "\n") { take(String(line)) }
      return arrivals
    }

    private mutating func take(_ line: String) {
      guard let noted = try? JSON(line), let life = noted["life"].int else {
        port = Int(line)
        return
      }
      let (message, data) = (noted["message"], noted["message"]["data"])
      let kind: NoticeArrival.Kind =
        !data["withdraw"].isNull ? .withdrawal : !data["update"].isNull ? .update : .show
      arrivals.append(
        NoticeArrival(
          device: message["token"].string ?? "", life: life, kind: kind, topic: data["topic"].string ?? "",
          offset: data["offset"].string.flatMap { Int($0) }, text: line))
    }
  }
}
