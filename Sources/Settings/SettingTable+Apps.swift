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
    SettingKey("state.picture_bytes", .bytes(1024...mebibytes(64)), .int(mebibytes(8)), "Largest picture."),
  ]
}
