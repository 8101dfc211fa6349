// swift-format-ignore-file

/// The files of `benchmarks/scenarios`, built in so that the bench runs anywhere. Made by `make scenarios`; a test compares.
enum EmbeddedScenarios {
  /// Each file's text, by the scenario's name.
  static let texts: [String: String] = [
    "clique": #"""
    {
      "about": "A hundred conversations of two, durable, at a rising rate: through Clique's rules, or on plain channels.",
      "measure": "saturation",
      "groups": [
        { "name": "pair", "channels": 100, "subscribers": 1, "rate": 12000, "payload": 128, "publishers": 10, "namespace": "plain" }
      ],
      "warmup": 2,
      "ramp": {"factor": 1.1, "seconds": 4, "p99_limit_milliseconds": 250, "maximum_steps": 20},
      "turns": 5,
      "peers": ["fanfare", "fanfare-clique"],
      "settings": [
        "channel.namespaces.plain.history_size=10000",
        "channel.namespaces.plain.history_ttl=8784h",
        "channel.namespaces.plain.force_recovery=true",
        "channel.namespaces.plain.durability=durable",
        "client.max_pending_requests=100000"
      ],
      "goals": [
        { "peer": "fanfare-clique", "figure": "knee: acknowledged/s", "at_least": 0.9, "of": "fanfare" }
      ]
    }

    """#,
    "coalesce": #"""
    {
      "about": "Bursts of 100 publications at once to 1000 subscribers: whether what waits together goes out together.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 1000, "rate": 400, "burst": 100, "payload": 128 }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare", "floor"]
    }

