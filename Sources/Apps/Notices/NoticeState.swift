/// What stands with one subject of one person: a conversation, the States of somebody, a channel.
///
/// | state | what it means |
/// |---|---|
/// | gone | nothing is kept |
/// | waiting | there is something that no device was told of, and no device shows anything of the subject |
/// | renewed | the same, but devices show something older, or some of them have it and others not yet |
/// | sending | a send is under way |
/// | overtaken | a send is under way, and something has come since it began |
/// | shown | at least one device was told, and nothing has come since |
/// | withdrawing | a withdrawal is under way |
/// | returning | a withdrawal is under way, and something has come since it began |
/// | updating | devices are being told that less is left of what they show |
/// | interrupted | the same, and something has come since that began |
///
/// What happens to it. A line is told for `fanfare why` where it is not *–*.
///
/// | | news | unacknowledged | acknowledged | seen | fewer | nobody | over |
/// |---|---|---|---|---|---|---|---|
/// | gone | → waiting | – | – | – | – | – | – |
/// | waiting | – | *sends* → sending | suppresses → gone | suppresses → gone | – | drops → gone | drops → gone |
/// | renewed | – | *sends* → sending | suppresses → shown | *withdraws* → withdrawing | – | drops → shown | drops → gone |
/// | sending | → overtaken | – | – | – | – | – | – |
/// | overtaken | – | – | – | – | – | – | – |
/// | shown | → renewed | – | – | *withdraws* → withdrawing | *updates* → updating | – | → gone |
/// | withdrawing | → returning | – | – | – | – | – | – |
/// | returning | – | – | – | – | – | – | – |
/// | updating | → interrupted | – | – | – | – | – | – |
/// | interrupted | – | – | – | – | – | – | – |
///
/// And the end of what is under way:
///
/// | | done | partly | again | hopeless | lost |
/// |---|---|---|---|---|---|
/// | sending | → shown | → renewed | → waiting | → gone | → renewed |
/// | overtaken | → renewed | → renewed | → waiting | → waiting | → renewed |
/// | withdrawing | → gone | → shown | → shown | → gone | → shown |
/// | returning | → waiting | → renewed | → renewed | → waiting | → renewed |
/// | updating | → shown | → shown | → shown | → shown | → shown |
/// | interrupted | → renewed | → renewed | → renewed | → renewed | → renewed |
/// | all others | – | – | – | – | – |
///
/// *Acknowledged* suppresses only what was not yet sent, and *seen* alone withdraws: a notification wakes the app, which
/// fetches and acknowledges, and would otherwise take the notification away before anybody has read it. While something
/// is under way nothing is decided, since nobody knows yet what devices show; the end of it decides. A *lost* answer
/// counts as if devices showed it, since they may, and leads to another send: at least once. So does the answer of a
/// service that was lost on the way here, for its device: the send has ended *partly*. A withdrawal that is not
/// done leads back to *shown*, where the next look withdraws again. An update leaves shown what is shown, whatever comes
/// of it; which devices still show the older number stands beside the state.
enum NoticeState: String, Codable, Sendable, CaseIterable {
  case gone, waiting, renewed, sending, overtaken, shown, withdrawing, returning, updating, interrupted

  /// What happens to a subject.
  enum Event: Sendable, CaseIterable {
    /// Something has come.
    case news
    /// It was looked at: something is left that no device has acknowledged, and nothing speaks against a send.
    case unacknowledged
    /// It was looked at: devices have acknowledged everything, and the person has not seen everything.
    case acknowledged
    /// It was looked at: the person has seen everything that devices show, or there is nothing any more.
    case seen
    /// It was looked at: the person has seen some of what devices show, and not all.
    case fewer
    /// No device is to be told: none wants to hear it, or attempts were given up.
    case nobody
    /// It is too old to be worth anything.
    case over
    /// The send has ended: at least one device shows it, and none is to be tried again.
    case done
    /// The send has ended: at least one device shows it, or may, and some are to be tried again.
    case partly
    /// The send has ended: no device shows anything of the subject, and some are to be tried again.
    case again
    /// The send has ended: no device shows anything of the subject, and none is to be tried again.
    case hopeless
    /// Nobody has said what became of the send.
    case lost
  }

  enum Action: Sendable, Equatable {
    case nothing
    case send
    case withdraw
    /// What is shown is replaced, without a sound.
    case update
    /// Nothing is sent, because it was acknowledged in time.
    case suppress
    /// Nothing is sent, for another reason.
    case drop
  }

  /// The table.
  func after(_ event: Event) -> (state: NoticeState, action: Action) {
    switch event {
    case .news: (afterNews, .nothing)
    case .unacknowledged, .acknowledged, .seen, .fewer, .nobody, .over: afterLook(event)
    case .done, .partly, .again, .hopeless, .lost: (afterEnd(event), .nothing)
    }
  }

  private var afterNews: NoticeState {
    switch self {
    case .gone, .waiting: .waiting
    case .renewed, .shown: .renewed
    case .sending, .overtaken: .overtaken
    case .withdrawing, .returning: .returning
    case .updating, .interrupted: .interrupted
    }
  }

  private func afterLook(_ event: Event) -> (state: NoticeState, action: Action) {
    switch (self, event) {
    case (.waiting, .unacknowledged), (.renewed, .unacknowledged): (.sending, .send)
    case (.waiting, .acknowledged), (.waiting, .seen): (.gone, .suppress)
    case (.renewed, .acknowledged): (.shown, .suppress)
    case (.renewed, .seen), (.shown, .seen): (.withdrawing, .withdraw)
    case (.waiting, .nobody), (.waiting, .over), (.renewed, .over): (.gone, .drop)
    case (.shown, .fewer): (.updating, .update)
    case (.renewed, .nobody): (.shown, .drop)
    case (.shown, .over): (.gone, .nothing)
    default: (self, .nothing)
    }
  }

  private func afterEnd(_ event: Event) -> NoticeState {
    switch (self, event) {
    case (.sending, .done): .shown
    case (.sending, .again), (.overtaken, .again), (.overtaken, .hopeless): .waiting
    case (.sending, .hopeless): .gone
    case (.sending, _), (.overtaken, _): .renewed
    case (.withdrawing, .done), (.withdrawing, .hopeless): .gone
    case (.withdrawing, _): .shown
    case (.returning, .done), (.returning, .hopeless): .waiting
    case (.returning, _): .renewed
    case (.updating, _): .shown
    case (.interrupted, _): .renewed
    case (.gone, _), (.waiting, _), (.renewed, _), (.shown, _): self
    }
  }

  /// Whether a send, a withdrawal or an update is under way.
  var isUnderWay: Bool {
    switch self {
    case .sending, .overtaken, .withdrawing, .returning, .updating, .interrupted: true
    case .gone, .waiting, .renewed, .shown: false
    }
  }

  /// Whether there is something that devices are still to be told.
  var isPending: Bool {
    switch self {
    case .waiting, .renewed, .overtaken, .returning, .interrupted: true
    case .gone, .sending, .shown, .withdrawing, .updating: false
    }
  }

  /// Whether a withdrawal is under way.
  var isWithdrawal: Bool { self == .withdrawing || self == .returning }
  /// Whether an update is under way.
  var isUpdate: Bool { self == .updating || self == .interrupted }
}
