import Foundation
public import Wire

extension PictureBroker {
  /// A command in a user's name, as a gateway says it and no client can; answered once, on any thread.
  public typealias Call =
    @Sendable (
      _ command: StateCommand, _ user: String, _ answer: @escaping @Sendable (Result<[UInt8], ClientError>) -> Void
    ) -> Void

  /// The broker behind commands about pictures.
  public init(call: @escaping Call) {
    self.init(
      register: { picture, answer in
        let command = StateCommand.addPicture(
          .init(
            id: picture.id, type: picture.type, bytes: Int64(picture.bytes), key: picture.key, upload: picture.upload))
        call(command, picture.user) { result in answer(result.map { _ in () }) }
      },
      begin: { picture, answer in
        let command = StateCommand.addPicture(
          .init(id: picture.id, type: nil, bytes: Int64(picture.bytes), key: picture.key, upload: picture.upload))
        call(command, picture.user) { result in answer(result.map { _ in () }) }
      },
      uploadKey: { id, upload, user, answer in
        call(.uploadKey(id: id, upload: upload), user) { result in
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
        call(.pictureKey(id: id), user) { result in
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
        call(.gonePictures(ids), Self.nobody) { result in
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

  /// The user of a question that the gateway asks for itself; the app does not look at it.
  private static let nobody = "-"

  private struct UploadKeyReply: Decodable {
    var key: String
  }

  private struct KeyReply: Decodable {
    var type: String
    var key: String
  }
}
