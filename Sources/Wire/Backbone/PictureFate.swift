/// What becomes of a picture's files: gateways do it, each as far as it has them, and as often as it is told.
///
/// The file of a picture has the picture's id for a name. Where the picture was reported, the file gets a name of its own
/// when the picture goes (`kept`), so that nothing under the id tells its owner of the report, and goes when the last
/// report does (`released`). An upload names the very file, because an id may be used again.
public struct PictureFate: Sendable, Hashable, Codable {
  public var id: String
  /// Nobody may see the picture any more: what stands under its id goes.
  public var isGone: Bool
  /// The uploads of this id whose files are kept for moderators.
  public var kept: [[UInt8]]
  /// The uploads of this id whose files were kept, and go.
  public var released: [[UInt8]]

  public init(id: String, isGone: Bool, kept: [[UInt8]] = [], released: [[UInt8]] = []) {
    self.id = id
    self.isGone = isGone
    self.kept = kept
    self.released = released
  }

  /// A picture that goes, and of which nothing is kept.
  public init(gone id: String) { self.init(id: id, isGone: true) }

  var cost: Int { 16 + id.utf8.count + (kept + released).reduce(0) { $0 + 16 + $1.count } }

  fileprivate func write(to sink: inout some ByteSink) {
    sink.write(id)
    sink.write(byte: isGone ? 1 : 0)
    for uploads in [kept, released] {
      sink.write(UInt64(uploads.count))
      for upload in uploads { sink.write(upload) }
    }
  }

  fileprivate init(from reader: inout ByteReader) throws(MalformedMessage) {
    let id = try reader.readString()
    guard let isGone: Bool = [0: false, 1: true][try reader.readByte()] else { throw MalformedMessage() }
    self.init(
      id: id, isGone: isGone, kept: try Self.uploads(from: &reader), released: try Self.uploads(from: &reader))
  }

  private static func uploads(from reader: inout ByteReader) throws(MalformedMessage) -> [[UInt8]] {
    var uploads: [[UInt8]] = []
    for _ in 0..<(try reader.readCount()) { uploads.append(try reader.readBytes()) }
    return uploads
  }
}

/// Tells what becomes of pictures: a gateway that has their files deletes them, or keeps them for moderators.
public struct LinkDiscard: Sendable, Equatable {
  public var pictures: [PictureFate]

  public init(pictures: [PictureFate]) { self.pictures = pictures }

  var cost: Int { pictures.reduce(0) { $0 + $1.cost } }

  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(UInt64(pictures.count))
    for picture in pictures { picture.write(to: &sink) }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    var pictures: [PictureFate] = []
    for _ in 0..<(try reader.readCount()) { pictures.append(try PictureFate(from: &reader)) }
    try reader.requireEnd()
    self.init(pictures: pictures)
  }
}
