internal import CCurl
import Synchronization

/// A call, and who is told of its end.
struct PostedCall: Sendable {
  let call: HTTPCall
  let deadline: ContinuousClock.Instant
  let done: @Sendable (Result<HTTPReply, HTTPCallFailure>) -> Void
}

/// libcurl's handle for many calls. It belongs to the client's thread; only `wake` may be called on others.
///
/// Unchecked: the pointer itself never changes, and what other threads do with it, curl_multi_wakeup, is made for that.
@safe struct MultiHandle: @unchecked Sendable {
  let pointer: UnsafeMutableRawPointer

  init?() {
    guard let pointer = unsafe curl_multi_init() else { return nil }
    unsafe self.pointer = unsafe pointer
  }

  /// Ends the poll that the client's thread is in, or the next one. False where libcurl has no means to.
  @discardableResult
  func wake() -> Bool { unsafe curl_multi_wakeup(pointer) == CURLM_OK }
}

/// What comes to the client's thread from others.
///
/// Open: takes calls, as many as may wait; can become closing. Closing: takes none; the thread ends the rest and
/// itself.
final class CallInbox: Sendable {
  struct Round {
    var calls: [PostedCall] = []
    /// Calls for which there was no room. They are told so on the client's thread, like all others.
    var refused: [PostedCall] = []
    var isClosing = false
  }

  private struct State {
    var round = Round()
    /// Calls that were posted and are neither under way nor over.
    var waiting = 0
  }

  private let limit: Int
  /// Nil where libcurl has none to give; the inbox is closing from the beginning then.
  private let multi: MultiHandle?
  private let state: Mutex<State>

  init(limit: Int, multi: MultiHandle?) {
    self.limit = max(limit, 1)
    self.multi = multi
    state = Mutex(State())
    if multi == nil { close() }
  }

  func post(_ call: PostedCall) {
    let isClosing = state.withLock { state in
      if state.round.isClosing { return true }
      // The thread takes all that is there at once, so that one wake-up is enough for what is posted until then.
      let mustWake = state.round.calls.isEmpty && state.round.refused.isEmpty
      if state.waiting < limit {
        state.waiting += 1
        state.round.calls.append(call)
      } else {
        state.round.refused.append(call)
      }
      // Under the lock: the handle is freed after the inbox is closing.
      if mustWake { multi?.wake() }
      return false
    }
    // There is no other thread left that could say it.
    if isClosing { call.done(.failure(.unsent(.closed))) }
  }

  func close() {
    state.withLock { state in
      if state.round.isClosing { return }
      state.round.isClosing = true
      multi?.wake()
    }
  }

  /// The client's thread takes what has come.
  func take() -> Round {
    state.withLock { state in
      defer { state.round = Round(isClosing: state.round.isClosing) }
      return state.round
    }
  }

  /// So many calls wait no longer.
  func leave(_ count: Int) {
    if count > 0 { state.withLock { $0.waiting -= count } }
  }
}