    """#,
    "coldread": #"""
    {
      "about": "The rooms at 20,000 publications a second, while a long durable history is read for the first time each second, or not.",
      "groups": [
        { "name": "room", "channels": 1000, "subscribers": 5, "rate": 20000, "payload": 128, "publishers": 50, "namespace": "room" }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare-unread", "fanfare-cold"],
      "settings": [
        "channel.namespaces.room.history_size=100",
        "channel.namespaces.room.history_ttl=10m",
        "channel.namespaces.room.force_recovery=true",
        "channel.namespaces.room.durability=memory",
        "channel.namespaces.archive.history_size=10000",
        "channel.namespaces.archive.history_ttl=168h",
        "channel.namespaces.archive.force_recovery=true",
        "channel.namespaces.archive.durability=durable"
      ],
      "goals": [
        { "peer": "fanfare-cold", "figure": "p99", "at_most": 1, "unit": "ms", "of": "fanfare-unread" }
      ]
    }

    """#,
    "connectstorm": #"""
    {
      "about": "10,000 clients connect, sign in and subscribe as fast as the server takes them.",
      "measure": "connect",
      "groups": [
        { "name": "room", "channels": 1000, "subscribers": 10 }
      ],
      "warmup": 0,
      "turns": 5,
      "peers": ["fanfare", "floor"],
      "settings": [
        "client.ping_interval=5m"
      ]
    }

    """#,
    "durable-many-most": #"""
    {
      "about": "The most that is acknowledged a second over 10,000 durable channels, with p99 within 250 ms.",
      "measure": "saturation",
      "groups": [
        { "name": "chat", "channels": 10000, "subscribers": 1, "rate": 5000, "payload": 128, "publishers": 50, "namespace": "chat" }
      ],
      "warmup": 2,
      "ramp": {"factor": 1.15, "seconds": 4, "p99_limit_milliseconds": 250, "maximum_steps": 30},
      "turns": 5,
      "peers": ["fanfare"],
      "settings": [
        "channel.namespaces.chat.history_size=1000",
        "channel.namespaces.chat.history_ttl=168h",
        "channel.namespaces.chat.force_recovery=true",
        "channel.namespaces.chat.durability=durable",
        "client.max_pending_requests=100000"
      ],
      "goals": [
        { "figure": "knee: acknowledged/s", "at_least": 0.7, "scenario": "durable-most" }
      ]
    }

    """#,
    "durable-many": #"""
    {
      "about": "The same as durable over 10,000 channels, as a chat server has them: a commit touches many channels, each of them a little.",
      "groups": [
        { "name": "chat", "channels": 10000, "subscribers": 1, "rate": 5000, "payload": 128, "publishers": 50, "namespace": "chat" }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare"],
      "settings": [
        "channel.namespaces.chat.history_size=1000",
        "channel.namespaces.chat.history_ttl=168h",
        "channel.namespaces.chat.force_recovery=true",
        "channel.namespaces.chat.durability=durable",
        "client.max_pending_requests=10000"
      ],
      "goals": [
        { "figure": "CPU per publication", "at_most": 60, "unit": "us" },
        { "figure": "p99", "at_most": 10, "unit": "ms" }
      ]
    }

    """#,
    "durable-most": #"""
    {
      "about": "The most that is acknowledged a second over 50 durable channels, with p99 within 250 ms.",
      "measure": "saturation",
      "groups": [
        { "name": "chat", "channels": 50, "subscribers": 1, "rate": 5000, "payload": 128, "publishers": 50, "namespace": "chat" }
      ],
      "warmup": 2,
      "ramp": {"factor": 1.15, "seconds": 4, "p99_limit_milliseconds": 250, "maximum_steps": 30},
      "turns": 5,
      "peers": ["fanfare"],
      "settings": [
        "channel.namespaces.chat.history_size=1000",
        "channel.namespaces.chat.history_ttl=168h",
        "channel.namespaces.chat.force_recovery=true",
        "channel.namespaces.chat.durability=durable",
        "client.max_pending_requests=100000"
      ]
    }

    """#,
    "durable": #"""
    {
      "about": "50 publishers on channels that acknowledge once a publication is on disk: acknowledged publications a second.",
      "groups": [
        { "name": "chat", "channels": 50, "subscribers": 1, "rate": 5000, "payload": 128, "publishers": 50, "namespace": "chat" }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare"],
      "settings": [
        "channel.namespaces.chat.history_size=1000",
        "channel.namespaces.chat.history_ttl=168h",
        "channel.namespaces.chat.force_recovery=true",
        "channel.namespaces.chat.durability=durable",
        "client.max_pending_requests=10000"
      ],
      "goals": [
        { "figure": "CPU per publication", "at_most": 60, "unit": "us" },
        { "figure": "p99", "at_most": 5, "unit": "ms" }
      ]
    }

    """#,
    "expiry": #"""
    {
      "about": "An ordinary channel of fifty on a server that starts with 10,000 threads of State, overdue all of them, or not.",
      "groups": [
        { "name": "busy", "channels": 1, "subscribers": 50, "rate": 200, "payload": 128 }
      ],
      "warmup": 0,
      "duration": 10,
      "turns": 3,
      "peers": ["fanfare-open", "fanfare-expiry"]
    }

    """#,
    "fanout-10k": #"""
    {
      "about": "One channel to 10,000 subscribers: what a delivery costs, and when the last subscriber has it.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 10000, "rate": 10, "payload": 128 }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare", "floor", "uwebsockets"],
      "goals": [
        { "figure": "CPU per delivery", "at_most": 1.0, "of": "floor" }
      ]
    }

    """#,
    "fanout-tls": #"""
    {
      "about": "One channel to 1000 subscribers over TLS, held against the floor without it: what a delivery costs, and when the last subscriber has it.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 1000, "rate": 50, "payload": 128 }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare-tls", "floor", "uwebsockets-tls"],
      "goals": [
        { "peer": "fanfare-tls", "figure": "CPU per delivery", "at_most": 1.6, "of": "floor" },
        { "peer": "fanfare-tls", "figure": "memory per connection", "at_most": 16, "unit": "KiB" }
      ]
    }

    """#,
    "fanout": #"""
    {
      "about": "One channel to 1000 subscribers: what a delivery costs, and when the last subscriber has it.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 1000, "rate": 50, "payload": 128 }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare", "floor", "uwebsockets"],
      "goals": [
        { "figure": "CPU per delivery", "at_most": 1.0, "of": "floor" }
      ]
    }

