import Broker
import Settings
import Webhooks
import Wire

/// The webhooks, from the settings.
enum WebhookSetup {
  static func configurations(_ settings: Settings) -> [WebhookConfiguration] {
    settings.webhooks.map { webhook in
      var configuration = WebhookConfiguration(
        name: webhook.name, events: webhook.wanted, namespaces: webhook.wantedNamespaces)
      configuration.batchEvents = webhook.batchEvents
      configuration.batchBytes = webhook.batchBytes
      configuration.mostWaiting = webhook.maxWaitingEvents
      configuration.mostWaitingBytes = webhook.maxWaitingBytes
      configuration.mostGivenUp = webhook.maxGivenUpEvents
      configuration.minimumBackoff = webhook.minimumBackoff.milliseconds
      configuration.maximumBackoff = webhook.maximumBackoff.milliseconds
      configuration.giveUpAfter = webhook.giveUpAfter.milliseconds
      return configuration
    }
  }

  /// What gateways tell the broker of clients.
  static func clientEvents(_ settings: Settings) -> ClientEventInterest {
    var interest = ClientEventInterest()
    for webhook in settings.webhooks { interest.add(webhook.wanted, in: webhook.wantedNamespaces) }
    return interest
  }

  /// Nil where no webhook is configured.
  ///
  /// - Parameter clock: seconds since 1970.
  static func poster(_ settings: Settings, clock: @escaping @Sendable () -> Int64) throws -> HTTPWebhookPoster? {
    if settings.webhooks.isEmpty { return nil }
    let receivers = try settings.webhooks.map { webhook in
      WebhookReceiver(
        name: webhook.name, url: webhook.url,
        secrets: [webhook.secret, webhook.previousSecret].filter { !$0.isEmpty },
        timeoutMilliseconds: Int(webhook.timeout.milliseconds),
        allowsPrivateAddresses: webhook.allowPrivateAddresses,
        certificateAuthorities: try CertificateAuthorities.file(webhook.$certificateAuthorities))
    }
    return HTTPWebhookPoster(receivers, userAgent: "Fanfare/\(Fanfare.version)", clock: clock)
  }
}
