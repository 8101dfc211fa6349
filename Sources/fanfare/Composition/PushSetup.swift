import Auth
import Cryptography
import Push
import Settings
import ZeroMQ

/// The services that bring notifications to devices, from the settings.
enum PushSetup {
  /// Name within the data folder of the key that `fanfare push keys` makes.
  static let keyName = "push-vapid.key"

  /// What sends notifications; where no service is configured, it says so of each device.
  ///
  /// - Parameter clock: seconds since 1970.
  /// - Throws: a sentence where a file cannot be read or holds something else.
  static func notifier(_ settings: Settings, clock: @escaping @Sendable () -> Int64) throws -> PushNotifier {
    PushNotifier(try service(settings, clock: clock))
  }

  private static func service(_ settings: Settings, clock: @escaping @Sendable () -> Int64) throws -> PushService {
    let push = settings.push
    let configuration = PushConfiguration(
      webPush: try webPush(push.web), apns: try apns(push.apns), fcm: try fcm(push.fcm),
      limits: PushConfiguration.Limits(
        underWay: push.maxUnderWay, waiting: push.maxWaiting, timeoutMilliseconds: Int(push.timeout.milliseconds)),
      certificateAuthorities: try CertificateAuthorities.file(push.$certificateAuthorities))
    do {
      return try PushService(
        configuration, userAgent: "Fanfare/\(Fanfare.version)", now: clock,
        age: { Int64(MonotonicClock.now() / 1_000_000_000) })
    } catch {
      throw Complaint("OpenSSL does not work with a key of the section push; make it anew")
    }
  }

  /// The key by which push services know us; nil where none is configured.
  static func vapidKey(_ web: Settings.Push.Web) throws -> VAPIDKey? {
    guard web.isOn else { return nil }
    let (setting, text) =
      web.vapidPrivateKey.isEmpty
      ? (web.$vapidPrivateKeyFile, try secret(web.$vapidPrivateKeyFile))
      : (web.$vapidPrivateKey, web.vapidPrivateKey)
    do throws(VAPIDKey.Invalid) { return try VAPIDKey(text) } catch { throw Complaint("\(setting): \(error)") }
  }

  private static func webPush(_ web: Settings.Push.Web) throws -> PushConfiguration.WebPush? {
    guard let key = try vapidKey(web) else { return nil }
    return PushConfiguration.WebPush(
      key: key, subject: web.subject, allowedHosts: web.allowedHosts,
      allowsPrivateAddresses: web.allowPrivateAddresses, link: web.page.isEmpty ? nil : web.page)
  }

  private static func apns(_ apns: Settings.Push.APNs) throws -> PushConfiguration.APNs? {
    guard apns.isOn else { return nil }
    guard let key = try? PrivateKey(pem: try secret(apns.$keyFile)), key.publicKey.kind == .ecdsa(.p256) else {
      // A file that cannot be read has a sentence of its own.
      _ = try secret(apns.$keyFile)
      throw Complaint("\(apns.$keyFile): \(apns.keyFile) holds no key for APNs; give the .p8 file as Apple gave it out")
    }
    return PushConfiguration.APNs(
      key: key, keyID: apns.keyID, teamID: apns.teamID, topics: apns.topics, productionURL: apns.url,
      sandboxURL: apns.sandboxURL)
  }

  private static func fcm(_ fcm: Settings.Push.FCM) throws -> PushConfiguration.FCM? {
    guard fcm.isOn else { return nil }
    let text = try secret(fcm.$serviceAccountFile)
    do throws(ServiceAccount.Invalid) {
      return PushConfiguration.FCM(account: try ServiceAccount(text), url: fcm.url)
    } catch {
      throw Complaint("\(fcm.$serviceAccountFile): \(fcm.serviceAccountFile) \(error)")
    }
  }

  /// What stands in the file that a setting names, which only its owner may read.
  private static func secret(_ setting: Setting<String>) throws -> String {
    do throws(SecretFile.Fault) { return try SecretFile.load(setting.wrappedValue) } catch {
      throw Complaint("\(setting): \(error)")
    }
  }
}
