import Foundation
public import Wire

extension PictureBroker {
  /// A call of an app's method in a user's name, as a gateway and not as a client; answered once, on any thread.
  public typealias Call =
    @Sendable (
      _ method: String, _ data: [UInt8], _ user: String,
      _ answer: @escaping @Sendable (Result<[UInt8], ClientError>) -> Void
    ) -> Void

  /// The broker behind calls of `state.picture.added`, `state.picture.key` and `state.picture.gone`.
  public init(call: @escaping Call) {
    self.init(
      register: { picture, answer in
        let request = Registration(
          id: picture.id, type: picture.type, bytes: picture.bytes, key: Data(picture.key).base64EncodedString(),
          upload: Data(picture.upload).base64EncodedString())
        guard let data = Self.encode(request) else { return answer(.failure(.internalError)) }
        call("state.picture.added", data, picture.user) { result in answer(result.map { _ in () }) }
      },
      begin: { picture, answer in
        let request = Registration(
          id: picture.id, type: nil, bytes: picture.bytes, key: Data(picture.key).base64EncodedString(),
          upload: Data(picture.upload).base64EncodedString())
        guard let data = Self.encode(request) else { return answer(.failure(.internalError)) }
        call("state.picture.added", data, picture.user) { result in answer(result.map { _ in () }) }
      },
      uploadKey: { id, upload, user, answer in
        guard let data = Self.encode(["id": id, "upload": Data(upload).base64EncodedString()]) else {
          return answer(.failure(.internalError))
        }
        call("state.picture.upload", data, user) { result in
          answer(
            result.flatMap { reply in
              guard let reply = try? JSONDecoder().decode(UploadKeyReply.self, from: Data(reply)),
                let key = Data(base64Encoded: reply.key)
              else { return .failure(.internalError) }
              return .success(Array(key))
            })
        }
      },
      key: { id, user, answer in
        guard let data = Self.encode(["id": id]) else { return answer(.failure(.internalError)) }
        call("state.picture.key", data, user) { result in
          answer(
            result.flatMap { reply in
              guard let reply = try? JSONDecoder().decode(KeyReply.self, from: Data(reply)),
                let key = Data(base64Encoded: reply.key)
              else { return .failure(.internalError) }
              return .success(PictureKey(type: reply.type, key: Array(key)))
            })
        }
      },
      gone: { ids, answer in
        guard let data = Self.encode(["ids": ids]) else { return answer(.failure(.internalError)) }
        call("state.picture.gone", data, Self.nobody) { result in
          answer(
            result.flatMap { reply in
              guard let reply = try? JSONDecoder().decode([String: [String]].self, from: Data(reply)),
                let gone = reply["gone"]
              else { return .failure(.internalError) }
              return .success(gone)
            })
        }
      })
  }

  /// The gateway asks for itself; the app does not look at who it is.
  private static let nobody = "-"

  private struct Registration: Encodable {
    var id: String
    var type: String?
    var bytes: Int
    var key: String
    var upload: String
  }

  private struct UploadKeyReply: Decodable {
    var key: String
  }

  private struct KeyReply: Decodable {
    var type: String
    var key: String
  }

  private static func encode(_ value: some Encodable) -> [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map(Array.init)
  }
}
