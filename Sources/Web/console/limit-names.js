// What the limits that a frame names mean, and the setting that rules each: docs/OPERATIONS.md, in short.

const gateway = {
  server_full: ["All connections are taken.", "server.max_connections"],
  handshakes: ["Too many connections have not sent their request yet.", "server.max_handshakes"],
  tls_handshakes: ["TLS handshakes wait for their turn.", "server.max_tls_handshakes"],
  unsigned: ["Too many connections have not signed in yet.", "server.max_unsigned"],
  address_connections: ["One address has too many connections; list it in server.trusted_proxies if it is a proxy.",
    "server.address.max_connections"],
  address_unsigned: ["One address has too many connections that have not signed in.", "server.address.max_unsigned"],
  address_handshakes: ["One address has too many connections without a request.", "server.address.max_handshakes"],
  address_tls_handshakes: ["TLS handshakes of one address wait.", "server.address.max_tls_handshakes"],
  address_rate: ["One address opens connections too fast.", "server.address.connections_per_second"],
  address_sign_ins: ["One address signs in too often.", "server.address.sign_ins_per_second"],
  client_certificate_missing: ["A client showed no certificate.", "server.tls.client_certificates"],
  client_certificate_refused: ["A client's certificate was not accepted.", "server.tls.client_ca_file"],
  proxy_header: ["A trusted proxy sent no PROXY header.", "server.proxy_protocol"],
  user_connections: ["A user has too many connections.", "client.max_connections_per_user"],
  token_checks: ["A client has too many tokens checked, and is read later.", "client.max_token_checks"],
  revoked_token: ["A revoked token was used, and counts for nothing."],
  channel_subscribers: ["A channel has as many subscribers on a gateway as it may.",
    "gateway.max_subscribers_per_channel"],
  channel_filters: ["A channel has as many different filters as it may.", "gateway.max_filters_per_channel"],
  client_channels: ["A client has as many subscriptions as it may.", "client.max_channels"],
  ordered_subscriptions: ["Clients were not subscribed though a service ordered it: the broker refused it."],
  picture_requests: ["As many requests for pictures are under way as may be.", "state.max_picture_requests"],
  picture_requests_of_user: ["One user has as many requests for pictures under way as may be.",
    "state.max_picture_requests_per_user"],
  backend: ["Your backend gave no usable answer, or is left alone for a while.", "proxies"],
  backend_calls: ["As many calls to your backend are under way as may be.", "proxies"],
  too_many_refusals: ["A client went on with commands that were refused, and was disconnected with 3013."],
  egress: ["More waits for clients than memory is set aside for: those for whom most waits are closed.",
    "gateway.egress_bytes"],
  slow: ["A client read too slowly, and was disconnected with 3008.", "client.queue_bytes"],
  slow_cut: ["A client that read too slowly was cut off.", "client.slow_close_grace"],
};

const broker = {
  "broker limits": ["Requests were refused for a limit of memory, of a channel or of a user; the log says which."],
  "broker quotas": ["A user keeps as much in a namespace as its quota.", "user_quota"],
  "broker idempotency keys": ["As many idempotency keys are held as are allowed.", "max_idempotency_keys"],
  "broker services": ["A service asked for what its grant does not allow.", "broker.services.keys"],
  "gateway slow disconnects": ["Clients read too slowly, and were disconnected with 3008.", "client.queue_bytes"],
};

const unrefused = new Set(["clique_max_requests_received", "state_max_received", "state_max_received_per_day"]);

function rateMeaning(cause) {
  const match = /^(connection|user)_(.+?)(_refused)?$/u.exec(cause);
  if (!match) return {};
  const [, whose, kind, isRefused] = match;
  const setting = `client.${whose === "user" ? "user_limits" : "limits"}.${kind}_per_second`;
  if (isRefused) return { text: "A user went on beyond the rate over several connections, and was refused.", setting };
  const who = whose === "user" ? "A user's clients are together" : "A client is";
  return { text: `${who} faster than allowed, and read later.`, setting };
}

function appMeaning(limit) {
  const [app, ...rest] = limit.split("_");
  const setting = `${app}.${rest.join("_")}`;
  const text = unrefused.has(limit) ? "What was sent beyond the limit reaches nobody; nobody was refused."
    : "Calls of users went beyond the limit, and were refused.";
  return { text, setting };
}

/** What a limit of a frame (`gateway slow`, `app clique_max_places`, `broker limits`) means: `{ text?, setting? }`. */
export function meaningOf(name) {
  if (Object.hasOwn(broker, name)) return { text: broker[name][0], setting: broker[name][1] };
  const [kind, cause = ""] = name.split(/ (.*)/su);
  if (kind === "app") return appMeaning(cause);
  if (kind !== "gateway") return {};
  if (Object.hasOwn(gateway, cause)) return { text: gateway[cause][0], setting: gateway[cause][1] };
  const code = /^disconnect_(\d+)$/u.exec(cause);
  if (code) return { text: `Clients were disconnected with code ${code[1]}.` };
  return rateMeaning(cause);
}
