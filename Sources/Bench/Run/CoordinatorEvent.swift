/// What a run tells while it goes on.
public enum RunEvent: Sendable {
  case skipped(peer: String, reason: String)
  case turnBegan(peer: String, number: Int, of: Int)
  /// What the turn is at: "starting", "connecting", "warming up", "measuring", …
  case phase(String)
  /// What all workers together have done so far, about once a second.
  case progress(Progress)
  case stepEnded(Step)
  case turnEnded(Turn)
}
