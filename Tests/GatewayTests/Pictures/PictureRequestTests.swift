import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Pictures over HTTP: what is refused, and giving out")
struct PictureRequestTests {
  static let id = PictureScene.id
  private static let path = "/state/pictures?id=" + id

  @Test(
    "a request that is not quite right is refused with the status that says why",
    arguments: [
      ("PUT", path, nil, ["Content-Length: 5"], 401), ("PUT", path, "wrong", ["Content-Length: 5"], 401),
      ("PUT", path, "expired", ["Content-Length: 5"], 401), ("PUT", path, "anonymous", ["Content-Length: 5"], 401),
      ("PUT", path, "away", ["Content-Length: 5"], 503), ("GET", "/state/pictures/" + id, "expired", [], 401),
      ("PUT", path, "token-of-ada", ["Authorization: Bearer token-of-bob", "Content-Length: 5"], 401),
      ("PUT", "/state/pictures", "token-of-ada", ["Content-Length: 5"], 400),
      ("PUT", "/state/pictures?id=../../../etc/passwd-0123456789", "token-of-ada", ["Content-Length: 5"], 400),
      ("PUT", "/state/pictures?id=short", "token-of-ada", ["Content-Length: 5"], 400),
      ("PUT", "/state/pictures?id=\(String(repeating: "a", count: 65))", "token-of-ada", ["Content-Length: 5"], 400),
      ("PUT", path + "&id=x", "token-of-ada", ["Content-Length: 5"], 400),
      ("GET", "/state/pictures/..%2fsecret.key-0123456789ab", "token-of-ada", [], 400),
      ("GET", "/state/pictures/", "token-of-ada", [], 400), ("GET", path, "token-of-ada", [], 405),
      ("POST", path, "token-of-ada", [], 405), ("DELETE", "/state/pictures/" + id, "token-of-ada", [], 405),
      ("PUT", path, "token-of-ada", ["Transfer-Encoding: chunked"], 411),
      ("PUT", path, "token-of-ada", ["Content-Length: 0"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Encoding: gzip"], 415),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: bytes 0-4/*"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: bytes 0-5/9"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: bytes 5-9/9"], 416),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: bytes 4-0/9"], 416),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: bytes -4--0/9"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: lines 0-4/5"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Range: bytes 4-8/9"], 409),
      ("GET", "/state/pictures/" + id, "token-of-ada", ["Content-Length: 3"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Content-Length: 5"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Transfer-Encoding: chunked"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Host: b"], 400),
      ("PUT", path, "token-of-ada", ["Content-Length: 5", "Origin: https://evil.example"], 403),
    ] as [(String, String, String?, [String], Int)])
  func refusals(method: String, path: String, token: String?, headers: [String], expected: Int) async throws {
    try await withPictures { scene throws in
      #expect(try scene.ask(method, path, token: token, headers).status == expected)
      #expect(scene.files == [])
      #expect(scene.harness.listener.counters.rejectedRequests == 1)
    }
  }

  @Test("without a picture store there is nothing")
  func disabled() throws {
    try withListener { harness throws in
      let client = try ListenerRawClient(port: harness.port)
      try client.send(PictureScene.head("PUT", Self.path, ["Content-Length: 5"]))
      #expect(try client.readHead().hasPrefix("HTTP/1.1 404 "))
    }
  }

  @Test("a page of an allowed origin may upload and read, and no other page")
  func origins() async throws {
    try await withPictures(listener: { $0.allowedOrigins = ["https://app.example"] }) { scene throws in
      let asked = ["Origin: https://app.example", "Access-Control-Request-Method: PUT"]
      let preflight = try scene.ask("OPTIONS", Self.path, token: nil, asked)
      #expect(preflight.status == 200)
      #expect(preflight.header("Access-Control-Allow-Origin") == "https://app.example")
      #expect(preflight.header("Access-Control-Allow-Methods")?.contains("PUT") == true)
      #expect(preflight.header("Access-Control-Allow-Headers")?.contains("Authorization") == true)
      #expect(try scene.ask("OPTIONS", Self.path, token: nil, ["Origin: https://other.example"]).status == 403)
      let upload = try scene.ask(
        "PUT", Self.path, ["Origin: https://app.example"], body: PictureScene.picture(1000))
      #expect(upload.status == 201)
      #expect(upload.header("Access-Control-Allow-Origin") == "https://app.example")
      let refused = try scene.ask("PUT", Self.path, token: "x", ["Origin: https://app.example"], body: [1])
      #expect(refused.status == 401)
      #expect(refused.header("Access-Control-Allow-Origin") == "https://app.example")
    }
  }

