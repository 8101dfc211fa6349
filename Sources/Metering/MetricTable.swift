/// What one metric tells.
public struct MetricDescription: Sendable {
  public let name: String
  public let kind: MetricKind
  /// The labels that its numbers differ by.
  public let labels: [String]
  /// A sentence for who reads the page: what is counted, and in which unit where the name does not say it.
  public let help: String
  /// Upper bounds of a histogram's buckets; nil: ``MetricTable/seconds`` or ``MetricTable/anyNumbers``.
  let bounds: [Double]?

  fileprivate init(
    _ name: String, _ kind: MetricKind, by labels: [String] = [], bounds: [Double]? = nil, _ help: String
  ) {
    self.name = name
    self.kind = kind
    self.labels = labels
    self.help = help
    self.bounds = bounds
  }
}

/// All metrics of the server, in the order in which docs/OPERATIONS.md lists them. A test holds the names that the
/// sources use against it, and another the document, the alerts and the dashboard.
public enum MetricTable {
  public static let all: [MetricDescription] =
    [gateway, pictures, link, broker, brokerLinks, webhooks, push, apps, log, hops, process].flatMap { $0 }

  static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  static let dropped = "fanfare_metrics_dropped_total"
  static let build = "fanfare_build_info"

  /// Bounds for times: from 100 µs, in which a fast disk syncs, to 10 s.
  static let seconds = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]
  /// Bounds for hops: from 5 µs, which a hand-over within a process takes, to 10 s.
  private static let hopSeconds = [
    0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5,
    1, 2.5, 5, 10,
  ]
  /// Bounds for numbers of which nothing is known.
  static let anyNumbers: [Double] = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]

  private static let gateway = [
    MetricDescription("fanfare_gateway_connections", .gauge, "Sockets of clients that are open now, in any phase."),
    MetricDescription(
      "fanfare_gateway_ramp_connections", .gauge,
      "Clients that a gateway which ends has still to send away (shutdown.ramp); 0 where none ends."),
    MetricDescription(
      "fanfare_gateway_connections_signed_in", .gauge,
      "Connections now whose user is known, requests for pictures among them."),
    MetricDescription(
      "fanfare_gateway_connections_accepted_total", .counter, "Sockets that were accepted and got a place."),
    MetricDescription("fanfare_gateway_websockets_total", .counter, "Sockets that became WebSockets."),
    MetricDescription(
      "fanfare_gateway_streams_total", .counter,
      "Streams that were opened for clients without a WebSocket: server-sent events and HTTP streaming."),
    MetricDescription(
      "fanfare_gateway_sign_ins_total", .counter, "Clients that signed in over a WebSocket or a stream."),
    MetricDescription(
      "fanfare_gateway_sign_ins_refused_total", .counter, by: ["cause"],
      "Sign-ins refused for what they showed: invalid_token (none, wrong, revoked), expired_token, keys_unavailable, backend (refused by the connect proxy, or without its answer)."
    ),
    MetricDescription(
      "fanfare_gateway_requests_rejected_total", .counter,
      "HTTP requests that were answered with an error, time-outs included."),
    MetricDescription(
      "fanfare_gateway_refusals_total", .counter, by: ["cause"],
      "Clients refused, read later or sent away, by cause; OPERATIONS.md names the causes."),
    MetricDescription(
      "fanfare_gateway_slow_disconnects_total", .counter,
      "Clients disconnected with 3008 because they read too slowly (client.queue_bytes)."),
    MetricDescription(
      "fanfare_gateway_descriptors_exhausted_total", .counter, "How often the process ran out of descriptors."),
    MetricDescription(
      "fanfare_gateway_compression_input_bytes_total", .counter,
      "Bytes of messages that were compressed for clients, each message counted once, whatever number it went to."),
    MetricDescription(
      "fanfare_gateway_compression_output_bytes_total", .counter,
      "Bytes that became of `fanfare_gateway_compression_input_bytes_total`."),
    MetricDescription("fanfare_gateway_subscriptions", .gauge, "Subscriptions of clients of this gateway now."),
    MetricDescription(
      "fanfare_gateway_channels", .gauge, "Channels that clients of this gateway are on, or are about to be."),
    MetricDescription(
      "fanfare_gateway_deliveries_total", .counter,
      "Publications times the subscribers that they were for; whoever has a filter counts as if it let all through."),
    MetricDescription(
      "fanfare_namespace_subscriptions", .gauge, by: ["namespace"],
      "Subscriptions of clients of this gateway now, by namespace; (none): channels without a namespace."),
    MetricDescription(
      "fanfare_namespace_deliveries_total", .counter, by: ["namespace"],
      "Publications put on the way to subscribers, once for each subscriber whose filter lets them through."),
    MetricDescription(
      "fanfare_namespace_delivered_bytes_total", .counter, by: ["namespace"],
      "Bytes of WebSocket frames of those publications, before TLS."),
    MetricDescription(
      "fanfare_gateway_fanout_queue_bytes", .gauge,
      "Bytes handed to the event loops that some subscribers have still to be sent."),
    MetricDescription(
      "fanfare_gateway_egress_waiting_bytes", .gauge,
      "Bytes that wait for clients to take them: what gateway.egress_bytes limits."),
    MetricDescription(
      "fanfare_gateway_egress_limit_bytes", .gauge,
      "Bytes that may wait for clients, as gateway.egress_bytes says."),
    MetricDescription(
      "fanfare_gateway_reads_deferred_total", .counter,
      "Reads of clients that waited until there was room for their answers."),
    MetricDescription(
      "fanfare_gateway_proxy_calls_total", .counter, by: ["proxy", "outcome"],
      "Questions put to the backend: answered with a result, an error or a disconnect; or timeout, failed, breaker, bound."
    ),
    MetricDescription(
      "fanfare_gateway_proxy_calls_under_way", .gauge, by: ["proxy"],
      "Calls to the backend that have no reply yet, those that wait for a connection among them."),
    MetricDescription(
      "fanfare_gateway_proxy_breaker_state", .gauge, by: ["proxy"],
      "0: calls go through; 1: one call tries a backend that failed; 2: it is left alone."),
    MetricDescription(
      "fanfare_gateway_polled_channels", .gauge,
      "Channels of shared polls of which clients of this gateway track keys, or did a moment ago."),
    MetricDescription(
      "fanfare_gateway_polled_keys", .gauge, "Keys of shared polls that clients of this gateway track."),
    MetricDescription(
      "fanfare_gateway_poll_trackings", .gauge,
      "The same, each counted once for each subscription that tracks it: what shared_poll.max_trackings limits."),
    MetricDescription(
      "fanfare_gateway_poll_data_bytes", .gauge,
      "Bytes of their newest data that are kept: what shared_poll.max_data_bytes limits."),
    MetricDescription(
      "fanfare_gateway_polls_total", .counter, "Calls to the backend for keys of shared polls."),
    MetricDescription(
      "fanfare_gateway_polls_failed_total", .counter,
      "Of them, those that brought no usable answer."),
    MetricDescription(
      "fanfare_gateway_poll_asked_keys_total", .counter, "Keys that these calls asked for."),
    MetricDescription(
      "fanfare_gateway_poll_deliveries_total", .counter,
      "New versions and removals of keys, once for each client that they were sent to."),
  ]

  private static let link = [
    MetricDescription("fanfare_gateway_link_up", .gauge, "1 while the link to the broker is open, else 0."),
    MetricDescription(
      "fanfare_gateway_link_sessions_total", .counter, "How often the broker has welcomed this gateway."),
    MetricDescription(
      "fanfare_gateway_link_moves_total", .counter,
      "How often this gateway went from one of several brokers to another."),
    MetricDescription(
      "fanfare_gateway_link_gaps_total", .counter,
      "Messages of the broker that were not the next of their session: each begins a new session."),
    MetricDescription("fanfare_gateway_link_resets_total", .counter, "Resets that the broker sent."),
    MetricDescription(
      "fanfare_gateway_channels_refilled_total", .counter,
      "Channels brought up to date in a new session with all that was missed."),
    MetricDescription(
      "fanfare_gateway_channels_lost_total", .counter,
      "Channels on which something was missed that cannot be had any more; their clients were told."),
    MetricDescription(
      "fanfare_gateway_requests_pending_bytes", .gauge,
      "Bytes of clients' requests without an answer; at gateway.uplink_window_bytes clients are read later."),
    MetricDescription(
      "fanfare_gateway_requests_timed_out_total", .counter,
      "Requests of clients answered with error 100 because the broker did not answer in time."),
  ]

  private static let webhooks = [
    MetricDescription(
      "fanfare_webhook_waiting_events", .gauge, by: ["webhook"], "Events that a webhook has still to be sent."),
    MetricDescription("fanfare_webhook_waiting_bytes", .gauge, by: ["webhook"], "Their bytes."),
    MetricDescription(
      "fanfare_webhook_oldest_time_seconds", .gauge, by: ["webhook"],
      "When the event that is being sent was made, in seconds since 1970; 0: none is."),
    MetricDescription(
      "fanfare_webhook_given_up_events", .gauge, by: ["webhook"], "Events that were given up and are kept."),
    MetricDescription("fanfare_webhook_sent_total", .counter, by: ["webhook"], "Events that the receiver took."),
    MetricDescription(
      "fanfare_webhook_failures_total", .counter, by: ["webhook"], "Requests that the receiver did not take."),
    MetricDescription("fanfare_webhook_given_up_total", .counter, by: ["webhook"], "Events that were given up."),
    MetricDescription(
      "fanfare_webhook_lost_total", .counter, by: ["webhook"],
      "Events that nobody gets any more: too many were given up, or the disk took none for too long."),
    MetricDescription(
      "fanfare_gateway_webhook_events_lost_total", .counter,
      "Events of clients that no webhook hears of, as too many waited for the broker."),
  ]

  private static let pictures = [
    MetricDescription(
      "fanfare_picture_store_calls_total", .counter, by: ["call", "outcome"],
      "Calls of the object store that keeps pictures (put, get, copy, delete, list, versioning) and what became of them: done, refused (by its answer, until somebody changes something), unavailable."
    ),
    MetricDescription(
      "fanfare_picture_store_seconds", .histogram, by: ["call"],
      "How long these calls took, the second try of a read among it."),
  ]

  private static let push = [
    MetricDescription(
      "fanfare_push_sent_total", .counter, by: ["kind", "outcome"],
      "Notifications by kind of device (web, apns, fcm) and what became of them: taken, forget, later, too_large, refused, failed."
    ),
    MetricDescription(
      "fanfare_notices_waiting", .gauge,
      "Notices that somebody may have to be notified, which the app of notifications has still to take."),
    MetricDescription("fanfare_notices_total", .counter, "Notices that it has taken."),
    MetricDescription(
      "fanfare_notices_lost_total", .counter,
      "Notices that nobody takes any more: a million waited, or the disk took none for too long."),
    MetricDescription(
      "fanfare_notifications_sent_total", .counter, by: ["kind"],
      "Notifications that went out to people, one for each device, withdrawals among them."),
    MetricDescription(
      "fanfare_notifications_withdrawn_total", .counter, by: ["kind"],
      "Those of them that took back what was shown."),
    MetricDescription(
      "fanfare_notifications_updated_total", .counter, by: ["kind"],
      "Those of them that replaced it, without a sound, by what is left of it."),
    MetricDescription(
      "fanfare_notifications_unsent_total", .counter, by: ["kind", "reason"],
      "What people were not told of, one for each device: suppressed (a device acknowledged it in time, or it was seen), unwanted, suspended, expired, crowded (too much waits for the person), given_up (services were away for too long)."
    ),
    MetricDescription(
      "fanfare_notification_results_total", .counter, by: ["kind", "result"],
      "What came of them: taken, forgotten, later, refused, failed."),
    MetricDescription(
      "fanfare_notification_answers_lost_total", .counter,
      "Answers of services that could not be written down: what they are about is sent again a minute later."),
  ]

  private static let broker = [
    MetricDescription("fanfare_broker_published_total", .counter, "Publications that were delivered."),
    MetricDescription(
      "fanfare_namespace_publications_total", .counter, by: ["namespace"],
      "Publications that were delivered, by namespace; (none): channels without a namespace."),
    MetricDescription(
      "fanfare_namespace_channels", .gauge, by: ["namespace"],
      "Channels that the broker has in memory now, by namespace."),
    MetricDescription(
      "fanfare_broker_delivered_total", .counter,
      "Publications given to gateways, once for each gateway that asked for the channel."),
    MetricDescription(
      "fanfare_broker_refused_total", .counter,
      "Publications and other entries that the log did not take, or lost; who asked was told."),
    MetricDescription(
      "fanfare_broker_duplicates_avoided_total", .counter,
      "Publications that were made before and answered as the first time."),
    MetricDescription(
      "fanfare_broker_recoveries_total", .counter, by: ["result"],
      "Subscriptions to streams from a position: whole, with all that was missed, or not_whole, with nothing of it."),
    MetricDescription(
      "fanfare_broker_limited_total", .counter,
      "Requests refused for a limit of memory, of a channel or of a user; the log says which."),
    MetricDescription(
      "fanfare_broker_limits_total", .counter, by: ["limit"],
      "Those requests by limit, under the names that the log's lines give as cause."),
    MetricDescription(
      "fanfare_broker_over_quota_total", .counter, "Requests refused for the quota of a namespace."),
    MetricDescription(
      "fanfare_broker_keys_refused_total", .counter,
      "Publications refused because as many idempotency keys are held as are allowed."),
    MetricDescription(
      "fanfare_broker_services_refused_total", .counter,
      "Requests and taps of services that their grants do not allow."),
    MetricDescription(
      "fanfare_broker_channels", .gauge, "Channels that the broker has in memory now."),
    MetricDescription(
      "fanfare_broker_memory_bytes", .gauge,
      "Memory of publications, maps, channels and keys, as broker.memory_bytes counts it."),
    MetricDescription(
      "fanfare_broker_memory_limit_bytes", .gauge,
      "Memory that the broker may use, as broker.memory_bytes says."),
    MetricDescription(
      "fanfare_broker_pending_bytes", .gauge,
      "Bytes of entries that the log took and has not on disk yet; at broker.pending_bytes requests are read later."),
    MetricDescription(
      "fanfare_broker_orders_total", .counter, "Orders to gateways to end connections or subscriptions."),
    MetricDescription(
      "fanfare_broker_orders_late_total", .counter,
      "Orders and revocations that some gateway had not confirmed within broker.gateway_timeout."),
    MetricDescription(
      "fanfare_broker_orders_under_way", .gauge, "Orders and revocations that some gateway has still to confirm."),
    MetricDescription("fanfare_broker_revocations_total", .counter, "Revocations that were put in force."),
    MetricDescription("fanfare_broker_revocations_in_force", .gauge, "Revocations that are in force now."),
    MetricDescription(
      "fanfare_broker_app_relays_sent_total", .counter,
      "What apps and deletions of users' data have sent to other partitions, and is on disk."),
    MetricDescription(
      "fanfare_broker_app_relays_received_total", .counter, "What was taken in from other partitions."),
    MetricDescription(
      "fanfare_broker_app_relays_refused_total", .counter,
      "What can never be taken in from other partitions; the table outbox_refused has it, with the reason."),
  ]

  private static let brokerLinks = [
    MetricDescription("fanfare_broker_gateways", .gauge, "Gateways that the broker has a link to now."),
    MetricDescription(
      "fanfare_link_gaps_total", .counter,
      "Messages of gateways that came with a number missing before them: each resets its link."),
    MetricDescription(
      "fanfare_link_resets_total", .counter, "Links that were reset: after a gap, a full pipe or a full window."),
    MetricDescription(
      "fanfare_link_deferred_total", .counter, "Requests and answers that waited for room on a link."),
    MetricDescription(
      "fanfare_link_channels_refilled_total", .counter,
      "Channels for which a gateway got all that it missed while its link was reset."),
    MetricDescription(
      "fanfare_link_channels_lost_total", .counter,
      "Channels for which a gateway could not get all that it missed."),
    MetricDescription(
      "fanfare_link_gateways_forgotten_total", .counter,
      "Gateways that were silent for broker.gateway_timeout and were forgotten."),
  ]

  private static let apps = [
    MetricDescription(
      "fanfare_app_calls_over_limit_total", .counter, "Calls of apps that met a limit of the app."),
    MetricDescription(
      "fanfare_app_limits_total", .counter, by: ["limit"],
      "Calls of apps that met a limit with a name, by the setting that rules it."),
  ]

  private static let log = [
    MetricDescription(
      "fanfare_log_commit_seconds", .histogram,
      "Time of a transaction of the log, from its first row to the end of the sync; one commit has all that waits."),
    MetricDescription(
      "fanfare_log_commit_entries", .histogram, bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
      "Entries of a transaction."),
    MetricDescription(
      "fanfare_log_commit_bytes", .histogram,
      bounds: [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216],
      "Bytes of a transaction's entries, as broker.pending_bytes counts them."),
    MetricDescription(
      "fanfare_log_written_bytes_total", .counter,
      "Bytes of entries that were committed, as broker.pending_bytes counts them."),
    MetricDescription(
      "fanfare_log_losses_total", .counter,
      "Starts that found acknowledged transactions missing: a restored backup, a cut file, a wrong promotion."),
    MetricDescription(
      "fanfare_outbox_publications_total", .counter,
      "Publications that backends committed to the outbox in PostgreSQL, and that are published."),
    MetricDescription(
      "fanfare_outbox_refused_total", .counter,
      "Publications of the outbox that were refused; the table outbox_refused has them, with the reason."),
    MetricDescription("fanfare_log_commits_failed_total", .counter, "Transactions that the disk did not take."),
    MetricDescription(
      "fanfare_log_refusing", .gauge, by: ["cause"],
      "1 while publications are refused because of the disk: disk, it takes no writes; room, too little is left."),
    MetricDescription(
      "fanfare_log_file_bytes", .gauge, by: ["file"],
      "Size of the log's files, as of its last work: database, and wal, what was committed and is not in it yet."
    ),
    MetricDescription("fanfare_log_disk_free_bytes", .gauge, "Room on the log's file system for the server."),
  ]

  private static let hops = [
    MetricDescription(
      "fanfare_hop_seconds", .histogram, by: ["hop"], bounds: hopSeconds,
      "Time of measured publications by hop, and from the first to the last as whole; OPERATIONS.md names the hops."),
    MetricDescription(
      "fanfare_hops_dropped_total", .counter,
      "Publications that were to be measured and were not, because too many were under way."),
    MetricDescription(
      "fanfare_spans_exported_total", .counter, "Spans of traces that the collector took."),
    MetricDescription(
      "fanfare_spans_dropped_total", .counter, "Spans of traces that the collector did not take in time."),
    MetricDescription(
      "fanfare_console_frames_total", .counter,
      "Frames of live numbers that the web console has worked out: one a second while somebody watches."),
    MetricDescription(
      "fanfare_console_sign_ins_total", .counter, by: ["result"],
      "Passwords that were typed into the web console: signed_in or refused."),
  ]

  private static let process = [
    MetricDescription(
      "fanfare_heap_bytes", .gauge,
      "Memory that the allocator holds, used or free, looked up every ten seconds. Missing where it keeps no account."),
    MetricDescription(
      "fanfare_heap_used_bytes", .gauge,
      "What of fanfare_heap_bytes is in use. Where this is level and the memory grows, free pieces fit badly."),
    MetricDescription("process_cpu_seconds_total", .counter, "Processor time of the process, user and system."),
    MetricDescription("process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM."),
    MetricDescription("process_virtual_memory_bytes", .gauge, "Address space of the process."),
    MetricDescription("process_open_fds", .gauge, "Descriptors that are open; each connection takes one."),
    MetricDescription("process_max_fds", .gauge, "Descriptors that the process may have open."),
    MetricDescription("process_start_time_seconds", .gauge, "When the process was started, since 1970."),
    MetricDescription(
      build, .gauge, by: ["version", "swift"], "Always 1: which Fanfare this is, and which Swift compiled it."),
    MetricDescription(
      dropped, .counter,
      "Numbers that are not kept: a metric has at most 1000 combinations of labels, and one kind."),
  ]

  // MARK: The reference

  /// The table of docs/OPERATIONS.md, line by line.
  public static var markdown: [String] {
    ["| Metric | Type | By | What it tells |", "|---|---|---|---|"]
      + all.map { metric in
        let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
        return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
      }
  }
}
