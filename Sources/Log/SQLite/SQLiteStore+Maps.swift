public import Wire

/// The entries of map channels. They are read from SQLite alone: the broker holds those of the channels in use.
extension SQLiteStore {
  public func entries(of channel: ChannelName) throws(LogError) -> [Publication] {
    guard let row = try row(of: channel) else { return [] }
    do { return try reader.entries(of: row) } catch { throw readFailed(error) }
  }

  public func entry(_ key: String, of channel: ChannelName) throws(LogError) -> Publication? {
    guard let row = try row(of: channel) else { return nil }
    do { return try reader.entries(of: row, key: key).first } catch { throw readFailed(error) }
  }

  public func keys(
    of channel: ChannelName, score: Int64, expiringBy time: Int64, limit: Int
  ) throws(LogError) -> [ExpiringKey] {
    guard let row = try row(of: channel) else { return [] }
    do {
      return try reader.keys(of: row, score: score, expiringBy: time, limit: limit)
    } catch {
      throw readFailed(error)
    }
  }
}
