extension SettingTable {
  static let clique: [SettingKey] = [
    SettingKey("clique.enabled", .bool, .bool(true), "Run the app Clique: chats, requests and crossings."),
    SettingKey("clique.request_messages", .integer(1...20), .int(3), "Messages that may wait in a request."),
    SettingKey("clique.request_characters", .integer(1...10_000), .int(1000), "Characters of a message in a request."),
    SettingKey("clique.message_characters", .integer(1...50_000), .int(4000), "Characters of a message."),
    SettingKey(
      "clique.decline_cooldown", .duration(0...hours(24 * 366)), .int(hours(24 * 30)),
      "Time after which somebody who was declined can reach the other again."),
    SettingKey(
      "clique.request_lifetime", .duration(seconds(1)...hours(24 * 366)), .int(hours(24 * 14)),
      "Time after which a request ends that nobody answered."),
    SettingKey(
      "clique.crossing_window", .duration(seconds(1)...hours(24 * 31)), .int(hours(24)),
      "Time for which people who crossed are shown to each other."),
    SettingKey(
      "clique.maximum_visit", .duration(seconds(1)...hours(24 * 7)), .int(hours(3)),
      "Time after which a visit to a place ends by itself."),
    SettingKey("clique.group_size", .integer(2...50), .int(50), "Members of a group."),
    SettingKey(
      "clique.max_conversations", .integer(1...10_000), .int(1000),
      "Open conversations with one other person, for each person."),
    SettingKey("clique.max_groups", .integer(1...1000), .int(100), "Groups that one person is in."),
    SettingKey(
      "clique.max_requests_sent", .integer(1...10_000), .int(100), "Requests of one person that wait for an answer."),
    SettingKey(
      "clique.max_requests_received", .integer(1...5000), .int(500),
      "Requests that one person is shown; further ones reach nobody."),
    SettingKey("clique.max_blocked", .integer(1...10_000), .int(1000), "People whom one person blocks."),
    SettingKey("clique.max_places", .integer(1...64), .int(20), "Places that one person is in at once."),
    SettingKey(
      "clique.max_requests_per_day", .integer(1...1_000_000), .int(200),
      "Requests that one person begins in a day, a quarter of them at once; one that is taken back counts."),
    SettingKey(
      "clique.max_groups_per_day", .integer(1...1_000_000), .int(40),
      "Groups that one person founds in a day, a quarter of them at once."),
    SettingKey(
      "clique.max_invitations_per_day", .integer(1...1_000_000), .int(40),
      "Groups that others make one person a member of in a day, a quarter of them at once."),
    SettingKey(
      "clique.max_blocks_per_day", .integer(1...1_000_000), .int(400),
      "People whom one person blocks in a day, a quarter of them at once; whom they unblock counts."),
    SettingKey(
      "clique.max_visits_per_day", .integer(1...1_000_000), .int(400),
      "Places that one person comes to in a day, a quarter of them at once; staying costs nothing."),
    SettingKey(
      "clique.require_place_token", .bool, .bool(false),
      "Let a client enter a place only with a token of the backend that names it (CLIQUE.md, Places that a backend "
        + "attests); services need none."),
  ]

  static let state: [SettingKey] = [
    SettingKey("state.enabled", .bool, .bool(true), "Run the app State: sealed exchanges of pictures."),
    SettingKey(
      "state.lifetime", .duration(seconds(1)...hours(24 * 31)), .int(hours(24)),
      "Time for an answer; then what was sent is destroyed."),
    SettingKey(
      "state.reveal_lifetime", .duration(seconds(1)...hours(24 * 366)), .int(hours(24)),
      "Time for which an exchange can be seen."),
    SettingKey(
      "state.record_limit", .duration(seconds(5)...minutes(10)), .int(minutes(2)),
      "Time to record, for who has chosen nothing else."),
    SettingKey(
      "state.upload_grace", .duration(0...minutes(60)), .int(minutes(1)),
      "Time after the limit for what was recorded to arrive."),
    SettingKey(
      "state.picture_lifetime", .duration(seconds(1)...hours(24)), .int(hours(1)),
      "Time for which a picture is kept that nobody sends."),
    SettingKey(
      "state.picture_directory", .string, .string(""),
      "Folder of the pictures, which all gateways of a broker must share; empty: `pictures` in `data.directory`."),
    SettingKey("state.picture_bytes", .bytes(1024...mebibytes(64)), .int(mebibytes(8)), "Largest picture."),
    SettingKey(
      "state.max_recorders", .integer(1...1000), .int(20),
      "Recorders that one user has open at a time; one more is error 106."),
    SettingKey(
      "state.max_threads", .integer(1...10_000), .int(256),
      "Threads in which one user waits for an answer; one more is error 106."),
    SettingKey(
      "state.max_blocks", .integer(1...10_000), .int(1000), "People that one user blocks; one more is error 106."),
    SettingKey(
      "state.max_unsent_pictures", .integer(2...1000), .int(16),
      "Pictures that one user has uploaded, or uploads, and not sent; one more is status 429."),
    SettingKey(
      "state.max_picture_bytes_per_user", .bytes(mebibytes(1)...mebibytes(1 << 20)), .int(mebibytes(1024)),
      "Bytes of one user's pictures that are kept, sent and not sent; more is status 429."),
    SettingKey(
      "state.max_picture_requests", .integer(1...100_000), .int(256),
      "Uploads and downloads of pictures under way through one gateway; one more is status 503."),
    SettingKey(
      "state.max_picture_requests_per_user", .integer(1...1000), .int(8),
      "The same of one user; one more is status 429."),
    SettingKey(
      "state.max_changes_per_minute", .integer(1...60_000), .int(120),
      "Recorders opened, blocks set and lifted, and settings changed by one user in a minute, all of which may come at "
        + "once; more is error 111."),
  ]
}
