import Apps
import TestSupport
import Vault

// What these tests run with where they say nothing else. In the server it comes from the settings.

extension TrustedClock.Rules {
  init() { self.init(maximumStep: 600_000, trustsRestarts: false) }
}

extension FileKeyVault {
  convenience init(
    folder: String, whenPrepared: @escaping @Sendable (KeyVaultError?) -> Void = { _ in }
  ) throws(VaultFault) {
    try self.init(folder: folder, rules: StateRules(), whenPrepared: whenPrepared)
  }
}
