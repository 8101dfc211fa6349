import Wire

extension SettingsRules {
  mutating func checkLimits() {
    let server = settings.server
    for proxy in server.trustedProxies where AddressRange(proxy) == nil {
      report(
        "server.trusted_proxies",
        "holds \(SettingKey.quote(proxy)); write an address or a range, for example \"10.0.0.7\" or \"10.0.0.0/8\"")
    }
    if server.admission.proxyProtocol, server.trustedProxies.isEmpty {
      report(
        "server.proxy_protocol",
        "is true, but server.trusted_proxies is empty, so nobody would be believed; list the proxies' addresses")
    }
    let all = server.maxConnections
    for (key, number) in [
      ("max_unsigned", server.admission.maxUnsigned), ("max_handshakes", server.admission.maxHandshakes),
      ("address.max_connections", server.admission.addressConnections),
      ("address.max_unsigned", server.admission.addressUnsigned),
      ("address.max_handshakes", server.admission.addressHandshakes),
      ("max_tls_handshakes", server.admission.maxTLSHandshakes),
      ("address.max_tls_handshakes", server.admission.addressTLSHandshakes),
    ] where all > 0 && number > all {
      report("server.\(key)", "is more than server.max_connections, so it limits nothing; make it smaller")
    }
    let bytes = settings.client.limits["bytes"]
    if !bytes.isUnlimited, bytes.burst < settings.client.maxMessageBytes {
      report(
        "client.limits.bytes_burst",
        "is smaller than client.max_message_bytes, so a client would rest after each large message; make it larger")
    }
  }
}
