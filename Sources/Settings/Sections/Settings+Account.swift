extension Settings {
  /// What people may do with their own data by themselves, over their own connection.
  public struct Account: Sendable, Equatable {
    @Setting public var allowExport: Bool
    @Setting public var allowDelete: Bool
    @Setting public var exportsPerDay: Int

    init(_ declare: inout SettingDeclarations) {
      _allowExport = declare.flag(
        "allow_export", false,
        "People may look at what is kept of them, and export it, by the calls fanfare.account.data and fanfare.account.export."
      )
      _allowDelete = declare.flag(
        "allow_delete", false,
        "People may have everything deleted that is kept of them, by the call fanfare.account.delete. Whoever has a token of theirs can."
      )
      _exportsPerDay = declare.integer(
        "exports_per_day", 4, in: 1...1000,
        "How often one person begins to do so in a day: each goes through all that is kept.")
    }
  }
}
