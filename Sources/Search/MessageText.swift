import Wire

/// The text by which a publication can be found.
enum MessageText {
  /// The `text` of the publication's data, folded as queries are; nil where it has none, was removed, or only says that
  /// another publication was changed. Where some readers are shown a former version (``FormerVersions``), the text of
  /// each version is a line of its own.
  static func text(of publication: Publication) -> String? {
    if publication.tags[FormerVersions.tag] == nil { return own(publication) }
    let texts = publication.versions.compactMap { own($0) }
    return texts.isEmpty ? nil : texts.joined(separator: "\n")
  }

  private static func own(_ publication: Publication) -> String? {
    guard publication.tags["deleted"] == nil, publication.tags["edits"] == nil, publication.tags["deletes"] == nil,
      publication.data.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
      let text = try? JSONArguments(publication.data).string("text"), !text.isEmpty
    else { return nil }
    return SearchFolding.folded(text)
  }

  /// The offset of the publication that this one says was changed or removed.
  static func target(of publication: Publication) -> UInt64? {
    (publication.tags["edits"] ?? publication.tags["deletes"]).flatMap { UInt64($0) }
  }
}
