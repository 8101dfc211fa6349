import Auth
import Foundation
import Gateway
import Settings
import ZeroMQ

/// The keys of a backbone over tcp.
enum BackboneSetup {
  enum Keys {
    case broker(Curve.SecretKey, clients: Set<Curve.PublicKey>)
    case gateway(Curve.KeyPair, server: Curve.PublicKey?)
  }

  /// The name of the gateways' part of the allow list.
  static let domain = "backbone"

  /// - Throws: a sentence where gateways in processes of their own could not reach the endpoint.
  static func requireOpen(_ settings: Settings) throws {
    guard settings.backbone.isInProcess else { return }
    throw Complaint(
      "backbone.endpoint is \(settings.backbone.endpoint), which nobody outside this process reaches; write ipc://file "
        + "or tcp://address:port, or run 'fanfare serve'")
  }

  /// The CURVE keys of this process's end of the backbone; nil where the settings name none.
  static func curve(for settings: Settings, role: ServerProcess.Role) throws -> Keys? {
    let curve = settings.backbone.curve
    do {
      switch role {
      case .serve: return nil
      case .broker:
        if curve.serverSecretKeyFile.isEmpty { return nil }
        let clients = try curve.clientPublicKeys.map { (text) throws(ZeroMQError) in try Curve.PublicKey(z85: text) }
        return .broker(try secretKey(in: curve.serverSecretKeyFile), clients: Set(clients))
      case .front where curve.clientSecretKeyFile.isEmpty && !curve.serverSecretKeyFile.isEmpty:
        throw Complaint(
          "what services and backends ask is passed on to the brokers of all partitions, which let nobody in without a "
            + "key: set backbone.curve.client_secret_key_file, and backbone.brokers with each broker's server_public_key; "
            + "or set broker.services.enabled and admin.enabled to false")
      case .gateway, .front:
        if curve.clientSecretKeyFile.isEmpty { return nil }
        let secret = try secretKey(in: curve.clientSecretKeyFile)
        let keys = Curve.KeyPair(publicKey: try secret.publicKey, secretKey: secret)
        let server = curve.serverPublicKey
        return .gateway(keys, server: server.isEmpty ? nil : try Curve.PublicKey(z85: server))
      }
    } catch let error as ZeroMQError {
      throw Complaint(
        "a CURVE key of the backbone cannot be used: \(error). Keys have 40 characters of Z85; make a pair with "
          + "'fanfare config curve FILE'")
    }
  }

  /// Where the gateway reaches its brokers.
  static func brokers(for settings: Settings, _ curve: Keys?) throws -> [GatewayEndpoint] {
    guard case .gateway(let keys, let server) = curve else {
      let addresses = settings.backbone.brokers.map(\.endpoint)
      return (addresses.isEmpty ? [settings.backbone.endpoint] : addresses).map { GatewayEndpoint($0) }
    }
    if settings.backbone.brokers.isEmpty {
      return [GatewayEndpoint(settings.backbone.endpoint, curve: server.map { .client(keys, server: $0) })]
    }
    return try settings.backbone.brokers.map { broker in
      let key = broker.serverPublicKey
      let server = key.isEmpty ? nil : try Curve.PublicKey(z85: key)
      return GatewayEndpoint(broker.endpoint, curve: server.map { .client(keys, server: $0) })
    }
  }

  /// Where the brokers of each partition are reached.
  static func brokersOfPartitions(for settings: Settings, _ curve: Keys?) throws -> [[GatewayEndpoint]] {
    let brokers = try brokers(for: settings, curve)
    return (0..<settings.cluster.partitions).map { partition in
      brokers.map { broker in
        guard let address = PartitionEndpoint.of(partition, at: broker.address) else {
          preconditionFailure("settings whose endpoints leave no room for the partitions are refused")
        }
        return GatewayEndpoint(address, curve: broker.curve)
      }
    }
  }

  /// Reads a CURVE secret key.
  ///
  /// - Throws: a sentence, where the file is missing or holds no key, or where others than its owner may read it.
  static func secretKey(in file: String) throws -> Curve.SecretKey {
    do throws(SecretFile.Fault) { try SecretFile.requirePrivate(file) } catch {
      if case .missing = error {
        throw Complaint("the CURVE key file \(file) does not exist; make one with 'fanfare config curve FILE'")
      }
      throw Complaint("\(error)")
    }
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw Complaint("the CURVE key file \(file) cannot be read; make one with 'fanfare config curve FILE'")
    }
    return try Curve.SecretKey(z85: text.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
