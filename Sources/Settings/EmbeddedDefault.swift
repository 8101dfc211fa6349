/// `config/fanfare.json`, built in so that `fanfare serve` needs no file. A test compares the two.
public enum EmbeddedDefault {
  public static let json = """
    {
      "server": {
        "host": "0.0.0.0",
        "port": 8000,
        "allowed_origins": []
      },
      "data": {
        "directory": "data"
      },
      "log": {
        "level": "info",
        "format": "text"
      },
      "channel": {
        "without_namespace": {
          "allow_subscribe_for_client": true,
          "allow_publish_for_subscriber": true,
          "allow_history_for_subscriber": true,
          "presence": true,
          "allow_presence_for_subscriber": true,
          "join_leave": true,
          "history_size": 100,
          "history_ttl": "10m",
          "force_recovery": true,
          "durability": "memory"
        },
        "namespaces": [
          {
            "name": "chat",
            "durability": "durable",
            "history_size": 1000,
            "history_ttl": "168h",
            "force_recovery": true,
            "presence": true,
            "join_leave": true,
            "allow_subscribe_for_client": true,
            "allow_publish_for_subscriber": true,
            "allow_history_for_subscriber": true,
            "allow_presence_for_subscriber": true,
            "allow_user_limited_channels": true,
            "allow_edit_for_author": true
          },
          {
            "name": "receipts",
            "kind": "map",
            "map_mode": "persistent",
            "map_key_is_user": true,
            "follows_channel": true,
            "allow_publish_for_subscriber": true
          },
          {
            "name": "typing",
            "kind": "map",
            "map_ttl": "5s",
            "map_key_is_user": true,
            "follows_channel": true,
            "allow_publish_for_subscriber": true,
            "publish_interval": "2s",
            "lane": "typing"
          },
          {
            "name": "journal",
            "kind": "map",
            "map_mode": "persistent",
            "map_order": "descending",
            "map_score": "created",
            "map_max_entries": 10000,
            "user_quota_bytes": "64MiB",
            "user_quota_entries": 20000,
            "allow_publish_for_client": true,
            "allow_user_limited_channels": true
          },
          {
            "name": "favorites",
            "kind": "map",
            "map_mode": "persistent",
            "map_order": "ascending",
            "map_max_entries": 50,
            "user_quota_bytes": "4MiB",
            "user_quota_entries": 1000,
            "allow_publish_for_client": true,
            "allow_user_limited_channels": true
          },
          {
            "name": "sites",
            "durability": "durable",
            "history_size": 500,
            "history_ttl": "168h",
            "force_recovery": true,
            "allow_subscribe_for_client": true,
            "allow_publish_for_subscriber": true,
            "allow_publish_for_client": true,
            "allow_history_for_subscriber": true,
            "allow_edit_for_author": true
          },
          {
            "name": "site-choice",
            "kind": "map",
            "map_mode": "persistent",
            "map_order": "ascending",
            "map_max_entries": 50,
            "user_quota_bytes": "1MiB",
            "user_quota_entries": 1000,
            "allow_publish_for_client": true,
            "allow_user_limited_channels": true
          },
          {
            "name": "busy",
            "durability": "memory",
            "allow_subscribe_for_client": true
          }
        ]
      },
      "demo": {
        "enabled": false,
        "clock": false
      }
    }

    """
}