    """#,
    "headofline-rest": #"""
    {
      "about": "The quiet channel of one alone, beside 10,000 idle connections: what headofline is compared with.",
      "groups": [
        { "name": "quiet", "channels": 1, "subscribers": 1, "rate": 50, "payload": 128, "worker": 0 },
        { "name": "flood", "channels": 1, "subscribers": 10000, "rate": 0, "payload": 128, "worker": 1 }
      ],
      "workers": 2,
      "warmup": 2,
      "duration": 20,
      "turns": 5,
      "peers": ["fanfare", "floor"]
    }

    """#,
    "headofline": #"""
    {
      "about": "A channel of 10,000 is flooded beside a channel of one: how much later the one hears its own.",
      "groups": [
        { "name": "quiet", "channels": 1, "subscribers": 1, "rate": 50, "payload": 128, "worker": 0 },
        { "name": "flood", "channels": 1, "subscribers": 10000, "rate": 15, "payload": 128, "worker": 1 }
      ],
      "workers": 2,
      "warmup": 2,
      "duration": 20,
      "turns": 5,
      "peers": ["fanfare", "floor", "uwebsockets"],
      "goals": [
        { "figure": "quiet p99", "at_most": 2, "unit": "ms", "scenario": "headofline-rest" },
        { "figure": "flood last subscriber p50", "at_most": 1.0, "of": "uwebsockets" }
      ]
    }

    """#,
    "idle": #"""
    {
      "about": "10,000 subscribed connections that do nothing: the server's memory for each.",
      "measure": "idle",
      "groups": [
        { "name": "room", "channels": 1000, "subscribers": 10 }
      ],
      "warmup": 0,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare", "floor"],
      "settings": [
        "client.ping_interval=5m"
      ],
      "goals": [
        { "figure": "memory per connection", "at_most": 5, "unit": "KiB" }
      ]
    }

    """#,
    "latency": #"""
    {
      "about": "One publisher to one subscriber at rest: how long a publication takes when nothing else happens.",
      "groups": [
        { "name": "pair", "channels": 1, "subscribers": 1, "rate": 100, "payload": 128 }
      ],
      "warmup": 2,
      "duration": 20,
      "turns": 5,
      "peers": ["fanfare", "floor", "uwebsockets", "nats"],
      "goals": [
        { "figure": "p50", "at_most": 1.0, "of": "nats" },
        { "figure": "p50", "at_most": 1.3, "of": "floor" },
        { "figure": "CPU per publication", "at_most": 200, "unit": "us" }
      ]
    }

    """#,
    "resumestorm": #"""
    {
      "about": "10,000 clients in rooms of ten drop at once, miss 100 publications each, return together and recover.",
      "measure": "resume",
      "groups": [
        { "name": "room", "channels": 1000, "subscribers": 10, "rate": 10000, "payload": 128, "publishers": 50, "namespace": "room" }
      ],
      "warmup": 1,
      "missed": 100,
      "turns": 3,
      "peers": ["fanfare"],
      "settings": [
        "channel.namespaces.room.history_size=300",
        "channel.namespaces.room.history_ttl=10m",
        "channel.namespaces.room.force_recovery=true",
        "channel.namespaces.room.durability=memory"
      ]
    }

