extension Settings {
  public struct Clique: Sendable, Equatable {
    @Setting public var enabled: Bool
    @Setting public var partitioned: Bool
    @Setting public var requestMessages: Int
    @Setting public var requestCharacters: Int
    @Setting public var messageCharacters: Int
    @Setting public var declineCooldown: Duration
    @Setting public var requestLifetime: Duration
    @Setting public var crossingWindow: Duration
    @Setting public var maximumVisit: Duration
    @Setting public var groupSize: Int
    @Setting public var maxConversations: Int
    @Setting public var maxGroups: Int
    @Setting public var maxRequestsSent: Int
    @Setting public var maxRequestsReceived: Int
    @Setting public var maxBlocked: Int
    @Setting public var maxPlaces: Int
    @Setting public var maxRequestsPerDay: Int
    @Setting public var maxRequestMessagesPerDay: Int
    @Setting public var maxGroupsPerDay: Int
    @Setting public var maxInvitationsPerDay: Int
    @Setting public var maxBlocksPerDay: Int
    @Setting public var maxVisitsPerDay: Int
    @Setting public var requirePlaceToken: Bool
    @Setting public var profileFields: [String]
    @Setting public var maxProfileChangesPerDay: Int
    @Setting public var knownUsersOnly: Bool
    @Setting public var maxPictureBytes: Int
    @Setting public var maxPicturePixels: Int
    @Setting public var pictureLifetime: Duration
    @Setting public var maxUnsentPictures: Int
    @Setting public var maxPictureBytesPerUser: Int

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag("enabled", true, "Run the app Clique: chats, requests and crossings.")
      _partitioned = Self.partitioned(&declare)
      _requestMessages = declare.integer("request_messages", 3, in: 1...20, "Messages that may wait in a request.")
      _requestCharacters = declare.integer(
        "request_characters", 1000, in: 1...10_000, "Characters of a message in a request.")
      _messageCharacters = declare.integer("message_characters", 4000, in: 1...50_000, "Characters of a message.")
      _declineCooldown = declare.duration(
        "decline_cooldown", .hours(24 * 30), in: .zero ... .hours(24 * 366),
        "Time after which somebody who was declined can reach the other again.")
      _requestLifetime = declare.duration(
        "request_lifetime", .hours(24 * 14), in: .seconds(1) ... .hours(24 * 366),
        "Time after which a request ends that nobody answered.")
      _crossingWindow = declare.duration(
        "crossing_window", .hours(24), in: .seconds(1) ... .hours(24 * 31),
        "Time for which people who crossed are shown to each other.")
      _maximumVisit = declare.duration(
        "maximum_visit", .hours(3), in: .seconds(1) ... .hours(24 * 7),
        "Time after which a visit to a place ends by itself.")
      _groupSize = declare.integer("group_size", 50, in: 2...50, "Members of a group.")
      _maxConversations = declare.integer(
        "max_conversations", 1000, in: 1...10_000, "Open conversations with one other person, for each person.")
      _maxGroups = declare.integer("max_groups", 100, in: 1...1000, "Groups that one person is in.")
      _maxRequestsSent = declare.integer(
        "max_requests_sent", 100, in: 1...10_000, "Requests of one person that wait for an answer.")
      _maxRequestsReceived = declare.integer(
        "max_requests_received", 500, in: 1...5000, "Requests that one person is shown; further ones reach nobody.")
      _maxBlocked = declare.integer("max_blocked", 1000, in: 1...10_000, "People whom one person blocks.")
      _maxPlaces = declare.integer("max_places", 20, in: 1...64, "Places that one person is in at once.")
      _maxRequestsPerDay = declare.integer(
        "max_requests_per_day", 200, in: 1...1_000_000,
        "Requests that one person begins in a day, a quarter of them at once; taken back and made again, they count once."
      )
      _maxRequestMessagesPerDay = declare.integer(
        "max_request_messages_per_day", 300, in: 0...1_000_000,
        "Messages that one person sends in a day to people who have not answered, a quarter of them at once; 0 is no limit."
      )
      _maxGroupsPerDay = declare.integer(
        "max_groups_per_day", 40, in: 1...1_000_000,
        "Groups that one person founds, or joins by a link, in a day, a quarter of them at once.")
      _maxInvitationsPerDay = declare.integer(
        "max_invitations_per_day", 40, in: 1...1_000_000,
        "Groups that others make one person a member of in a day, a quarter of them at once.")
      _maxBlocksPerDay = declare.integer(
        "max_blocks_per_day", 400, in: 1...1_000_000,
        "People whom one person blocks in a day, a quarter of them at once; whom they unblock counts.")
      _maxVisitsPerDay = declare.integer(
        "max_visits_per_day", 400, in: 1...1_000_000,
        "Places that one person comes to in a day, a quarter of them at once; staying costs nothing.")
      _requirePlaceToken = declare.flag(
        "require_place_token", false,
        "Let a client enter a place only with a token of the backend that names it (CLIQUE.md, Places that a backend "
          + "attests); services need none.")
      (_profileFields, _maxProfileChangesPerDay, _knownUsersOnly) = Self.people(&declare)
      (_maxPictureBytes, _maxPicturePixels, _pictureLifetime) = Self.picture(&declare)
      (_maxUnsentPictures, _maxPictureBytesPerUser) = Self.pictures(&declare)
    }

