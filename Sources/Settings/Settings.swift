public import Wire

/// The whole configuration, checked: what starts from one of these can rely on it.
///
/// A section of the file is a struct, in a file of the folder `Sections`, and a key is a field of it, which the struct's
/// initializer declares and reads in one expression. Sizes are in bytes. Empty strings mean "not set".
public struct Settings: Sendable, Equatable {
  public let server: Server
  public internal(set) var admin: Admin
  public let client: Client
  public let token: Token
  public let proxies: Proxies
  public let sharedPoll: SharedPoll
  /// The rules of every channel.
  public let channels: NamespaceTable
  /// Where the rules of channels were given.
  public let channelOrigins: SettingOrigins
  public internal(set) var broker: Broker
  /// In the order of the file.
  public let webhooks: [Webhook]
  public internal(set) var backbone: Backbone
  public internal(set) var cluster: Cluster
  public let gateway: Gateway
  public let clique: Clique
  public internal(set) var state: State
  public let pictures: Pictures
  public let push: Push
  public let account: Account
  public let why: Why
  public let demo: Demo
  public let console: Console
  public internal(set) var data: Data
  public let clock: Clock
  public let metrics: Metrics
  public let tracing: Tracing
  public let shutdown: Shutdown
  public let log: Log
  public let keys: Keys
  /// All of it, for people to look at.
  public let listing: SettingsListing

  /// - Parameters:
  ///   - namespaces: the names in the file's list of namespaces.
  ///   - webhookNames: those in its list of webhooks.
  init(_ declare: inout SettingDeclarations, namespaces: [String], webhooks webhookNames: [String] = []) {
    server = declare.section("server", Server.init)
    admin = declare.section("admin", Admin.init)
    client = declare.section("client", Client.init)
    token = declare.section("token", Token.init)
    proxies = declare.section("proxies", Proxies.init)
    sharedPoll = declare.section("shared_poll", SharedPoll.init)
    channels = ChannelSection.table(&declare, namespaces: namespaces)
    channelOrigins = SettingOrigins(declare.channels, declare.layers)
    var broker = declare.section("broker", Broker.init)
    webhooks = Webhook.list(&declare, named: webhookNames)
    backbone = declare.section("backbone", Backbone.init)
    cluster = declare.section("cluster", Cluster.init)
    gateway = declare.section("gateway", Gateway.init)
    clique = declare.section("clique", Clique.init)
    state = declare.section("state", State.init)
    pictures = declare.section("pictures", Pictures.init)
    push = declare.section("push", Push.init)
    account = declare.section("account", Account.init)
    why = declare.section("why", Why.init)
    demo = declare.section("demo", Demo.init)
    console = declare.section("console", Console.init)
    data = declare.section("data", Data.init)
    clock = declare.section("clock", Clock.init)
    metrics = declare.section("metrics", Metrics.init)
    tracing = declare.section("tracing", Tracing.init)
    shutdown = declare.section("shutdown", Shutdown.init)
    log = declare.section("log", Log.init)
    keys = declare.section("keys", Keys.init)
    broker.services.place(in: data.directory)
    self.broker = broker
    let sockets = [broker.services.$commands, broker.services.$tap].map { ("\($0)", $0.wrappedValue) }
    listing = SettingsListing(
      declare.keys, declare.layers, effective: Dictionary(sockets, uniquingKeysWith: { first, _ in first }))
  }
}
