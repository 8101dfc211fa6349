public import Wire

extension StateApp {
  /// What stands between two people, without a picture or a word of theirs.
  public func standing(
    between user: String, and other: String, _ view: any AppView
  ) throws(ClientError) -> [UInt8] {
    let access = try access(user, with: other, view)
    let thread = access.now
    var writer = JSONWriter()
    writer.object { writer in
      writer.object("phases") { writer in
        for side in StateSide.allCases {
          writer.write(named: thread.people[side], thread.phase(of: side).rawValue)
        }
      }
      writer.list("blocked_by") { writer in
        for side in StateSide.allCases where thread.blocks[side] { writer.write(element: thread.people[side]) }
      }
      writer.list("hidden_from") { writer in
        // Of the two, who sent something sealed knows of it.
        if case .sealed(let sender, _, _) = thread.standing, thread.over[sender.other] {
          writer.write(element: thread.people[sender.other])
        }
      }
      writer.list("seen_by") { writer in
        for side in StateSide.allCases where thread.seen[side] { writer.write(element: thread.people[side]) }
      }
      if thread.standing != nil {
        writer.write("since", thread.since)
        writer.write("until", thread.until)
      }
      writer.write("pictures", thread.pictures.count)
    }
    return writer.bytes
  }
}
