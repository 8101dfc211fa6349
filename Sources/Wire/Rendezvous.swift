/// Which of several names is preferred for a partition, by rendezvous hashing (highest random weight; Thaler and
/// Ravishankar, 1998): all who know the same names say the same, and where a name comes or goes, only partitions move
/// that are its own.
public enum Rendezvous {
  /// Weighs the name for the partition: FNV-1a of both, whose bits a final mix spreads (MurmurHash3's), since names
  /// that differ in their last letter alone would have weights in nearly the same order for all partitions.
  ///
  /// Brokers of different versions must weigh alike, so this must never change.
  public static func weight(of name: String, for partition: Int) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "\(name)\u{0}\(partition)".utf8 {
      hash ^= UInt64(byte)
      hash &*= 0x0000_0100_0000_01b3
    }
    hash ^= hash >> 33
    hash &*= 0xff51_afd7_ed55_8ccd
    hash ^= hash >> 33
    hash &*= 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash >> 33
  }

  /// The name that is preferred for the partition; nil: there are no names.
  public static func first(of names: some Sequence<String>, for partition: Int) -> String? {
    names.max { (weight(of: $0, for: partition), $0) < (weight(of: $1, for: partition), $1) }
  }
}
