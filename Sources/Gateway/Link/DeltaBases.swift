/// What the payloads take together that channels of one link keep as bases of patches: at most so many bytes. Where
/// there is no room for a payload, the next publication of its channel goes whole.
final class DeltaBases {
  private let limitBytes: Int
  private(set) var bytes = 0

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  /// - Returns: false where there is no room for it.
  func take(_ count: Int) -> Bool {
    guard count <= limitBytes - bytes else { return false }
    bytes += count
    return true
  }

  func giveBack(_ count: Int) { bytes -= count }
}
