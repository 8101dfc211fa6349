import Auth
import Cryptography
import Gateway
import Settings

/// Shared polls, from the settings.
enum SharedPollSetup {
  /// - Returns: nil where the backend is not asked for keys, or nobody could track one.
  static func configuration(for settings: Settings) throws -> SharedPollConfiguration? {
    let (polls, proxies) = (settings.sharedPoll, settings.proxies)
    guard proxies.sharedPollRefresh.isOn, let secret = try secret(polls) else { return nil }
    let previous = polls.hmacPreviousSecret
    return SharedPollConfiguration(
      signatures: TrackSignatures(
        key: SecretKey(Array(secret.utf8)),
        previousKey: previous.isEmpty ? nil : SecretKey(Array(previous.utf8)),
        previousUntil: Int64(polls.hmacPreviousSecretUntil)),
      maximumTrackings: polls.maxTrackings, dataBytes: polls.maxDataBytes,
      // A call that would only wait for a connection is asked later instead, and for what is tracked by then.
      maximumCalls: min(proxies.sharedPollRefresh.maxCalls, proxies.maxConnections))
  }

  private static func secret(_ polls: Settings.SharedPoll) throws -> String? {
    if !polls.hmacSecret.isEmpty { return polls.hmacSecret }
    guard !polls.hmacSecretFile.isEmpty else { return nil }
    do throws(SecretFile.Fault) { return try SecretFile.load(polls.hmacSecretFile) } catch {
      throw Complaint("\(polls.$hmacSecretFile): \(error)")
    }
  }
}
