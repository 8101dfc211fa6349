public import Wire

extension PictureBroker {
  /// A command in a user's name, as a gateway says it and no client can; answered once, on any thread.
  public typealias Call =
    @Sendable (
      _ command: PictureCommand, _ user: String, _ answer: @escaping @Sendable (Result<[UInt8], ClientError>) -> Void
    ) -> Void

  /// The broker behind commands about pictures.
  public init(call: @escaping Call) {
    self.init(
      register: { picture, answer in
        let command = PictureCommand.add(
          .init(
            id: picture.id, type: picture.type, bytes: Int64(picture.bytes), width: picture.width,
            height: picture.height, key: picture.key, upload: picture.upload))
        call(command, picture.user) { result in answer(result.map { _ in () }) }
      },
      begin: { picture, answer in
        let command = PictureCommand.add(
          .init(id: picture.id, type: nil, bytes: Int64(picture.bytes), key: picture.key, upload: picture.upload))
        call(command, picture.user) { result in answer(result.map { _ in () }) }
      },
      uploadKey: { id, upload, user, answer in
        call(.uploadKey(id: id, upload: upload), user) { result in
          answer(
            result.flatMap { reply in
              guard let key = Self.key(in: Self.fields(reply)) else { return .failure(.internalError) }
              return .success(key)
            })
        }
      },
      discard: { id, user, answer in
        call(.discard(id: id), user) { result in answer(result.map { _ in () }) }
      },
      key: { id, user, answer in
        call(.key(id: id), user) { result in
          answer(
            result.flatMap { reply in
              let fields = Self.fields(reply)
              guard let type = fields?["type"]?.string, let key = Self.key(in: fields) else {
                return .failure(.internalError)
              }
              return .success(PictureKey(type: type, key: key))
            })
        }
      },
      gone: { ids, answer in
        call(.gone(ids), Self.nobody) { result in
          answer(
            result.flatMap { reply in
              guard let fields = Self.fields(reply), let gone = fields["gone"]?.array else {
                return .failure(.internalError)
              }
              var sorted = SortedPictures(gone: Set(gone.compactMap(\.string)))
              for kept in fields["kept"]?.array ?? [] {
                guard let id = kept.object?["id"]?.string else { return .failure(.internalError) }
                let uploads = kept.object?["uploads"]?.array ?? []
                sorted.kept[id] = uploads.compactMap { $0.string.flatMap(Base64.standard.bytes) }
              }
              return .success(sorted)
            })
        }
      })
  }

  /// The broker of an app that takes no pictures here.
  static let absent = PictureBroker { _, _, answer in answer(.failure(.notAvailable)) }

  /// The user of a question that the gateway asks for itself; the app does not look at it.
  private static let nobody = "-"

  private static func fields(_ reply: [UInt8]) -> JSONObject? { (try? JSONValue(parsing: reply))?.object }

  private static func key(in fields: JSONObject?) -> [UInt8]? {
    fields?["key"]?.string.flatMap { Base64.standard.bytes($0) }
  }
}
