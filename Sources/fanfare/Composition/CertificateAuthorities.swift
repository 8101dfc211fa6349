import Foundation
import Settings

/// The file of authorities that a setting names for calls to others.
enum CertificateAuthorities {
  /// - Returns: nil where none is named, so that the system's count.
  /// - Throws: a sentence where the file cannot be read: else every call would fail, one after another.
  static func file(_ setting: Setting<String>) throws -> String? {
    let path = setting.wrappedValue
    if path.isEmpty { return nil }
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw Complaint("\(setting): the file \(path) cannot be read; check its path")
    }
    return path
  }
}