    """#,
    "rooms-one": #"""
    {
      "about": "A thousand rooms of five, each with order and history, in which one publisher makes 20,000 publications a second.",
      "groups": [
        { "name": "room", "channels": 1000, "subscribers": 5, "rate": 20000, "payload": 128, "publishers": 1, "namespace": "room" }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare", "floor", "uwebsockets", "nats"],
      "settings": [
        "channel.namespaces.room.history_size=100",
        "channel.namespaces.room.history_ttl=10m",
        "channel.namespaces.room.force_recovery=true",
        "channel.namespaces.room.durability=memory"
      ],
      "goals": [
        { "figure": "CPU per delivery", "at_most": 1.1, "of": "uwebsockets" },
        { "figure": "p99", "at_most": 2.0, "of": "uwebsockets" }
      ]
    }

    """#,
    "rooms": #"""
    {
      "about": "A thousand rooms of five, each with order and history, in which 20,000 publications a second are made.",
      "groups": [
        { "name": "room", "channels": 1000, "subscribers": 5, "rate": 20000, "payload": 128, "publishers": 50, "namespace": "room" }
      ],
      "warmup": 2,
      "duration": 10,
      "turns": 5,
      "peers": ["fanfare", "floor", "uwebsockets", "nats"],
      "settings": [
        "channel.namespaces.room.history_size=100",
        "channel.namespaces.room.history_ttl=10m",
        "channel.namespaces.room.force_recovery=true",
        "channel.namespaces.room.durability=memory"
      ],
      "goals": [
        { "figure": "CPU per delivery", "at_most": 1.1, "of": "uwebsockets" },
        { "figure": "p99", "at_most": 2.0, "of": "uwebsockets" }
      ]
    }

    """#,
    "saturation": #"""
    {
      "about": "One channel to 200 subscribers at a rising rate: the most that is delivered with p99 within 50 ms.",
      "measure": "saturation",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 200, "rate": 2000, "payload": 128 }
      ],
      "warmup": 2,
      "ramp": {"factor": 1.25, "seconds": 4, "p99_limit_milliseconds": 50, "maximum_steps": 30},
      "turns": 3,
      "peers": ["fanfare", "floor"],
      "settings": [
        "client.max_pending_requests=100000"
      ]
    }

    """#,
    "slowreaders-none": #"""
    {
      "about": "The same as slowreaders with everybody reading: what it is compared with.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 1000, "rate": 100, "payload": 1024 }
      ],
      "warmup": 2,
      "duration": 20,
      "turns": 5,
      "peers": ["fanfare", "floor"]
    }

    """#,
    "slowreaders": #"""
    {
      "about": "One channel to 1000 subscribers of whom 1 % stop reading: whether the healthy notice.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 1000, "rate": 100, "payload": 1024, "slow": 0.01 }
      ],
      "warmup": 2,
      "duration": 20,
      "turns": 5,
      "peers": ["fanfare", "floor"]
    }

    """#,
    "soak": #"""
    {
      "about": "An hour of everything at once, by default: rooms, a busy channel, bursts and a few slow readers; nothing may be lost.",
      "groups": [
        { "name": "news", "channels": 1, "subscribers": 500, "rate": 20, "payload": 256, "slow": 0.01 },
        { "name": "room", "channels": 200, "subscribers": 5, "rate": 1000, "payload": 128, "publishers": 20, "namespace": "room" },
        { "name": "burst", "channels": 4, "subscribers": 50, "rate": 100, "burst": 50, "payload": 128 },
        { "name": "pair", "channels": 1, "subscribers": 1, "rate": 20, "payload": 128 }
      ],
      "warmup": 5,
      "duration": 3600,
      "turns": 1,
      "peers": ["fanfare"],
      "settings": [
        "channel.namespaces.room.history_size=100",
        "channel.namespaces.room.history_ttl=10m",
        "channel.namespaces.room.force_recovery=true",
        "channel.namespaces.room.durability=memory"
      ]
    }

    """#,
    "state": #"""
    {
      "about": "State: a send to one of many people, fifty a second, and the time until the notification of it is there.",
      "groups": [
        { "name": "pair", "channels": 1200, "subscribers": 1, "rate": 50, "payload": 128, "publishers": 150 }
      ],
      "warmup": 2,
      "duration": 20,
      "turns": 3,
      "peers": ["fanfare-state"]
    }

    """#,
  ]
}
