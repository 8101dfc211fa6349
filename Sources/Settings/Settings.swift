public import Wire

/// The whole configuration, checked: what starts from one of these can rely on it.
///
/// Sizes are in bytes. Empty strings mean "not set".
public struct Settings: Sendable, Equatable {
  /// The port for clients.
  public struct Server: Sendable, Equatable {
    public struct TLS: Sendable, Equatable {
      public var enabled: Bool
      public var certificateFile: String
      public var keyFile: String
    }

    public var host: String
    public var port: Int
    /// 0: one per core but one.
    public var eventLoops: Int
    public var backlog: Int
    /// 0: as many as the limit on open files allows.
    public var maxConnections: Int
    /// Empty: the same host only. `*`: any.
    public var allowedOrigins: [String]
    public var tls: TLS
    public var headerTimeout: Duration
    public var maxHeaderBytes: Int
    public var admission: Admission
    /// As they were written.
    public var trustedProxies: [String]
  }

  /// Limits and times of one client.
  public struct Client: Sendable, Equatable {
    public struct UserPersonalChannel: Sendable, Equatable {
      public var enabled: Bool
      public var namespace: String
    }

    public var maxMessageBytes: Int
    public var maxChannelNameBytes: Int
    public var maxChannels: Int
    public var connectTimeout: Duration
    public var pingInterval: Duration
    public var pongTimeout: Duration
    public var queueBytes: Int
    public var slowCloseGrace: Duration
    public var recoveryMaxPublications: Int
    public var historyMaxPublications: Int
    public var historyMaxBytes: Int
    public var recoveryMaxBytes: Int
    public var readWindowBytes: Int
    public var maxCommandsPerMessage: Int
    public var maxPendingRequests: Int
    public var allowAnonymousConnectWithoutToken: Bool
    /// How long a client may take to send a new token after the old one expired.
    public var tokenExpiryGrace: Duration
    public var requestTimeout: Duration
    public var userPersonalChannel: UserPersonalChannel
    /// 0: any number.
    public var maxConnectionsPerUser: Int
    public var maxTokenChecks: Int
    public var limits: Rates
    public var userLimits: Rates
  }

  /// Keys that tokens are checked with.
  public struct Token: Sendable, Equatable {
    public var hmacSecret: String
    public var hmacSecretFile: String
    public var rsaPublicKey: String
    public var rsaPublicKeyFile: String
    public var ecdsaPublicKey: String
    public var ecdsaPublicKeyFile: String
    public var ed25519PublicKey: String
    public var ed25519PublicKeyFile: String
    public var jwksFile: String
    public var jwksURL: String
    public var jwksCacheTTL: Duration
    /// Zero: twice the time above.
    public var jwksMaxAge: Duration
    public var requireExp: Bool
    /// Zero: no limit.
    public var maxLifetime: Duration
    public var maxRevocations: Int
    public var audience: String
    public var issuer: String

    /// True where no key is configured: a secret is then made in the data folder.
    public var needsMadeSecret: Bool {
      [
        hmacSecret, hmacSecretFile, rsaPublicKey, rsaPublicKeyFile, ecdsaPublicKey, ecdsaPublicKeyFile,
        ed25519PublicKey, ed25519PublicKeyFile, jwksFile, jwksURL,
      ].allSatisfy(\.isEmpty)
    }
  }

  public struct Broker: Sendable, Equatable {
    /// ZeroMQ endpoints for backend services.
    public struct Services: Sendable, Equatable {
      public var enabled: Bool
      /// Never empty: in the data folder where nothing else is said.
      public var commands: String
      public var tap: String
      public var secretKeyFile: String
      /// As they are written: see ``ServiceKey``.
      public var keys: [String]
      public var allowAnyoneOnThisMachine: Bool
      public var maxMessageBytes: Int
    }

    public var idempotencyWindow: Duration
    public var linkWindowBytes: Int
    public var gatewayTimeout: Duration
    public var pendingBytes: Int
    public var keeping: Keeping
    public var services: Services
  }

  /// The link between a broker and gateways in processes of their own.
  public struct Backbone: Sendable, Equatable {
    public struct Curve: Sendable, Equatable {
      public var serverPublicKey: String
      public var serverSecretKeyFile: String
      /// Gateways that the broker lets in.
      public var clientPublicKeys: [String]
      public var clientSecretKeyFile: String
    }

    public var endpoint: String
    public var heartbeatInterval: Duration
    public var curve: Curve
  }

  public struct Gateway: Sendable, Equatable {
    public var uplinkWindowBytes: Int
    public var egressBytes: Int
    public var readWindowBytes: Int
    public var maximumFiltersPerChannel: Int
    /// 0: any number.
    public var maximumSubscribersPerChannel: Int
    public var ioUring: Bool
  }

  public struct Clique: Sendable, Equatable {
    public var enabled: Bool
    public var requestMessages: Int
    public var requestCharacters: Int
    public var messageCharacters: Int
    public var declineCooldown: Duration
    public var requestLifetime: Duration
    public var crossingWindow: Duration
    public var maximumVisit: Duration
    public var groupSize: Int
    public var maxConversations: Int
    public var maxGroups: Int
    public var maxRequestsSent: Int
    public var maxRequestsReceived: Int
    public var maxBlocked: Int
    public var maxPlaces: Int
    public var maxRequestsPerDay: Int
    public var maxGroupsPerDay: Int
    public var maxInvitationsPerDay: Int
    public var maxBlocksPerDay: Int
    public var maxVisitsPerDay: Int
    public var requirePlaceToken: Bool
  }

  public struct State: Sendable, Equatable {
    public var enabled: Bool
    public var lifetime: Duration
    public var revealLifetime: Duration
    public var recordLimit: Duration
    public var uploadGrace: Duration
    public var pictureLifetime: Duration
    public var pictureDirectory: String
    public var pictureBytes: Int
    public var maxRecorders: Int
    public var maxThreads: Int
    public var maxBlocks: Int
    public var maxUnsentPictures: Int
    public var maxPictureBytesPerUser: Int
    public var maxPictureRequests: Int
    public var maxPictureRequestsPerUser: Int
    public var maxChangesPerMinute: Int
  }

  public struct Data: Sendable, Equatable {
    public var directory: String
    public var minimumFreeBytes: Int
    /// 0: no limit.
    public var maximumBytes: Int
  }

  public struct Clock: Sendable, Equatable {
    public enum AfterRestart: String, Sendable { case synchronized, always }

    public var maxStep: Duration
    public var afterRestart: AfterRestart
  }

  public struct Shutdown: Sendable, Equatable {
    public var deadline: Duration
  }

  public struct Log: Sendable, Equatable {
    public enum Format: String, Sendable { case text, json }

    /// One of swift-log's levels.
    public var level: String
    public var format: Format
  }

  public var server: Server
  public var client: Client
  public var token: Token
  /// The rules of every channel.
  public var channels: NamespaceTable
  public var broker: Broker
  public var backbone: Backbone
  public var gateway: Gateway
  public var clique: Clique
  public var state: State
  public var data: Data
  public var clock: Clock
  public var shutdown: Shutdown
  public var log: Log
}