    private static func partitioned(_ declare: inout SettingDeclarations) -> Setting<Bool> {
      declare.flag(
        "partitioned", false,
        "Share conversations of two people among all partitions instead of deciding all of Clique at home; for brokers "
          + "and gateways, which must say the same ([SCALING.md](SCALING.md#clique-in-all-partitions)). To be chosen "
          + "before the first user. Needs `cluster.partitions` of 2 or more, and in brokers `keys.master_file`.")
    }

    /// What people say about themselves, and who is known.
    private static func people(
      _ declare: inout SettingDeclarations
    ) -> (fields: Setting<[String]>, changes: Setting<Int>, known: Setting<Bool>) {
      let fields = declare.list(
        "profile_fields",
        "Names of the short texts that a profile has beside name and picture, 16 at most; what people have said under a "
          + "name that is taken away is kept and not shown.",
        standard: ["university"]
      ) { name in
        let isName =
          (1...32).contains(name.utf8.count)
          && name.utf8.allSatisfy {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
              || $0 == UInt8(ascii: "_")
          }
        if isName { return nil }
        return "holds \"\(name)\"; write up to 32 letters a to z, digits and _, for example \"university\""
      }
      let changes = declare.integer(
        "max_profile_changes_per_day", 100, in: 1...1_000_000,
        "Changes of one person's profile in a day, a quarter of them at once.")
      let known = declare.flag(
        "known_users_only", false,
        "Refuse requests to users who have never called a method of Clique. It tells whether an id exists: leave it off "
          + "where ids can be guessed (CLIQUE.md, Who is known).")
      return (fields, changes, known)
    }

    private static func picture(
      _ declare: inout SettingDeclarations
    ) -> (bytes: Setting<Int>, pixels: Setting<Int>, lifetime: Setting<Duration>) {
      (
        declare.bytes(
          "max_picture_bytes", mebibytes(8), in: 1024...mebibytes(64), "Largest picture of a message or profile."),
        declare.integer(
          "max_picture_pixels", 8192, in: 256...65_535, "Pixels of a picture's longer side; more is status 422."),
        declare.duration(
          "picture_lifetime", .hours(24), in: .seconds(1) ... .hours(24 * 31),
          "Time for which a picture is kept that nobody sends.")
      )
    }

