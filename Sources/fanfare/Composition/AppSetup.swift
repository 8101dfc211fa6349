import Apps
import Auth
import Broker
import Cryptography
import Gateway
import ObjectStore
import Settings
import Vault
import Wire

/// The apps, from the settings.
enum AppSetup {
  /// The rules of every channel, the apps' channels among them: the same on both ends of the backbone.
  ///
  /// - Parameter partitions: how many there are to be; nil: as many as are configured.
  static func namespaces(for settings: Settings, partitions: Int? = nil) -> NamespaceTable {
    var table = settings.channels
    let isDivided = (partitions ?? settings.cluster.partitions) > 1
    if settings.clique.enabled {
      // Whether there are places says what is shared, and not which they are.
      let places = AppPlaces(own: Partitioning.home, partitioning: .whole)
      let isShared = isDivided && settings.clique.partitioned
      table.add(Clique(cliqueRules(settings), places: isShared ? places : nil).namespaces, of: "clique")
    }
    if settings.state.enabled {
      table.add(StateApp.namespaces(isShared: isDivided && settings.state.partitioned), of: "state")
    }
    if settings.push.notifications { table.add(Notifications.namespaces, of: Notifications.name) }
    return table
  }

  /// How channels are shared among partitions.
  static func partitioning(for settings: Settings, partitions: Int? = nil) -> Partitioning {
    Partitioning(
      count: partitions ?? settings.cluster.partitions, namespaces: namespaces(for: settings, partitions: partitions),
      conversation: Clique.conversationID)
  }

  /// The names of the apps that are shared.
  static func shared(among partitioning: Partitioning) -> Set<String> {
    Set((partitioning.sharesClique ? ["clique"] : []) + (partitioning.sharesState ? ["state"] : []))
  }

  /// Which partition this is, and how channels are shared among all of them.
  private static func places(_ settings: Settings) -> AppPlaces {
    AppPlaces(own: settings.cluster.partition ?? Partitioning.home, partitioning: partitioning(for: settings))
  }

  /// Clique in this partition, or in the only one.
  ///
  /// - Parameter vault: of messages that disappear.
  static func clique(_ settings: Settings, vault: any VanishingVault) -> Clique {
    Clique(cliqueRules(settings), vault: vault, places: settings.sharesClique ? places(settings) : nil)
  }

  private static func cliqueRules(_ settings: Settings) -> CliqueRules {
    let clique = settings.clique
    var rules = CliqueRules(
      requestMessages: clique.requestMessages, requestCharacters: clique.requestCharacters,
      messageCharacters: clique.messageCharacters, declineCooldown: clique.declineCooldown.milliseconds,
      requestLifetime: clique.requestLifetime.milliseconds, crossingWindow: clique.crossingWindow.milliseconds,
      maximumVisit: clique.maximumVisit.milliseconds, groupSize: clique.groupSize,
      maximumConversations: clique.maxConversations, maximumGroups: clique.maxGroups,
      maximumRequestsOut: clique.maxRequestsSent, maximumRequestsIn: clique.maxRequestsReceived,
      maximumBlocked: clique.maxBlocked, maximumPlaces: clique.maxPlaces,
      requestsPerDay: clique.maxRequestsPerDay, requestMessagesPerDay: clique.maxRequestMessagesPerDay,
      groupsPerDay: clique.maxGroupsPerDay, invitationsPerDay: clique.maxInvitationsPerDay,
      blocksPerDay: clique.maxBlocksPerDay, visitsPerDay: clique.maxVisitsPerDay,
      requiresPlaceToken: clique.requirePlaceToken)
    rules.profileFields = clique.profileFields
    rules.profileChangesPerDay = clique.maxProfileChangesPerDay
    rules.knownUsersOnly = clique.knownUsersOnly
    rules.notifies = settings.push.notifications
    rules.pictureLifetime = clique.pictureLifetime.milliseconds
    rules.unsentPictures = clique.maxUnsentPictures
    rules.pictureBytes = Int64(clique.maxPictureBytesPerUser)
    return rules
  }

  /// State in this partition, or in the only one.
  static func state(_ settings: Settings, vault: any KeyVault) -> StateApp {
    StateApp(rules: stateRules(settings), vault: vault, places: settings.sharesState ? places(settings) : nil)
  }

