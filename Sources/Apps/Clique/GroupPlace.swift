/// Where a person stands towards a group: always exactly one of these, changed by ``after(_:isLast:)`` alone.
///
/// The table. The event is about the person of the row; all but the last two come from an administrator. `=` leaves the
/// place as it is, `✗` refuses the command and says why.
///
///     place           add        add, unheard  remove     appoint        dismiss   leave     join by a link
///     outside         member     absent        ✗ nobody   ✗ nobody       ✗ nobody  ✗ nobody  member
///     removed         member     absent        ✗ nobody   ✗ nobody       ✗ nobody  ✗ nobody  ✗ link
///     absent          member     =             removed    absent/admin   =         ✗ nobody  member
///     absent/admin    admin      =             removed    =              absent *  ✗ nobody  admin
///     member          =          =             removed    admin          =         outside   =
///     admin           =          =             removed    =              member *  outside   =
///
/// *Unheard*: the person has blocked the administrator who adds them. *Absent*: to the others they look like a member
/// who never comes; they themselves know nothing of the group. `*`: refused where the person is the only administrator.
///
/// Others are shown an absent person as a member, so each event has the same outcome for them as for a member
/// (``shown``): nobody learns of the block by what becomes of an addition. Whoever is added by somebody whom they have
/// not blocked, or comes by a link, is there from then on, and nobody sees that they were not.
///
/// Where no administrator is left, because the last has left or was forgotten, the longest member becomes one
/// (``Clique/Group/settled(at:)``). That goes by what is shown, so it may be somebody who never comes.
enum GroupPlace: Sendable, Hashable {
  /// Never was a member, or has left.
  case outside
  /// Was removed, and comes back only by an administrator.
  case removed
  case absent(Rank)
  case present(Rank)

  enum Rank: String, Sendable, Hashable, CaseIterable { case member, administrator }

  enum Event: Sendable, Hashable {
    /// Not heard: the person has blocked the one who adds.
    case add(heard: Bool)
    case remove, appoint, dismiss, leave, join
  }

  enum Outcome: Sendable, Hashable {
    case refused(Refusal)
    case unchanged
    /// Everybody sees the change.
    case changed
    /// The absent person is there from now on; the others see no change.
    case came
  }

  enum Refusal: String, Sendable, Hashable {
    /// The person is no member.
    case nobody
    /// The person is the only administrator.
    case lastAdministrator
    /// The person was removed, and a link does not bring them back.
    case link
  }

  struct Step: Sendable, Hashable {
    var place: GroupPlace
    var outcome: Outcome
  }

  /// As what the members see the person; nil: as nobody.
  var shown: Rank? {
    switch self {
    case .outside, .removed: nil
    case .absent(let rank), .present(let rank): rank
    }
  }

  /// The place after an event, and what else it means: one cell of the table.
  ///
  /// - Parameter isLast: the person is shown as an administrator, and nobody else is.
  func after(_ event: Event, isLast: Bool = false) -> Step {
    switch (self, event) {
    case (.outside, .add(let heard)), (.removed, .add(let heard)):
      Step(place: heard ? .present(.member) : .absent(.member), outcome: .changed)
    case (.absent(let rank), .add(heard: true)), (.absent(let rank), .join):
      Step(place: .present(rank), outcome: .came)
    case (.absent, .add), (.present, .add), (.present, .join): Step(place: self, outcome: .unchanged)
    case (.outside, .join): Step(place: .present(.member), outcome: .changed)
    case (.removed, .join): Step(place: self, outcome: .refused(.link))
    case (.outside, _), (.removed, _), (.absent, .leave): Step(place: self, outcome: .refused(.nobody))
    case (.absent, .remove), (.present, .remove): Step(place: .removed, outcome: .changed)
    case (.present, .leave): Step(place: .outside, outcome: .changed)
    case (.absent(.member), .appoint): Step(place: .absent(.administrator), outcome: .changed)
    case (.present(.member), .appoint): Step(place: .present(.administrator), outcome: .changed)
    case (.absent, .appoint), (.present, .appoint): Step(place: self, outcome: .unchanged)
    case (.absent(.administrator), .dismiss), (.present(.administrator), .dismiss):
      isLast
        ? Step(place: self, outcome: .refused(.lastAdministrator)) : Step(place: ranked(.member), outcome: .changed)
    case (.absent, .dismiss), (.present, .dismiss): Step(place: self, outcome: .unchanged)
    }
  }

  private func ranked(_ rank: Rank) -> GroupPlace {
    if case .absent = self { .absent(rank) } else { .present(rank) }
  }
}