    private static func pictures(_ declare: inout SettingDeclarations) -> (unsent: Setting<Int>, bytes: Setting<Int>) {
      (
        declare.integer(
          "max_unsent_pictures", 32, in: 2...1000,
          "Pictures that one user has uploaded, or uploads, and not sent; one more is status 429."),
        declare.bytes(
          "max_picture_bytes_per_user", mebibytes(1024), in: mebibytes(1)...mebibytes(1 << 20),
          "Bytes of one user's pictures that are kept, sent and not sent; more is status 429.")
      )
    }
  }

  public struct State: Sendable, Equatable {
    @Setting public var enabled: Bool
    @Setting public var partitioned: Bool
    @Setting public var lifetime: Duration
    @Setting public var revealLifetime: Duration
    @Setting public var recordLimit: Duration
    @Setting public var uploadGrace: Duration
    @Setting public var pictureLifetime: Duration
    @Setting public var pictureDirectory: String
    @Setting public var pictureBytes: Int
    @Setting public var maxRecorders: Int
    @Setting public var maxThreads: Int
    @Setting public var maxReceived: Int
    @Setting public var maxReceivedPerDay: Int
    @Setting public var maxBlocks: Int
    @Setting public var maxUnsentPictures: Int
    @Setting public var maxPictureBytesPerUser: Int
    @Setting public var maxPictureRequests: Int
    @Setting public var maxPictureRequestsPerUser: Int
    @Setting public var maxChangesPerMinute: Int

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag("enabled", true, "Run the app State: sealed exchanges of pictures.")
      _partitioned = Self.partitioned(&declare)
      _lifetime = declare.duration(
        "lifetime", .hours(24), in: .seconds(1) ... .hours(24 * 31),
        "Time for an answer; then what was sent is destroyed.")
      _revealLifetime = declare.duration(
        "reveal_lifetime", .hours(24), in: .seconds(1) ... .hours(24 * 366), "Time for which an exchange can be seen.")
      _recordLimit = declare.duration(
        "record_limit", .minutes(2), in: .seconds(5) ... .minutes(10),
        "Time to record, for who has chosen nothing else.")
      _uploadGrace = declare.duration(
        "upload_grace", .minutes(1), in: .zero ... .minutes(60), "Time after the limit for what was recorded to arrive."
      )
      _pictureLifetime = declare.duration(
        "picture_lifetime", .hours(1), in: .seconds(1) ... .hours(24),
        "Time for which a picture is kept that nobody sends.")
      _pictureDirectory = declare.text(
        "picture_directory", "",
        "Folder of the pictures of State and Clique, which all gateways of a broker and the broker itself must share; without it a broker in a "
          + "process of its own gives no pictures out with an export. With `pictures.store` `s3` it holds a gateway's uploads "
          + "under way alone, and nobody has to share it. Empty: `pictures` in `data.directory`.")
      _pictureBytes = declare.bytes("picture_bytes", mebibytes(8), in: 1024...mebibytes(64), "Largest picture.")
      _maxRecorders = declare.integer(
        "max_recorders", 20, in: 1...1000, "Recorders that one user has open at a time; one more is error 106.")
      _maxThreads = declare.integer(
        "max_threads", 256, in: 1...10_000, "Threads in which one user waits for an answer; one more is error 106.")
      _maxReceived = declare.integer(
        "max_received", 256, in: 1...10_000,
        "Threads that wait for one user's answer and are shown; what strangers send beyond reaches nobody.")
      _maxReceivedPerDay = declare.integer(
        "max_received_per_day", 1000, in: 1...1_000_000,
        "What strangers send one user in a day, a quarter of it at once; what they send beyond reaches nobody.")
      _maxBlocks = declare.integer(
        "max_blocks", 1000, in: 1...10_000, "People that one user blocks; one more is error 106.")
      _maxUnsentPictures = declare.integer(
        "max_unsent_pictures", 16, in: 2...1000,
        "Pictures that one user has uploaded, or uploads, and not sent; one more is status 429.")
      _maxPictureBytesPerUser = declare.bytes(
        "max_picture_bytes_per_user", mebibytes(1024), in: mebibytes(1)...mebibytes(1 << 20),
        "Bytes of one user's pictures that are kept, sent and not sent; more is status 429.")
      _maxPictureRequests = declare.integer(
        "max_picture_requests", 256, in: 1...100_000,
        "Uploads and downloads of pictures under way through one gateway; one more is status 503.")
      _maxPictureRequestsPerUser = declare.integer(
        "max_picture_requests_per_user", 8, in: 1...1000, "The same of one user; one more is status 429.")
      _maxChangesPerMinute = declare.integer(
        "max_changes_per_minute", 120, in: 1...60_000,
        "Recorders opened, reactions, pictures discarded, blocks set and lifted, and settings changed by one user in a "
          + "minute, all of which may come at once; more is error 111.")
    }

    private static func partitioned(_ declare: inout SettingDeclarations) -> Setting<Bool> {
      declare.flag(
        "partitioned", false,
        "Share State among all partitions instead of deciding all of it at home; for brokers and gateways, which must say "
          + "the same ([SCALING.md](SCALING.md#state-in-all-partitions)). To be chosen before the first user. Needs "
          + "`cluster.partitions` of 2 or more, and in brokers `keys.master_file`.")
    }

    /// Gives pictures the place that they have in a data folder, where no other is configured.
    mutating func keepPictures(in dataFolder: String) {
      if pictureDirectory.isEmpty { _pictureDirectory = Setting(dataFolder + "/pictures", $pictureDirectory.place) }
    }
  }
}