  static func stateRules(_ settings: Settings) -> StateRules {
    let state = settings.state
    var rules = StateRules(
      lifetime: state.lifetime.milliseconds, revealLifetime: state.revealLifetime.milliseconds,
      recordLimit: state.recordLimit.milliseconds, uploadGrace: state.uploadGrace.milliseconds,
      pictureLifetime: state.pictureLifetime.milliseconds, unsentPictures: state.maxUnsentPictures,
      pictureBytes: Int64(state.maxPictureBytesPerUser), openRecorders: state.maxRecorders,
      waitingThreads: state.maxThreads, receivedThreads: state.maxReceived,
      receivedPerDay: state.maxReceivedPerDay, blocks: state.maxBlocks, changesPerMinute: state.maxChangesPerMinute)
    rules.notifies = settings.push.notifications
    return rules
  }

  /// Who is notified, when, and in which words; nil where notifications are off.
  static func notifications(_ settings: Settings, _ notifier: PushNotifier) -> Notifications? {
    let push = settings.push
    guard push.notifications else { return nil }
    var rules = NotificationRules { (device) throws(ClientError) in try notifier.identify(device) }
    rules.delay = push.delay.milliseconds
    rules.repeatInterval = push.repeatInterval.milliseconds
    rules.sendsPerMinute = push.maxPerPerson
    rules.timeToLive = push.timeToLive.milliseconds
    rules.giveUpAfter = push.giveUpAfter.milliseconds
    rules.devices = push.maxDevices
    rules.changesPerMinute = push.maxChangesPerMinute
    // The notifier answers a second after the services' time at the latest.
    rules.answerTimeout = max(60_000, push.timeout.milliseconds + 30_000)
    rules.process = .random(in: .min ... .max)
    rules.texts = NotificationTexts(
      push.texts.map { text in
        NotificationTexts.Text(language: text.language, topic: text.topic, title: text.title, body: text.body)
      })
    return Notifications(rules)
  }

  /// How pictures are taken in; nil where no app takes any.
  ///
  /// - Throws: where the key to their store cannot be read.
  static func pictures(_ settings: Settings) throws -> PictureConfiguration? {
    guard settings.state.enabled || settings.clique.enabled else { return nil }
    let folder = settings.state.pictureDirectory
    var configuration = PictureConfiguration(
      folder: folder.isEmpty ? settings.data.directory + "/pictures" : folder,
      maximumBytes: settings.state.pictureBytes,
      maximumRequests: settings.state.maxPictureRequests,
      maximumRequestsPerUser: settings.state.maxPictureRequestsPerUser)
    configuration.objects = try objects(settings)
    // A store takes its time. Each of these threads may hold a whole picture.
    if configuration.objects != nil { configuration.threads = 8 }
    configuration.userAgent = "Fanfare/\(Fanfare.version)"
    configuration.maximumCliqueBytes = settings.clique.maxPictureBytes
    configuration.maximumCliquePixels = settings.clique.maxPicturePixels
    configuration.purposes = []
    if settings.state.enabled { configuration.purposes.insert(.state) }
    if settings.clique.enabled { configuration.purposes.insert(.clique) }
    return configuration
  }

  /// The store in which whole pictures are kept; nil: the folder.
  private static func objects(_ settings: Settings) throws -> ObjectStoreConfiguration? {
    let s3 = settings.pictures.s3
    guard settings.pictures.store == .s3 else { return nil }
    let secret: String
    do throws(SecretFile.Fault) { secret = try SecretFile.word(s3.secretAccessKeyFile) } catch {
      throw Complaint("\(s3.$secretAccessKeyFile): \(error)")
    }
    var objects = ObjectStoreConfiguration(
      endpoint: s3.endpoint, bucket: s3.bucket, region: s3.region, prefix: s3.prefix, accessKeyID: s3.accessKeyID,
      secretAccessKey: SecretKey(Array(secret.utf8)))
    objects.timeoutMilliseconds = Int(s3.timeout.milliseconds)
    objects.certificateAuthorities = try CertificateAuthorities.file(s3.$certificateAuthorities)
    return objects
  }

  /// Where the broker reads pictures for exports: where its gateways keep them; nil where no app takes any.
  ///
  /// - Throws: where their store cannot be used.
  static func pictureSource(_ settings: Settings) throws -> PictureSource? {
    guard let pictures = try pictures(settings) else { return nil }
    let reader: PictureReader
    if let objects = pictures.objects {
      do throws(ObjectStoreFault) {
        reader = try PictureReader(objects: objects, userAgent: pictures.userAgent)
      } catch {
        throw Complaint("\(error)")
      }
    } else {
      reader = PictureReader(folder: pictures.folder)
    }
    return { part, then in
      reader.read(part.id, part.upload, key: part.key, total: part.total, part.range) { result in
        then(
          result.mapError { failure in
            switch failure {
            case .missing: .lost("the picture's file is not there")
            case .damaged: .lost("the picture's file is damaged")
            case .unavailable(let sentence): .unavailable(sentence)
            }
          })
      }
    }
  }
}
