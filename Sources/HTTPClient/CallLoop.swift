internal import CCurl
import Glibc

/// The round of the client's thread: it takes what was posted, begins what may begin, has libcurl go on with what is
/// under way, and tells of what is over. It owns all handles.
///
/// The time of a call is kept here and not by libcurl, since it goes on where libcurl knows nothing of the call: while
/// it waits.
final class CallLoop {
  /// Milliseconds between two looks at the calls that wait: thousands of them may have as many deadlines.
  private static let overdueInterval = Duration.milliseconds(20)

  private let inbox: CallInbox
  private let multi: MultiHandle
  private let limits: HTTPClient.Limits
  private let userAgent: String
  private let clock = ContinuousClock()
  private var queue: CallQueue<PostedCall>
  private var underWay: [ObjectIdentifier: Transfer] = [:]
  private var lastLook: ContinuousClock.Instant?
  /// Milliseconds that a poll with nothing to wait for may take; few where libcurl cannot be woken.
  private let longestPoll: Int

  init(_ inbox: CallInbox, _ multi: MultiHandle, limits: HTTPClient.Limits, userAgent: String) {
    self.inbox = inbox
    self.multi = multi
    self.limits = limits
    self.userAgent = userAgent
    queue = CallQueue(limit: limits.connections, limitPerHost: limits.connectionsPerHost)
    let connections = max(limits.connections, 1)
    let perHost = max(limits.connectionsPerHost, 1)
    _ = unsafe ccurl_multi_set_number(multi.pointer, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
    _ = unsafe ccurl_multi_set_number(multi.pointer, CURLMOPT_MAX_HOST_CONNECTIONS, perHost)
    // Those that are kept open for the next call.
    _ = unsafe ccurl_multi_set_number(multi.pointer, CURLMOPT_MAXCONNECTS, connections)
    _ = unsafe ccurl_multi_set_number(multi.pointer, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    longestPoll = multi.wake() ? 60_000 : 50
  }

  func run() {
    while true {
      let round = inbox.take()
      for refused in round.refused { refused.done(.failure(.unsent(.tooMany))) }
      for posted in round.calls { accept(posted) }
      if round.isClosing { return end() }
      removeOverdue()
      repeat {
        begin()
        var running: Int32 = 0
        // What it returns is about the handle as a whole; calls that it kept from going on end when their time is over.
        _ = unsafe curl_multi_perform(multi.pointer, &running)
      } while finishEnded()
      _ = unsafe curl_multi_poll(multi.pointer, nil, 0, Int32(pollMilliseconds()), nil)
    }
  }

  private func accept(_ posted: PostedCall) {
    do throws(HTTPCallError) {
      queue.append(posted, to: try CallTarget(posted.call).host, deadline: posted.deadline)
    } catch {
      inbox.leave(1)
      posted.done(.failure(.unsent(error)))
    }
  }

  private func begin() {
    while let (posted, host, _) = queue.next() {
      inbox.leave(1)
      do throws(HTTPCallError) {
        let transfer = try Transfer(posted, host: host, limits: limits, userAgent: userAgent)
        guard unsafe curl_multi_add_handle(multi.pointer, transfer.easy) == CURLM_OK else {
          throw .unreachable("there is no memory for the call")
        }
        underWay[ObjectIdentifier(transfer)] = transfer
      } catch {
        queue.finish(host)
        posted.done(.failure(.unsent(error)))
      }
    }
  }

  /// - Returns: whether any had ended, so that others may begin.
  private func finishEnded() -> Bool {
    var hasEnded = false
    var code = CURLE_OK
    while let easy = unsafe ccurl_next_ended(multi.pointer, &code) {
      guard let transfer = unsafe Transfer.from(ccurl_context(easy)) else { continue }
      // Before the handle is taken out, after which its status is gone.
      finish(transfer, transfer.result(code))
      hasEnded = true
    }
    return hasEnded
  }

  private func finish(_ transfer: Transfer, _ result: Result<HTTPReply, HTTPCallError>) {
    let mayHaveGoneOut = transfer.mayHaveGoneOut
    _ = unsafe curl_multi_remove_handle(multi.pointer, transfer.easy)
    underWay[ObjectIdentifier(transfer)] = nil
    queue.finish(transfer.host)
    transfer.posted.done(result.mapError { HTTPCallFailure($0, mayHaveGoneOut: mayHaveGoneOut) })
  }

  private func removeOverdue() {
    let now = clock.now
    for transfer in underWay.values where transfer.posted.deadline <= now { finish(transfer, .failure(.timedOut)) }
    if let lastLook, now - lastLook < Self.overdueInterval { return }
    let overdue = queue.removeOverdue(now)
    if !overdue.isEmpty { lastLook = now }
    inbox.leave(overdue.count)
    for posted in overdue { posted.done(.failure(.unsent(.timedOut))) }
  }

  private func pollMilliseconds() -> Int {
    let now = clock.now
    var deadlines = underWay.values.map(\.posted.deadline)
    if let waiting = queue.earliestDeadline { deadlines.append(max(waiting, now + Self.overdueInterval)) }
    guard let next = deadlines.min() else { return longestPoll }
    // Rounded up: a poll that ends just before the deadline would be followed by many short ones.
    let left = Int(max((next - now) / .milliseconds(1), 0).rounded(.up))
    return min(left, longestPoll)
  }

  private func end() {
    for transfer in underWay.values { finish(transfer, .failure(.closed)) }
    let waiting = queue.removeAll()
    inbox.leave(waiting.count)
    for posted in waiting { posted.done(.failure(.unsent(.closed))) }
    unsafe curl_multi_cleanup(multi.pointer)
  }
}
