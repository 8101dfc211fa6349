import Gateway
import Settings

/// The proxies to the backend, from the settings.
enum ProxySetup {
  /// - Returns: nil where the backend is asked nothing.
  static func configuration(for settings: Settings) throws -> ProxyConfiguration? {
    let proxies = settings.proxies
    var endpoints: [ProxyKind: ProxyEndpoint] = [:]
    for (kind, proxy) in [
      (ProxyKind.connect, proxies.connect), (.refresh, proxies.refresh), (.subscribe, proxies.subscribe),
      (.publish, proxies.publish), (.subRefresh, proxies.subRefresh), (.rpc, proxies.rpc),
      (.sharedPollRefresh, proxies.sharedPollRefresh),
    ] where proxy.isOn { endpoints[kind] = endpoint(proxy) }
    guard !endpoints.isEmpty else { return nil }
    return ProxyConfiguration(
      endpoints: endpoints, connections: proxies.maxConnections, replyBytes: proxies.maxReplyBytes,
      allowsPrivateAddresses: proxies.allowPrivateAddresses,
      certificateAuthorities: try CertificateAuthorities.file(proxies.$certificateAuthorities),
      callsPerClient: proxies.maxCallsPerClient)
  }

  private static func endpoint(_ proxy: Settings.Proxies.Proxy) -> ProxyEndpoint {
    let headers = proxy.staticHTTPHeaders.compactMap { HeaderLine($0) }
    return ProxyEndpoint(
      url: proxy.endpoint, timeoutMilliseconds: Int(clamping: proxy.timeout.milliseconds),
      forwardedHeaders: (proxy.httpHeaders?.wrappedValue ?? []).map { $0.lowercased() },
      staticHeaders: headers.map { BackendHeader(name: $0.name, value: $0.value) },
      onFailure: proxy.onFailure?.wrappedValue == .token ? .token : .refuse, maximumCalls: proxy.maxCalls,
      breaker: .init(failures: proxy.breakerFailures, openMilliseconds: proxy.breakerOpenTime.milliseconds),
      usesBase64: proxy.binaryEncoding?.wrappedValue ?? false,
      includesMeta: proxy.includeConnectionMeta?.wrappedValue ?? false,
      asksWithToken: proxy.withToken?.wrappedValue ?? false)
  }
}
