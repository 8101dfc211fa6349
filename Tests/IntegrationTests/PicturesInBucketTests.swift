import Cryptography
import Foundation
import ObjectStore
import TestSupport
import Testing

/// Pictures of both apps in a bucket, on gateways that share no folder.
@Suite("Pictures in a bucket, end to end", .ownThread, .skipUnlessStrict(.moto, isThere: MotoServer.isThere))
struct PicturesInBucketTests {
  /// A deployment whose pictures are in a part of moto's bucket, and that part.
  private func withBucket(
    _ settings: [String] = [], _ body: (Deployment, ObjectStore) async throws -> Void
  ) async throws {
    let server = try await MotoServer.shared()
    let prefix = "e/\(UUID().uuidString)/"
    let store = try ObjectStore(
      ObjectStoreConfiguration(
        endpoint: server.endpoint, bucket: "pictures", region: "us-east-1", prefix: prefix,
        accessKeyID: server.accessKeyID, secretAccessKey: SecretKey(Array(server.secretAccessKey.utf8))),
      userAgent: "tests")
    defer { store.close() }
    try await withTemporaryFolder { directory in
      let file = directory.appendingPathComponent("s3.key")
      #expect(
        FileManager.default.createFile(
          atPath: file.path, contents: Data((server.secretAccessKey + "\n").utf8),
          attributes: [.posixPermissions: 0o600]))
      let s3 = [
        "endpoint=\(server.endpoint)", "bucket=pictures", "prefix=\(prefix)", "access_key_id=\(server.accessKeyID)",
        "secret_access_key_file=\(file.path)",
      ]
      try await Deployment.with(
        .ipc, settings: ["pictures.store=s3"] + s3.map { "pictures.s3." + $0 } + settings, in: directory
      ) { try await body($0, store) }
    }
  }

  private func port(_ address: String) -> Int { URL(string: address)?.port ?? 0 }

  private func phone(_ user: String, _ deployment: Deployment) async throws -> Phone {
    let phone = try Phone(deployment.b)
    try await phone.connect(deployment.token(user))
    return phone
  }

  @Test("State: what is uploaded at one gateway is seen at the other, with nothing of it in a gateway's folder")
  func state() async throws {
    try await withBucket { deployment, store in
      let (a, b) = (port(deployment.a), port(deployment.b))
      func client(_ user: String, at port: Int) throws -> PictureClient {
        PictureClient(port: port, token: try deployment.token(user))
      }
      let mine = [PictureClient.Picture(bytes: 1_300_000), .init(bytes: 2000)]
      let theirs = [PictureClient.Picture(bytes: 1000), .init(bytes: 70_000)]
      #expect(try client("ada", at: a).put(mine[0], 0..<131_072) == 202)
      #expect(try client("ada", at: b).offset(of: mine[0]) == 0, "an upload is where it began")
      #expect(try client("ada", at: a).put(mine[0], 131_072..<1_300_000) == 201)
      #expect(try client("ada", at: b).put(mine[1]) == 201)
      for picture in theirs { #expect(try client("bob", at: a).put(picture) == 201) }
      #expect(try store.names().count == 4)
      for folder in ["a", "b"] {
        let path = deployment.directory.appendingPathComponent("\(folder)/pictures").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
      }
      for (user, other, pictures) in [("ada", "bob", mine), ("bob", "ada", theirs)] {
        let phone = try await phone(user, deployment)
        try await phone.call("state.begin", "{\"to\":\"\(other)\"}")
        try await phone.call(
          "state.send", "{\"to\":\"\(other)\",\"front\":\"\(pictures[0].id)\",\"rear\":\"\(pictures[1].id)\"}")
      }
      for (user, port) in [("ada", a), ("ada", b), ("bob", a), ("bob", b)] {
        for picture in mine + theirs {
          let answer = try client(user, at: port).get(picture)
          let isSame = answer.body == picture.bytes
          #expect(answer.status == 200 && isSame)
        }
      }
      #expect(try client("eve", at: b).get(mine[0]).status == 404)
    }
  }

  @Test("State: what has expired is gone from the bucket, and no other picture is")
  func expired() async throws {
    try await withBucket(["state.lifetime=3s"]) { deployment, store in
      let (a, b) = (port(deployment.a), port(deployment.b))
      let token = try deployment.token("ada")
      let pictures = [PictureClient.Picture(bytes: 70_000), .init(bytes: 2000), .init(bytes: 3000)]
      for (picture, port) in zip(pictures, [a, b, a]) {
        #expect(try PictureClient(port: port, token: token).put(picture) == 201)
      }
      let phone = try await phone("ada", deployment)
      try await phone.call("state.begin", #"{"to":"bob"}"#)
      try await phone.call(
        "state.send", #"{"to":"bob","front":"\#(pictures[0].id)","rear":"\#(pictures[1].id)"}"#)
      #expect(try await eventually(within: .seconds(120)) { try store.names().count == 1 })
      #expect(try store.names().allSatisfy { $0.hasPrefix(pictures[2].id + ".") })
    }
  }

  @Test("Clique: a picture is cleaned, seen at both gateways, handed out with an export, and gone with its owner")
  func clique() async throws {
    try await withBucket(["account.allow_export=true", "account.allow_delete=true"]) { deployment, store in
      let (ada, bob) = (try await phone("ada", deployment), try await phone("bob", deployment))
      try await ada.call("clique.send", #"{"to":"bob","text":"hello"}"#)
      let accepted = try await bob.call("clique.accept", #"{"person":"ada"}"#)
      let id = try #require(accepted["conversation"].string)
      let sample = PictureSample.jpeg(pixels: 1_500_000)
      let picture = PictureClient.Picture(sample.dirty)
      let http = PictureClient(port: port(deployment.a), token: try deployment.token("ada"), app: "clique")
      #expect(try http.put(picture) == 201)
      try await ada.call("clique.send", #"{"conversation":"\#(id)","picture":{"id":"\#(picture.id)"}}"#)
      for (user, address) in [("ada", deployment.b), ("bob", deployment.a), ("bob", deployment.b)] {
        let client = PictureClient(port: port(address), token: try deployment.token(user), app: "clique")
        let isSame = try client.get(picture).body == sample.clean
        #expect(isSame)
      }
      var (bytes, cursor): ([UInt8], String?) = ([], nil)
      repeat {
        let page = try await ada.call("fanfare.account.export", "{\"cursor\":\"\(cursor ?? "")\"}")
        for item in page["items"].array {
          #expect(item["picture"]["lost"].string == nil)
          guard let part = item["picture"]["b64data"].string else { continue }
          bytes += Array(Data(base64Encoded: part) ?? Data())
        }
        cursor = page["cursor"].string
      } while cursor != nil
      let isSame = bytes == sample.clean
      #expect(isSame, "\(bytes.count) bytes of \(sample.clean.count)")
      #expect(try store.names().count == 1)
      try await ada.call("fanfare.account.delete", #"{"user":"ada"}"#)
      #expect(try await eventually { try store.names() == [] })
    }
  }

  @Test("A server whose bucket keeps versions does not start, and says what to do")
  func versioned() async throws {
    let server = try await MotoServer.shared()
    try await withTemporaryFolder { directory in
      let file = directory.appendingPathComponent("s3.key")
      #expect(
        FileManager.default.createFile(
          atPath: file.path, contents: Data(server.secretAccessKey.utf8), attributes: [.posixPermissions: 0o600]))
      let settings = [
        "data.directory=\(directory.path)/data", "server.port=0", "pictures.store=s3",
        "pictures.s3.endpoint=\(server.endpoint)", "pictures.s3.bucket=versioned",
        "pictures.s3.access_key_id=\(server.accessKeyID)", "pictures.s3.secret_access_key_file=\(file.path)",
      ]
      let outcome = try await Command(
        ServerProcess.executable(), ["serve"] + settings.flatMap { ["--set", $0] }
      ).run(deadline: .seconds(120))
      #expect(outcome.status != 0)
      #expect(outcome.output.contains("put-bucket-versioning"), "\(outcome.output)")
    }
  }
}
