import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One GET, given up as soon as its answer is too long. Redirects are not followed: the operator named an address, not
/// whatever it points to today.
final class BoundedDownload: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var fault: KeySetReader.Fault?
    var continuation: CheckedContinuation<[UInt8], any Error>?
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: bytes that the answer may have.
  init(limit: Int) { self.limit = limit }

  func run(_ url: URL, timeout: Duration) async throws -> [UInt8] {
    let configuration = URLSessionConfiguration.ephemeral
    // Whole seconds, and later than the caller's own deadline: Foundation on Linux takes half a second for none.
    configuration.timeoutIntervalForRequest = (timeout / .seconds(1)).rounded(.up) + 1
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    // A session holds its delegate until it is told that nothing more comes.
    defer { session.finishTasksAndInvalidate() }
    var request = URLRequest(url: url)
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    let task = session.dataTask(with: request)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { $0.continuation = continuation }
        task.resume()
        if Task.isCancelled { task.cancel() }
      }
    } onCancel: {
      task.cancel()
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    if status != 200 {
      fail(.status(status), dataTask)
      completionHandler(.cancel)
    } else if response.expectedContentLength > Int64(limit) {
      fail(.tooLarge, dataTask)
      completionHandler(.cancel)
    } else {
      completionHandler(.allow)
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let tooLarge = state.withLock { state in
      guard data.count <= limit - state.bytes.count else { return true }
      state.bytes.append(contentsOf: data)
      return false
    }
    if tooLarge { fail(.tooLarge, dataTask) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let (continuation, result) = state.withLock { state in
      defer { state.continuation = nil }
      if let fault = state.fault { return (state.continuation, Result<[UInt8], any Error>.failure(fault)) }
      // The error's own text holds the address, and with it perhaps a secret in its query.
      if let error {
        let code = (error as NSError).code
        return (state.continuation, .failure(KeySetReader.Fault.unreadable("the connection failed (code \(code))")))
      }
      return (state.continuation, .success(state.bytes))
    }
    continuation?.resume(with: result)
  }

  private func fail(_ fault: KeySetReader.Fault, _ task: URLSessionTask) {
    state.withLock { if $0.fault == nil { $0.fault = fault } }
    task.cancel()
  }
}
