import Auth
import Broker
import Foundation
import Settings
import Wire
import ZeroMQ

/// Who may use the endpoints for services.
enum ServicesSetup {
  /// The name of the services' part of the allow list.
  static let domain = "services"

  struct Keys {
    var secret: Curve.SecretKey
    /// The name of each service by its public key.
    var clients: [Curve.PublicKey: String]
  }

  /// The keys of the endpoints for services; nil where the settings name none.
  static func keys(for settings: Settings) throws -> Keys? {
    let services = settings.broker.services
    if !services.enabled || services.keys.isEmpty { return nil }
    var clients: [Curve.PublicKey: String] = [:]
    do {
      for key in services.serviceKeys { clients[try Curve.PublicKey(z85: key.publicKey)] = key.name }
      return Keys(secret: try BackboneSetup.secretKey(in: services.secretKeyFile), clients: clients)
    } catch let error as ZeroMQError {
      throw Complaint(
        "a CURVE key of broker.services cannot be used: \(error); make a pair with 'fanfare config curve FILE'")
    }
  }

  static func endpoints(
    _ endpoints: inout BrokerEndpoints, for settings: Settings, keys: Keys?, domain: CurveAllowList.Domain?
  ) {
    let services = settings.broker.services
    guard services.enabled else { return }
    func access(_ endpoint: String) -> ServiceAccess {
      guard Settings.Broker.Services.isTCP(endpoint) else { return .everything }
      guard let keys, let domain else { return .everyoneOnThisMachine }
      let grants = Dictionary(
        services.serviceKeys.map { ($0.name, $0.grant) }, uniquingKeysWith: { first, _ in first })
      return .keys(grants, .server(keys.secret, allowing: domain))
    }
    endpoints.commands = services.commands.isEmpty ? nil : services.commands
    endpoints.tap = services.tap
    endpoints.commandsAccess = access(services.commands)
    endpoints.tapAccess = access(services.tap)
  }

  /// Makes the folder of the sockets where it is in the data folder, and refuses a folder that everybody can enter: whoever
  /// reaches a socket may do everything.
  static func prepareFolders(for settings: Settings) throws {
    let services = settings.broker.services
    guard services.enabled else { return }
    // The folder in the data folder, spelled as the folders of endpoints are below, whatever slashes data.directory ends in.
    let inside = "\(settings.data.homeDirectory)/\(Settings.Broker.Services.folder)/x"
    let own = (inside as NSString).deletingLastPathComponent
    for endpoint in [services.commands, services.tap] {
      guard let path = Settings.Broker.Services.path(of: endpoint) else { continue }
      let folder = (path as NSString).deletingLastPathComponent
      if folder == own {
        // No other server listens there: the lock of the data folder sees to that.
        try DataFolderSetup.create(folder)
      } else if UnixSocket.isListening(at: path) {
        throw Complaint("another program listens on \(endpoint); stop it, or name another endpoint in broker.services")
      }
      if services.allowAnyoneOnThisMachine { continue }
      // A folder that a group may enter was made so on purpose, so only others are refused.
      do throws(SecretFile.Fault) {
        try SecretFile.requirePrivate(folder: folder.isEmpty ? "." : folder, mask: 0o007)
      } catch {
        throw Complaint(
          "\(error). Services use \(endpoint) without a key. Put the socket into a folder of its own, leave the endpoint "
            + "out, so that it is in the data folder, or set broker.services.allow_anyone_on_this_machine")
      }
    }
  }
}
