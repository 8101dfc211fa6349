import Apps
import TestSupport
import Vault

// What these tests run with where they say nothing else. In the server it comes from the settings.

extension TrustedClock.Rules {
  init() { self.init(maximumStep: 600_000, trustsRestarts: false) }
}

extension StateVault {
  convenience init(
    folder: String, whenPrepared: @escaping @Sendable (VaultFault?) -> Void = { _ in }
  ) throws(VaultFault) {
    try self.init(
      hours: KeyFiles.place(Self.sealed, in: folder), lasting: KeyFiles.place(Self.lastingName, in: folder),
      rules: StateRules(), whenPrepared: whenPrepared)
  }
}

extension CliqueVault {
  convenience init(folder: String, now: Int64) throws(VaultFault) {
    try self.init(in: KeyFiles.place(Self.name, in: folder), now: now)
  }
}
