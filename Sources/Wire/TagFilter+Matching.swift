extension TagFilter {
  /// The tag that is the publisher's user id, whatever was written under that name. Missing where the publisher has
  /// none: the server published, or an anonymous client.
  public static let userTag = "user"
  /// The tag that is a map channel's key; on other channels it is an ordinary tag.
  public static let keyTag = "key"

  /// Whether a publication passes the filter. Allocates nothing.
  public func matches(_ publication: Publication) -> Bool { matches(tags: PublicationTags(publication: publication)) }

  /// Whether a client that joined, left or is present passes the filter: of it only the tag `user` is known.
  public func matches(member: ClientInfo) -> Bool { matches(tags: MemberTags(member: member)) }

  private func matches(tags: some TagSource) -> Bool {
    switch self {
    case .all(let filters):
      for filter in filters where !filter.matches(tags: tags) { return false }
      return true
    case .any(let filters):
      for filter in filters where filter.matches(tags: tags) { return true }
      return false
    case .not(let filter): return !filter.matches(tags: tags)
    case .equal(let key, let value): return tags.value(of: key)?.hasSameBytes(as: value) ?? false
    case .oneOf(let key, let values):
      guard let tag = tags.value(of: key) else { return false }
      for value in values where tag.hasSameBytes(as: value) { return true }
      return false
    case .exists(let key): return tags.value(of: key) != nil
    case .hasPrefix(let key, let value): return unsafe tags.compare(key, value) { unsafe $0.begins(with: $1) }
    case .hasSuffix(let key, let value): return unsafe tags.compare(key, value) { unsafe $0.ends(with: $1) }
    case .contains(let key, let value): return unsafe tags.compare(key, value) { unsafe $0.contains($1) }
    case .number(let key, let comparison, let value):
      return unsafe tags.compare(key, value) { tag, value in
        guard let tag = unsafe DecimalText(tag), let value = unsafe DecimalText(value) else { return false }
        return comparison.isTrue(of: tag.compared(to: value))
      }
    }
  }
}

extension TagFilter.NumberComparison {
  /// - Parameter order: below zero where the tag is the smaller number, zero where both are the same (``DecimalText``).
  fileprivate func isTrue(of order: Int) -> Bool {
    switch self {
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    }
  }
}

/// Something in which a filter looks its tags up.
private protocol TagSource {
  func value(of key: String) -> String?
}

private struct PublicationTags: TagSource {
  let publication: Publication

  func value(of key: String) -> String? {
    if key.hasSameBytes(as: TagFilter.userTag) {
      guard let user = publication.info?.user, !user.isEmpty else { return nil }
      return user
    }
    if let change = publication.change, key.hasSameBytes(as: TagFilter.keyTag) { return change.key }
    // The dictionary takes two spellings of "é" for the same key, so the bytes are compared too.
    guard let index = publication.tags.index(forKey: key), publication.tags[index].key.hasSameBytes(as: key) else {
      return nil
    }
    return publication.tags[index].value
  }
}

private struct MemberTags: TagSource {
  let member: ClientInfo

  func value(of key: String) -> String? {
    key.hasSameBytes(as: TagFilter.userTag) && !member.user.isEmpty ? member.user : nil
  }
}

extension TagSource {
  /// Whether `holds` says so of the bytes of a tag and of a value; false where the tag is missing.
  @inline(__always)
  fileprivate func compare(
    _ key: String, _ value: String, _ holds: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    guard var tag = self.value(of: key) else { return false }
    var value = value
    return tag.withUTF8 { tag in
      value.withUTF8 { value in unsafe holds(UnsafeRawBufferPointer(tag), UnsafeRawBufferPointer(value)) }
    }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func begins(with other: UnsafeRawBufferPointer) -> Bool {
    guard other.count <= count else { return false }
    return unsafe UnsafeRawBufferPointer(rebasing: self[..<other.count]).hasSameBytes(as: other)
  }

  fileprivate func ends(with other: UnsafeRawBufferPointer) -> Bool {
    guard other.count <= count else { return false }
    return unsafe UnsafeRawBufferPointer(rebasing: self[(count - other.count)...]).hasSameBytes(as: other)
  }

  fileprivate func contains(_ other: UnsafeRawBufferPointer) -> Bool {
    guard let first = unsafe other.first else { return true }
    var start = 0
    while count - start >= other.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: self[start..<(count - other.count + 1)])
      guard let place = unsafe rest.place(of: first) else { return false }
      start += place
      let found = unsafe UnsafeRawBufferPointer(rebasing: self[start..<(start + other.count)])
      if unsafe found.hasSameBytes(as: other) { return true }
      start += 1
    }
    return false
  }
}