  @Test("nobody learns from another's upload")
  func strangers() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(100_000)
      #expect(try scene.put(Self.id, picture, 0..<70_000).status == 202)
      #expect(try scene.ask("HEAD", Self.path, token: "token-of-eve").status == 409)
      #expect(try scene.put(Self.id, picture, token: "token-of-eve").status == 409)
      #expect(try scene.offset(Self.id) == "65536")
      #expect(try scene.offset(String(repeating: "f", count: 32)) == "0")
    }
  }

  @Test("pictures that are discarded are gone, and an upload under way ends")
  func discard() async throws {
    try await withPictures { scene throws in
      let other = String(repeating: "c", count: 22)
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 201)
      #expect(try scene.put(other, PictureScene.picture(100_000), 0..<70_000).status == 202)
      scene.broker.show(to: "ada")
      try scene.discard([Self.id, other, "../../x", String(repeating: "d", count: 32)])
      #expect(scene.files == [])
      #expect(try scene.get(Self.id).status == 404)
      #expect(try scene.offset(other) == "0")
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 201)
    }
  }

  @Test(
    "a file that was changed, cut off, or put in another's place is not given out",
    arguments: ["changed", "cut", "swapped"])
  func tampered(how: String) async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(65_536 * 2)
      #expect(try scene.put(Self.id, picture).status == 201)
      scene.broker.show(to: "ada")
      let path = URL(fileURLWithPath: scene.folder + "/" + Self.id)
      var file = try Data(contentsOf: path)
      let chunk = PictureFile.chunkBytes + PictureFile.tagBytes
      switch how {
      case "changed": file[100_000] ^= 1
      case "cut": file.removeLast(chunk)
      default:
        let (first, second) = (file[36..<(36 + chunk)], file[(36 + chunk)...])
        file = file[..<36] + second + first
      }
      try file.write(to: path)
      let client = try ListenerRawClient(port: scene.harness.port)
      try client.send(PictureScene.head("GET", "/state/pictures/" + Self.id))
      let answer = try scene.read(client)
      #expect(answer.status == (how == "changed" ? 200 : 500))
      if how == "changed" { #expect(answer.body == Array(picture[..<65_536])) }
    }
  }

  @Test("a reader that stalls is let go")
  func stalledReader() async throws {
    try await withPictures { scene throws in
      #expect(try scene.put(Self.id, PictureScene.picture(8 << 20)).status == 201)
      scene.broker.show(to: "ada")
      // Only the one that gives it out is in a hurry: the upload may take its time.
      let hurried = try PictureScene(folder: String(scene.folder.dropLast("/pictures".count)), broker: scene.broker) {
        $0.idleTimeoutMilliseconds = 300
      }
      defer { hurried.stop() }
      let client = try ListenerRawClient(port: hurried.harness.port, receiveBufferBytes: 4096)
      try client.send(PictureScene.head("GET", "/state/pictures/" + Self.id))
      #expect(try client.readHead().hasPrefix("HTTP/1.1 200 "))
      #expect(try hurried.harness.wait { hurried.harness.listener.counters.openConnections == 0 })
      withExtendedLifetime(client) {}
    }
  }

  @Test("while the disk has the rest of a picture, its reader is not waited for")
  func diskTakesItsTime() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(2 * PictureFile.chunkBytes)
      #expect(try scene.put(Self.id, picture).status == 201)
      scene.broker.show(to: "ada")
      let idle: Int64 = 3_000
      let slow = try PictureScene(folder: String(scene.folder.dropLast("/pictures".count)), broker: scene.broker) {
        $0.idleTimeoutMilliseconds = idle
        $0.threads = 1
      }
      defer { slow.stop() }
      let beforeFirst = slow.occupyDisk()
      defer { beforeFirst.signal() }
      let client = try ListenerRawClient(port: slow.harness.port)
      try client.send(PictureScene.head("GET", "/state/pictures/" + Self.id))
      #expect(try slow.harness.wait { scene.broker.keysAsked == 1 })
      // The answer with the key comes behind what asked for it, and gives the disk the first chunk.
      for _ in 0..<2 { try slow.runLoops() }
      let beforeSecond = slow.occupyDisk()
      defer { beforeSecond.signal() }
      beforeFirst.signal()
      #expect(try client.readHead().hasPrefix("HTTP/1.1 200 "))
      let first = try #require(try client.read(PictureFile.chunkBytes))
      // Twice the time after which a reader that stalls is let go.
      try slow.runLoops(afterMilliseconds: 2 * idle)
      beforeSecond.signal()
      let isWhole = try first + client.readToEnd() == picture
      #expect(isWhole)
    }
  }

  @Test("the broker is told and asked about pictures in commands that no client can say")
  func brokerCalls() {
    let asked = Mutex<[String: [PictureCommand]]>([:])
    let broker = PictureBroker { command, user, answer in
      asked.withLock { $0[user, default: []].append(command) }
      #expect(StateCommand(command).isGateways && CliqueCommand.picture(command).isGateways)
      switch command {
      case .add: answer(.success(Array("{}".utf8)))
      default: answer(.success(Array(#"{"key":"AQID","type":"image/png","more":1}"#.utf8)))
      }
    }
    let picture = TakenPicture(id: Self.id, user: "ada", type: "image/heic", bytes: 7, key: [1, 2, 3], upload: [9])
    broker.register(picture) { result in #expect((try? result.get()) != nil) }
    broker.key(Self.id, "bob") { result in #expect(result == .success(PictureKey(type: "image/png", key: [1, 2, 3]))) }
    broker.begin(BegunPicture(id: Self.id, user: "ada", bytes: 7, key: [1, 2, 3], upload: [9])) { result in
      #expect((try? result.get()) != nil)
    }
    broker.uploadKey(Self.id, [9], "ada") { result in #expect(result == .success([1, 2, 3])) }
    #expect(
      asked.withLock { $0 } == [
        "ada": [
          .add(.init(id: Self.id, type: "image/heic", bytes: 7, key: [1, 2, 3], upload: [9])),
          .add(.init(id: Self.id, type: nil, bytes: 7, key: [1, 2, 3], upload: [9])),
          .uploadKey(id: Self.id, upload: [9]),
        ],
        "bob": [.key(id: Self.id)],
      ])
    let broken = PictureBroker { _, _, answer in answer(.success(Array("[]".utf8))) }
    broken.uploadKey(Self.id, [9], "bob") { result in #expect(result == .failure(.internalError)) }
    broken.key(Self.id, "bob") { result in #expect(result == .failure(.internalError)) }
    let refusing = PictureBroker { _, _, answer in answer(.failure(.limitExceeded)) }
    refusing.register(picture) { result in #expect(throws: ClientError.limitExceeded) { try result.get() } }
  }

  @Test("formats are told by their first bytes")
  func formats() {
    func format(_ text: String) -> PictureFormat? { PictureFormat(firstBytes: Array(text.utf8)) }
    #expect(PictureFormat(firstBytes: [0xFF, 0xD8, 0xFF, 0xDB]) == .jpeg)
    #expect(PictureFormat(firstBytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == .png)
    #expect(format("RIFF....WEBPVP8 ") == .webP)
    #expect(format("....ftypheic....") == .heic)
    #expect(format("....ftypmif1....") == .heic)
    for other in ["RIFF....WAVEfmt ", "....ftypmp42....", "....ftypavif....", "", "RIFF", "....ftyp"] {
      #expect(format(other) == nil)
    }
    #expect(PictureFormat(firstBytes: [0x89, 0x50, 0x4E, 0x47]) == nil)
  }
}
