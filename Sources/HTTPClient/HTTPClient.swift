internal import CCurl
import Glibc
import Synchronization

/// Calls others over HTTP: one thread, on which libcurl does all calls at once.
///
/// What it does not do, so that nobody can make it: follow redirects, call private addresses unless that is allowed
/// (``Limits/allowsPrivateAddresses``), trust a certificate that is not verified, keep cookies, unpack what is
/// compressed, use proxies or passwords of the environment, speak anything but HTTP. Over TLS it speaks HTTP/2 with
/// whoever can. Connections stay open for later calls.
///
/// A call: posted, then one of
///
///     refused    `tooMany`, `badURL`: at once
///     waiting    until fewer than the limits are under way; can become: under way, over (`timedOut`, `closed`)
///     under way  can become: over (a reply, or any other error)
///
/// A call is sent once more where a kept connection turns out to have been closed before a byte of the reply came. So
/// whoever is called may see it twice: what must happen once needs a key that says so.
public final class HTTPClient: Sendable {
  public struct Limits: Sendable {
    /// Calls that are under way at once, and connections that are open.
    public var connections: Int
    /// Of these to one host (scheme, name and port).
    public var connectionsPerHost: Int
    /// Calls that wait until they may begin; more are refused with `tooMany`.
    public var waiting: Int
    /// Bytes that the body of a reply may have. Its header lines may have 32 KiB besides.
    public var replyBytes: Int
    /// Whether addresses may be called that are not of the public Internet: private, loopback, link-local and the like.
    public var allowsPrivateAddresses: Bool
    /// A file with certificates in PEM that are trusted in place of the system's; nil: the system's.
    public var certificateAuthorities: String?

    public init(
      connections: Int = 64, connectionsPerHost: Int = 8, waiting: Int = 1024, replyBytes: Int = 64 << 10,
      allowsPrivateAddresses: Bool = false, certificateAuthorities: String? = nil
    ) {
      self.connections = connections
      self.connectionsPerHost = connectionsPerHost
      self.waiting = waiting
      self.replyBytes = replyBytes
      self.allowsPrivateAddresses = allowsPrivateAddresses
      self.certificateAuthorities = certificateAuthorities
    }
  }

  /// Longer times of calls are cut to this.
  private static let longestCall = Duration.seconds(24 * 60 * 60)
  /// Once for the process, whoever is first.
  private static let isLibraryReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let inbox: CallInbox
  private let thread: pthread_t?
  private let isJoined = Mutex(false)

  /// Starts the client's thread. Where that is not possible for want of memory or threads, each call ends with
  /// `closed`.
  ///
  /// - Parameters:
  ///   - name: of the thread, as `top -H` shows it; Linux keeps 15 bytes of it.
  ///   - userAgent: the header `User-Agent` of calls that have none.
  public init(_ limits: Limits, name: String, userAgent: String) {
    let multi = Self.isLibraryReady ? MultiHandle() : nil
    inbox = CallInbox(limit: limits.waiting, multi: multi)
    guard let multi else {
      thread = nil
      return
    }
    let start = LoopStart(inbox, multi, limits, name: name, userAgent: userAgent)
    thread = unsafe Self.spawn(Unmanaged.passRetained(start))
    if thread == nil {
      inbox.close()
      unsafe curl_multi_cleanup(multi.pointer)
    }
  }

  /// Makes a call. May be called on any thread, also by `done`.
  ///
  /// - Parameter done: called once, on the client's thread, and must not block: all other calls wait for it. After
  ///   ``close()`` it is called with `closed`, before `send` returns.
  public func send(_ call: HTTPCall, then done: @escaping @Sendable (Result<HTTPReply, HTTPCallError>) -> Void) {
    sendAndTrace(call) { result in done(result.mapError(\.error)) }
  }

  /// Makes a call like ``send(_:then:)``, and tells of one without a reply whether it may have gone out: for whoever
  /// must know whether what it asked for may have happened.
  public func sendAndTrace(
    _ call: HTTPCall, then done: @escaping @Sendable (Result<HTTPReply, HTTPCallFailure>) -> Void
  ) {
    let time = min(.milliseconds(max(call.timeoutMilliseconds, 0)), Self.longestCall)
    inbox.post(PostedCall(call: call, deadline: ContinuousClock.now + time, done: done))
  }

  /// Ends all calls that are not over with `closed`, and waits until the thread has ended. May be called on any thread,
  /// and more than once; on the client's own it only asks for the end.
  public func close() {
    inbox.close()
    guard let thread, pthread_equal(pthread_self(), thread) == 0 else { return }
    isJoined.withLock { isJoined in
      if isJoined { return }
      isJoined = true
      pthread_join(thread, nil)
    }
  }

  deinit {
    close()
    guard let thread else { return }
    isJoined.withLock { isJoined in
      if !isJoined { pthread_detach(thread) }
    }
  }

  private static func spawn(_ start: Unmanaged<LoopStart>) -> pthread_t? {
    // A thread inherits the mask, so that there is no moment in which a signal could reach it. The threads on which
    // libcurl resolves names inherit it in turn.
    var all = sigset_t()
    var previous = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

    var thread = pthread_t()
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<LoopStart>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, start.toOpaque())
    if code == 0 { return thread }
    unsafe start.release()
    return nil
  }
}

/// What the new thread is given to run.
private final class LoopStart: Sendable {
  private let inbox: CallInbox
  private let multi: MultiHandle
  private let limits: HTTPClient.Limits
  private let name: String
  private let userAgent: String

  init(_ inbox: CallInbox, _ multi: MultiHandle, _ limits: HTTPClient.Limits, name: String, userAgent: String) {
    self.inbox = inbox
    self.multi = multi
    self.limits = limits
    self.name = name
    self.userAgent = userAgent
  }

  func run() {
    unsafe ccurl_name_this_thread(name)
    CallLoop(inbox, multi, limits: limits, userAgent: userAgent).run()
  }
}
