import Apps
import Gateway
import Settings
import Vault
import Wire

/// The apps, from the settings.
enum AppSetup {
  /// The rules of every channel, the apps' among them: the same on both ends of the backbone.
  static func namespaces(for settings: Settings) -> NamespaceTable {
    var table = settings.channels
    if settings.clique.enabled { table.add(clique(settings).namespaces, of: "clique") }
    if settings.state.enabled { table.add(StateApp.namespaces, of: "state") }
    return table
  }

  static func clique(_ settings: Settings) -> Clique {
    var rules = CliqueRules()
    rules.requestMessages = settings.clique.requestMessages
    rules.requestCharacters = settings.clique.requestCharacters
    rules.messageCharacters = settings.clique.messageCharacters
    rules.declineCooldown = settings.clique.declineCooldown.milliseconds
    rules.requestLifetime = settings.clique.requestLifetime.milliseconds
    rules.crossingWindow = settings.clique.crossingWindow.milliseconds
    rules.maximumVisit = settings.clique.maximumVisit.milliseconds
    rules.groupSize = settings.clique.groupSize
    rules.maximumConversations = settings.clique.maxConversations
    rules.maximumGroups = settings.clique.maxGroups
    rules.maximumRequestsOut = settings.clique.maxRequestsSent
    rules.maximumRequestsIn = settings.clique.maxRequestsReceived
    rules.maximumBlocked = settings.clique.maxBlocked
    rules.maximumPlaces = settings.clique.maxPlaces
    rules.requestsPerDay = settings.clique.maxRequestsPerDay
    rules.groupsPerDay = settings.clique.maxGroupsPerDay
    rules.invitationsPerDay = settings.clique.maxInvitationsPerDay
    rules.blocksPerDay = settings.clique.maxBlocksPerDay
    rules.visitsPerDay = settings.clique.maxVisitsPerDay
    rules.requiresPlaceToken = settings.clique.requirePlaceToken
    return Clique(rules)
  }

  static func stateRules(_ settings: Settings) -> StateRules {
    var rules = StateRules()
    rules.lifetime = settings.state.lifetime.milliseconds
    rules.revealLifetime = settings.state.revealLifetime.milliseconds
    rules.recordLimit = settings.state.recordLimit.milliseconds
    rules.uploadGrace = settings.state.uploadGrace.milliseconds
    rules.pictureLifetime = settings.state.pictureLifetime.milliseconds
    rules.openRecorders = settings.state.maxRecorders
    rules.waitingThreads = settings.state.maxThreads
    rules.blocks = settings.state.maxBlocks
    rules.unsentPictures = settings.state.maxUnsentPictures
    rules.pictureBytes = Int64(settings.state.maxPictureBytesPerUser)
    rules.changesPerMinute = settings.state.maxChangesPerMinute
    return rules
  }

  /// Nil where the app is off.
  static func pictures(_ settings: Settings) -> PictureConfiguration? {
    guard settings.state.enabled else { return nil }
    let folder = settings.state.pictureDirectory
    var configuration = PictureConfiguration(folder: folder.isEmpty ? settings.data.directory + "/pictures" : folder)
    configuration.maximumBytes = settings.state.pictureBytes
    configuration.maximumRequests = settings.state.maxPictureRequests
    configuration.maximumRequestsPerUser = settings.state.maxPictureRequestsPerUser
    return configuration
  }
}
