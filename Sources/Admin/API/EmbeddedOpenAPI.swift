// swift-format-ignore-file

extension OpenAPI {
  /// `docs/openapi.json`, built in so that every server can give it out. Made by `make openapi`; a test compares.
  static let text = #"""
    {
      "openapi": "3.1.0",
      "info": {
        "title": "Fanfare server API",
        "version": "0.1.0",
        "summary": "For backends: publish, see who is there, send people away.",
        "description": "docs/API.md explains it. A call that was understood is answered with status 200 and either result or error. In requests null counts as left out, whole numbers are written without a point or an exponent, unknown members are passed over, and lengths of texts are bytes of UTF-8. What is read with GET is answered to HEAD too.",
        "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"}
      },
      "servers": [
        {
          "url": "http://127.0.0.1:9000",
          "description": "admin.host and admin.port, as they are without a configuration."
        }
      ],
      "security": [
        {"key": []},
        {"authorization": []}
      ],
      "tags": [
        {"name": "Publications"},
        {"name": "Presence and history"},
        {"name": "Connections"},
        {"name": "Maps"},
        {"name": "Tokens"},
        {"name": "Webhooks"},
        {"name": "Notifications"},
        {"name": "Apps"},
        {"name": "Privacy"},
        {"name": "Server"},
        {"name": "Batch"}
      ],
      "paths": {
        "/api/publish": {
          "post": {
            "operationId": "publish",
            "tags": ["Publications"],
            "summary": "Publish to a channel",
            "description": "Answered when the namespace's durability is met.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/PublishRequest"},
                  "example": {"channel": "news", "data": {"hello": "world"}, "idempotency_key": "order-4711"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Position"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/broadcast": {
          "post": {
            "operationId": "broadcast",
            "tags": ["Publications"],
            "summary": "Publish the same to several channels",
            "description": "Each channel has an answer of its own.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/BroadcastRequest"},
                  "example": {"channels": ["news", "sport:1"], "data": {"hello": "world"}}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Broadcast"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/edit": {
          "post": {
            "operationId": "edit",
            "tags": ["Publications"],
            "summary": "Replace a publication",
            "description": "History shows it with the tag edited; subscribers get a publication with the tag edits, whose position this answers.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/EditRequest"},
                  "example": {"channel": "news", "offset": 1, "data": {"hello": "again"}}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Position"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/delete": {
          "post": {
            "operationId": "delete",
            "tags": ["Publications"],
            "summary": "Take a publication back",
            "description": "History shows it with the tag deleted and without its data; subscribers get a publication with the tag deletes, whose position this answers.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/DeleteRequest"},
                  "example": {"channel": "news", "offset": 1}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Position"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/subscribe": {
          "post": {
            "operationId": "subscribe",
            "tags": ["Connections"],
            "summary": "Subscribe connections to a channel",
            "description": "Answered when every gateway has asked for the subscriptions. Who is subscribed stays so.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/SubscribeRequest"},
                  "example": {"user": "ada", "channel": "news"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/unsubscribe": {
          "post": {
            "operationId": "unsubscribe",
            "tags": ["Connections"],
            "summary": "End subscriptions to a channel",
            "description": "Answered when every gateway has done it.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/UnsubscribeRequest"},
                  "example": {"user": "ada", "channel": "news"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/disconnect": {
          "post": {
            "operationId": "disconnect",
            "tags": ["Connections"],
            "summary": "End connections",
            "description": "Answered when every gateway has done it. It does not keep anybody from coming back; see revoke_token and invalidate_user_tokens.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/DisconnectRequest"},
                  "example": {"user": "ada", "disconnect": {"code": 4500, "reason": "banned"}}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/refresh": {
          "post": {
            "operationId": "refresh",
            "tags": ["Connections"],
            "summary": "Set when connections expire",
            "description": "In place of what their tokens said. Answered when every gateway has done it.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/RefreshRequest"},
                  "example": {"user": "ada", "expire_at": 4102444800}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/presence": {
          "post": {
            "operationId": "presence",
            "tags": ["Presence and history"],
            "summary": "Who is on a channel",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/ChannelRequest"}, "example": {"channel": "news"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Presence"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/presence_stats": {
          "post": {
            "operationId": "presence_stats",
            "tags": ["Presence and history"],
            "summary": "How many are on a channel",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/ChannelRequest"}, "example": {"channel": "news"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/PresenceStats"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/history": {
          "post": {
            "operationId": "history",
            "tags": ["Presence and history"],
            "summary": "What a channel keeps",
            "description": "A page may hold fewer than limit: ask again with since at its last publication.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/HistoryRequest"},
                  "example": {"channel": "news", "limit": 10}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/History"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/history_remove": {
          "post": {
            "operationId": "history_remove",
            "tags": ["Presence and history"],
            "summary": "Remove what a channel keeps",
            "description": "Offsets go on, and the epoch stays.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/HistoryRemoveRequest"},
                  "example": {"channel": "news"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/channels": {
          "post": {
            "operationId": "channels",
            "tags": ["Server"],
            "summary": "Which channels have subscribers",
            "description": "Those that the key may use.",
            "requestBody": {
              "required": false,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/ChannelsRequest"}, "example": {"pattern": "chat:*"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Channels"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/info": {
          "post": {
            "operationId": "info",
            "tags": ["Server"],
            "summary": "What the gateways carry",
            "requestBody": {
              "required": false,
              "content": {"application/json": {"schema": {"$ref": "#/components/schemas/EmptyRequest"}, "example": {}}}
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Info"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/inspect_channel": {
          "post": {
            "operationId": "inspect_channel",
            "tags": ["Server"],
            "summary": "What the server knows of a channel",
            "description": "What the broker holds of it, and what each gateway has.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/ChannelRequest"}, "example": {"channel": "news"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Inspection"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/inspect_user": {
          "post": {
            "operationId": "inspect_user",
            "tags": ["Server"],
            "summary": "What the server knows of a user",
            "description": "Connections by gateway, revocations, quotas.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/InspectUserRequest"}, "example": {"user": "ada"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Inspection"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/inspect_client": {
          "post": {
            "operationId": "inspect_client",
            "tags": ["Server"],
            "summary": "What the server knows of a connection",
            "description": "Its subscriptions, and what waits for it.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/InspectClientRequest"}, "example": {"client": "f00d"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Inspection"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/explain": {
          "post": {
            "operationId": "explain",
            "tags": ["Server"],
            "summary": "Why somebody may or may not do something",
            "description": "Each gateway decides as for a client, and names the setting that decided.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/ExplainRequest"}, "example": {"user": "ada", "action": "publish", "channel": "chat:7"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Inspection"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/top": {
          "post": {
            "operationId": "top",
            "tags": ["Server"],
            "summary": "Where most goes on",
            "description": "Channels to which most bytes go, clients for whom most waits, clients with most subscriptions.",
            "requestBody": {
              "required": false,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/EmptyRequest"}, "example": {}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Top"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/map_set": {
          "post": {
            "operationId": "map_set",
            "tags": ["Maps"],
            "summary": "Write a key",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/MapSetRequest"},
                  "example": {"channel": "favorites:team", "key": "tea", "data": {"sugar": false}, "score": 1}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Position"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/map_remove": {
          "post": {
            "operationId": "map_remove",
            "tags": ["Maps"],
            "summary": "Remove a key",
            "description": "A key that is not there is answered likewise.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/MapRemoveRequest"},
                  "example": {"channel": "favorites:team", "key": "tea"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Position"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/map_get": {
          "post": {
            "operationId": "map_get",
            "tags": ["Maps"],
            "summary": "Read a key",
            "description": "One entry, or none.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/MapGetRequest"},
                  "example": {"channel": "favorites:team", "key": "tea"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Map"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/map_list": {
          "post": {
            "operationId": "map_list",
            "tags": ["Maps"],
            "summary": "Read the entries",
            "description": "In the namespace's order.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/MapListRequest"},
                  "example": {"channel": "favorites:team", "limit": 100}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Map"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/revoke_token": {
          "post": {
            "operationId": "revoke_token",
            "tags": ["Tokens"],
            "summary": "Revoke a token",
            "description": "Acknowledged when it is on disk and every gateway refuses the token.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/RevokeTokenRequest"}, "example": {"uid": "4f1c"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/invalidate_user_tokens": {
          "post": {
            "operationId": "invalidate_user_tokens",
            "tags": ["Tokens"],
            "summary": "Revoke a user's tokens",
            "description": "Acknowledged when it is on disk and every gateway refuses them.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/InvalidateUserTokensRequest"}, "example": {"user": "grace"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/webhooks_list": {
          "post": {
            "operationId": "webhooks_list",
            "tags": ["Webhooks"],
            "summary": "How each webhook is doing",
            "description": "See WEBHOOKS.md.",
            "requestBody": {
              "required": false,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/EmptyRequest"}, "example": {}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Webhooks"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/webhook_given_up": {
          "post": {
            "operationId": "webhook_given_up",
            "tags": ["Webhooks"],
            "summary": "The events that a webhook has given up",
            "description": "The oldest first; the next page begins after the last position.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/WebhookGivenUpRequest"}, "example": {"name": "orders", "limit": 100}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/WebhookGivenUp"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/webhook_resend": {
          "post": {
            "operationId": "webhook_resend",
            "tags": ["Webhooks"],
            "summary": "Send given-up events again",
            "description": "The oldest first, behind what waits already. Acknowledged when it is on disk.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/WebhookResendRequest"}, "example": {"name": "orders"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/WebhookResent"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/push_send": {
          "post": {
            "operationId": "push_send",
            "tags": ["Notifications"],
            "summary": "Send a notification to devices now",
            "description": "Answered when every service has answered, or the time for that is over. Nothing is kept: what is answered later or failed is sent again by whoever calls, and a device that is answered forget is not sent to again.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/PushSendRequest"}, "example": {"devices": [{"kind": "apns", "token": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}], "title": "Ada", "body": "Hello"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/PushSent"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/push_notify": {
          "post": {
            "operationId": "push_notify",
            "tags": ["Notifications"],
            "summary": "Have people notified, whichever devices they have",
            "description": "Answered when the notice is on disk. With a channel and an offset nobody is notified who acknowledges it in time.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/PushNotifyRequest"}, "example": {"users": ["ada"], "title": "Your order is on its way", "collapse_key": "order-7"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/call": {
          "post": {
            "operationId": "call",
            "tags": ["Apps"],
            "summary": "Call an app in a user's name",
            "description": "A method of Clique, State or notifications that clients call with rpc, done as if that user had. The answer is the method's.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CallRequest"}, "example": {"user": "ada", "method": "clique.totals"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Called"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_data": {
          "post": {
            "operationId": "user_data",
            "tags": ["Privacy"],
            "summary": "What is kept of a user",
            "description": "Counted by kind, with bytes.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserRequest"}, "example": {"user": "grace"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserData"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_export": {
          "post": {
            "operationId": "user_export",
            "tags": ["Privacy"],
            "summary": "A copy of what a user wrote",
            "description": "A page of it, with what the user's own lists show, and pictures in parts. What is sealed stays sealed.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserExportRequest"}, "example": {"user": "grace"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserExport"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_delete": {
          "post": {
            "operationId": "user_delete",
            "tags": ["Privacy"],
            "summary": "Delete everything that is kept of a user",
            "description": "Answered when the deletion is on disk and so will be carried out; user_delete_status tells when it is done.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserDeleteRequest"}, "example": {"user": "grace"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserDeletion"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_delete_status": {
          "post": {
            "operationId": "user_delete_status",
            "tags": ["Privacy"],
            "summary": "How far a deletion is",
            "description": "Remembered for thirty days after its end.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserRequest"}, "example": {"user": "grace"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserDeletion"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_pair": {
          "post": {
            "operationId": "clique_pair",
            "tags": ["Privacy"],
            "summary": "What stands between two people in Clique",
            "description": "Without a word of what they wrote.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserPairRequest"}, "example": {"user": "grace", "other": "ada"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserPair"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_groups": {
          "post": {
            "operationId": "clique_groups",
            "tags": ["Privacy"],
            "summary": "Who is in groups of Clique",
            "description": "The groups of a user, or one group, without its name and a word of what was written. Give the user or the conversation.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CliqueGroupsRequest"}, "example": {"user": "grace"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/CliqueGroups"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_unblock": {
          "post": {
            "operationId": "clique_unblock",
            "tags": ["Privacy"],
            "summary": "Lift a block of Clique",
            "description": "In place of the user who has set it, as if that user had lifted it. A block that does not stand is no error.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CliqueUnblockRequest"}, "example": {"user": "grace", "other": "ada"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_reports": {
          "post": {
            "operationId": "clique_reports",
            "tags": ["Privacy"],
            "summary": "List what people have reported of others",
            "description": "In the order in which they came. The audit notes each look.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CliqueReportsRequest"}, "example": {"state": "open"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/CliqueReports"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_report": {
          "post": {
            "operationId": "clique_report",
            "tags": ["Privacy"],
            "summary": "Show one report",
            "description": "With the messages as they were when it was made. The audit notes each look.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CliqueReportRequest"}, "example": {"report": 12}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/CliqueReport"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_report_picture": {
          "post": {
            "operationId": "clique_report_picture",
            "tags": ["Privacy"],
            "summary": "Show a part of a picture that is kept with a report",
            "description": "In parts of up to 1 MiB; the cursor of one asks for the next. The audit notes each look.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/CliqueReportPictureRequest"},
                  "example": {"report": 12, "picture": "0123456789abcdef0123456789abcdef"}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/CliqueReportPicture"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/clique_report_settle": {
          "post": {
            "operationId": "clique_report_settle",
            "tags": ["Privacy"],
            "summary": "Settle a report",
            "description": "It does nothing to anybody by itself.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CliqueReportSettleRequest"}, "example": {"report": 12, "outcome": "warned"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_suspend": {
          "post": {
            "operationId": "user_suspend",
            "tags": ["Privacy"],
            "summary": "Suspend a user",
            "description": "Connections end, and no others are let in, until expire_at or user_unsuspend. Of two for one user the later counts.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserSuspendRequest"}, "example": {"user": "bob", "reason": "threats"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_unsuspend": {
          "post": {
            "operationId": "user_unsuspend",
            "tags": ["Privacy"],
            "summary": "Lift a suspension",
            "description": "One that there is not is no error.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserUnsuspendRequest"}, "example": {"user": "bob"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Empty"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/user_suspensions": {
          "post": {
            "operationId": "user_suspensions",
            "tags": ["Privacy"],
            "summary": "List who is suspended",
            "description": "The first thousand by name.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/EmptyRequest"}, "example": {}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserSuspensions"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/state_thread": {
          "post": {
            "operationId": "state_thread",
            "tags": ["Privacy"],
            "summary": "What stands between two people in State",
            "description": "Without a picture or a word of theirs.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/UserPairRequest"}, "example": {"user": "grace", "other": "ada"}}
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/UserPair"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/why": {
          "post": {
            "operationId": "why",
            "tags": ["Presence and history"],
            "summary": "Why a publication did or did not reach a user",
            "description": "Every gateway is asked. docs/WHY.md explains the verdicts.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/WhyRequest"},
                  "example": {"user": "42", "channel": "news", "offset": 7}
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Why"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/batch": {
          "post": {
            "operationId": "batch",
            "tags": ["Batch"],
            "summary": "Several calls in one",
            "description": "Commands are done one after another, unless parallel says otherwise; publications that follow one another go together. A command that fails does not keep the next from being done.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {"$ref": "#/components/schemas/BatchRequest"},
                  "example": {
                    "commands": [
                      {"publish": {"channel": "news", "data": 1}},
                      {"history": {"channel": "news", "limit": 1, "reverse": true}}
                    ]
                  }
                }
              }
            },
            "responses": {
              "200": {"$ref": "#/components/responses/Batch"},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "405": {"$ref": "#/components/responses/NotPost"},
              "413": {"$ref": "#/components/responses/TooLarge"}
            }
          }
        },
        "/api/openapi.json": {
          "get": {
            "operationId": "openapi",
            "tags": ["Server"],
            "summary": "This document",
            "security": [],
            "responses": {
              "200": {
                "description": "The document.",
                "content": {"application/json": {"schema": {"type": "object", "required": ["openapi", "info", "paths"]}}}
              },
              "405": {"$ref": "#/components/responses/NotGet"}
            }
          }
        },
        "/health": {
          "get": {
            "operationId": "health",
            "tags": ["Server"],
            "summary": "Whether the process lives",
            "security": [],
            "responses": {
              "200": {
                "description": "It does.",
                "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
              },
              "405": {"$ref": "#/components/responses/NotGet"}
            }
          }
        },
        "/ready": {
          "get": {
            "operationId": "ready",
            "tags": ["Server"],
            "summary": "Whether the server can serve clients",
            "security": [],
            "responses": {
              "200": {
                "description": "It can.",
                "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
              },
              "503": {
                "description": "It cannot; a sentence a line says why.",
                "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
              },
              "405": {"$ref": "#/components/responses/NotGet"}
            }
          }
        },
        "/metrics": {
          "get": {
            "operationId": "metrics",
            "tags": ["Server"],
            "summary": "Metrics for Prometheus",
            "security": [],
            "responses": {
              "200": {
                "description": "The text format of Prometheus.",
                "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
              },
              "405": {"$ref": "#/components/responses/NotGet"}
            }
          }
        }
      },
      "components": {
        "securitySchemes": {
          "key": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "A key of fanfare keys create, or admin.api.key. Goes before the other header."
          },
          "authorization": {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "The same key behind a word: apikey KEY."
          }
        },
        "responses": {
          "Position": {
            "description": "The position of the publication, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [{"$ref": "#/components/schemas/PositionAnswer"}, {"$ref": "#/components/schemas/ErrorAnswer"}]
                },
                "example": {"result": {"offset": 7, "epoch": "k3x9w0ab"}}
              }
            }
          },
          "Broadcast": {
            "description": "An answer for each channel, or the refusal of the call as a whole.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/BroadcastResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {
                  "result": {
                    "responses": [
                      {"result": {"offset": 7, "epoch": "k3x9w0ab"}},
                      {"error": {"code": 102, "message": "the namespace of channel \"sport:1\" is not configured"}}
                    ]
                  }
                }
              }
            }
          },
          "Webhooks": {
            "description": "Each webhook, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/WebhooksResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"webhooks": [{"name": "orders", "waiting": 0, "waiting_bytes": 0, "given_up": 0, "sent_total": 7, "failed_total": 0, "given_up_total": 0, "lost_total": 0}]}}
              }
            }
          },
          "WebhookGivenUp": {
            "description": "Events, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/WebhookGivenUpResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"events": [], "left": 0}}
              }
            }
          },
          "PushSent": {
            "description": "What became of the notification on each device, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/PushSendResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"devices": [{"id": "5f1c7a0e9b3d42688c1f0a2b3c4d5e6f", "outcome": "taken"}]}}
              }
            }
          },
          "WebhookResent": {
            "description": "How many are sent again, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/WebhookResentResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"resent": 12, "left": 0}}
              }
            }
          },
          "Empty": {
            "description": "Nothing, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/EmptyResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {}}
              }
            }
          },
          "UserData": {
            "description": "What is kept by kind, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/UserDataResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"kept": [{"kind": "publications", "namespace": "chat", "count": 3, "bytes": 640}], "present": 0, "revocations": 0}}
              }
            }
          },
          "UserExport": {
            "description": "A page, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/UserExportResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"items": []}}
              }
            }
          },
          "UserDeletion": {
            "description": "How far the deletion is, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/UserDeletionResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"state": "waiting", "since": 1767225600000}}
              }
            }
          },
          "UserSuspensions": {
            "description": "The suspensions that are in force, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/UserSuspensionsResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"suspensions": [{"user": "bob", "reason": "threats"}]}}
              }
            }
          },
          "CliqueReports": {
            "description": "Reports, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/CliqueReportsResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"reports": [], "open": 0}}
              }
            }
          },
          "CliqueReportPicture": {
            "description": "The part, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/CliqueReportPictureResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"picture": {"id": "0123456789abcdef0123456789abcdef", "type": "image/jpeg", "bytes": 2, "user": "bob", "from": 0, "b64data": "/9g="}}}
              }
            }
          },
          "CliqueReport": {
            "description": "The report, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/CliqueReportResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"report": 12, "user": "bob", "by": "ada", "reason": "threat", "time": 1767225600000, "kept": 1, "ends": 1775001600000, "state": "open", "messages": []}}
              }
            }
          },
          "CliqueGroups": {
            "description": "The groups, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/CliqueGroupsResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"groups": []}}
              }
            }
          },
          "Called": {
            "description": "What the method answers, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/CallResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                }
              }
            }
          },
          "UserPair": {
            "description": "What stands between the two, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/UserPairResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"standing": "active", "blocked_by": []}}
              }
            }
          },
          "Presence": {
            "description": "Clients, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/PresenceResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"presence": {"9c1e": {"user": "ada", "client": "9c1e"}}}}
              }
            }
          },
          "PresenceStats": {
            "description": "Two numbers, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/PresenceStatsResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"num_clients": 2, "num_users": 1}}
              }
            }
          },
          "History": {
            "description": "Publications and the newest position, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/HistoryResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {
                  "result": {
                    "publications": [{"data": {"hello": "world"}, "offset": 7, "time": 1767225600000}],
                    "offset": 7,
                    "epoch": "k3x9w0ab"
                  }
                }
              }
            }
          },
          "Channels": {
            "description": "Channels, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/ChannelsResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {"result": {"channels": {"chat:42": {"num_clients": 2}}}}
              }
            }
          },
          "Inspection": {
            "description": "What is known, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/InspectResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                }
              }
            }
          },
          "Top": {
            "description": "Where most goes on, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/TopResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                }
              }
            }
          },
          "Why": {
            "description": "What became of the publication, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/WhyResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {
                  "result": {
                    "verdict": "not_subscribed",
                    "sentence": "No: publication 7 of news did not reach user 42: no subscription of theirs was there for it.",
                    "user": "42",
                    "channel": "news",
                    "offset": 7,
                    "epoch": "x",
                    "subscriptions": []
                  }
                }
              }
            }
          },
          "Info": {
            "description": "Gateways, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/InfoResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {
                  "result": {
                    "nodes": [
                      {
                        "uid": "5f0c",
                        "name": "a",
                        "version": "0.1.0",
                        "num_clients": 3,
                        "num_users": 2,
                        "num_subs": 5,
                        "num_channels": 4,
                        "uptime": 60
                      }
                    ],
                    "broker": {"version": "0.1.0", "uptime": 60, "num_channels": 9, "num_publications": 120}
                  }
                }
              }
            }
          },
          "Map": {
            "description": "Entries, or the refusal.",
            "content": {
              "application/json": {
                "schema": {
                  "oneOf": [
                    {
                      "type": "object",
                      "required": ["result"],
                      "properties": {"result": {"$ref": "#/components/schemas/MapResult"}}
                    },
                    {"$ref": "#/components/schemas/ErrorAnswer"}
                  ]
                },
                "example": {
                  "result": {
                    "offset": 7,
                    "epoch": "k3x9w0ab",
                    "entries": [
                      {
                        "data": {"sugar": false},
                        "offset": 7,
                        "tags": {"key": "tea"},
                        "time": 1767225600000,
                        "key": "tea",
                        "score": 1
                      }
                    ]
                  }
                }
              }
            }
          },
          "Batch": {
            "description": "A reply for each command, in their order.",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "required": ["replies"],
                  "properties": {"replies": {"type": "array", "items": {"$ref": "#/components/schemas/Reply"}}}
                },
                "example": {
                  "replies": [
                    {"publish": {"offset": 7, "epoch": "k3x9w0ab"}},
                    {
                      "error": {"code": 103, "message": "the key billing may not do that; it would need allow history"}
                    }
                  ]
                }
              }
            }
          },
          "BadRequest": {
            "description": "The body is not JSON, no object, or no batch; the answer says why.",
            "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
          },
          "Unauthorized": {
            "description": "No key came, or one that does not hold.",
            "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
          },
          "NotFound": {
            "description": "There is no such method, or no broker in this process.",
            "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
          },
          "NotPost": {
            "description": "Methods are called with POST.",
            "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
          },
          "NotGet": {
            "description": "This is read with GET or HEAD.",
            "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
          },
          "TooLarge": {
            "description": "The body is larger than admin.api.max_body_bytes. The connection closes.",
            "content": {"text/plain": {"schema": {"$ref": "#/components/schemas/Sentence"}}}
          }
        },
        "schemas": {
          "Sentence": {"description": "A sentence for a person.", "type": "string"},
          "Error": {
            "description": "Why a call, or one command of a batch, was refused. docs/API.md has the table of codes.",
            "type": "object",
            "required": ["code", "message"],
            "properties": {
              "code": {"type": "integer", "minimum": 100, "maximum": 999},
              "message": {"description": "What is wrong and what to do.", "type": "string"},
              "temporary": {"description": "The same call may succeed later.", "const": true}
            },
            "additionalProperties": false
          },
          "ErrorAnswer": {
            "description": "The call was understood, and refused.",
            "type": "object",
            "required": ["error"],
            "properties": {"error": {"$ref": "#/components/schemas/Error"}}
          },
          "ChannelName": {
            "description": "The name of a channel: 1 to 255 bytes of UTF-8 without control characters. What stands before the first colon, without a leading $, is the namespace.",
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "pattern": "^[^\\u0000-\\u001F\\u007F]*$"
          },
          "Key": {
            "description": "On map channels: the key that is written. 1 to 255 bytes of UTF-8 without control characters.",
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "pattern": "^[^\\u0000-\\u001F\\u007F]*$"
          },
          "IdempotencyKey": {
            "description": "The same key with the same data in the same channel publishes once within broker.idempotency_window, and is answered alike; with other data it is error 400. At most 255 bytes of UTF-8; empty: none.",
            "type": "string",
            "maxLength": 255
          },
          "Tags": {
            "description": "Texts that go with a publication. The server writes some names itself and refuses them here.",
            "type": "object",
            "propertyNames": {
              "not": {
                "enum": ["edits", "deletes", "edited", "deleted", "user", "key", "removed", "only", "hidden", "former"]
              }
            },
            "additionalProperties": {"type": "string"}
          },
          "Data": {
            "description": "What is published: any JSON but null, nested at most 32 levels deep. It arrives as the bytes that were sent.",
            "type": ["object", "array", "string", "number", "boolean"]
          },
          "Base64": {
            "description": "What is published, as base64 with padding (RFC 4648, section 4): any bytes in a namespace whose publication_data_format is binary, else the bytes of a JSON document. Goes before data.",
            "type": "string",
            "contentEncoding": "base64",
            "minLength": 4,
            "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
          },
          "Limit": {
            "description": "How many are wanted at most. The server gives no more than 10,000, and 16 MiB; negative: as many as that.",
            "type": "integer",
            "format": "int64",
            "minimum": -9223372036854775808,
            "maximum": 9223372036854775807
          },
          "StreamPosition": {
            "description": "A place in a channel's history.",
            "type": "object",
            "required": ["epoch", "offset"],
            "properties": {
              "epoch": {"description": "From an answer; opaque.", "type": "string"},
              "offset": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}
            }
          },
          "Target": {
            "description": "Whom: the connections of which all is so that is given. One of user, client and session has to be.",
            "type": "object",
            "properties": {
              "user": {"type": "string"},
              "client": {"description": "The id of a connection, as presence has it.", "type": "string"},
              "session": {"description": "The session of a connection, which its client alone knows.", "type": "string"},
              "whitelist": {"description": "Clients that are spared.", "type": "array", "items": {"type": "string"}}
            },
            "anyOf": [
              {"required": ["user"], "properties": {"user": {"minLength": 1}}},
              {"required": ["client"], "properties": {"client": {"minLength": 1}}},
              {"required": ["session"], "properties": {"session": {"minLength": 1}}}
            ]
          },
          "DisconnectCode": {
            "description": "The close code. Clients come back below 3500 and from 4000 to 4499. Left out: 3503.",
            "type": "integer",
            "minimum": 3000,
            "maximum": 4999
          },
          "Reason": {"description": "At most 123 bytes of UTF-8.", "type": "string", "maxLength": 123},
          "RevokedName": {"description": "1 to 1,024 bytes of UTF-8.", "type": "string", "minLength": 1, "maxLength": 1024},
          "End": {
            "description": "Seconds since 1970, in the future, after which no such token can be valid; left out: token.max_lifetime from now, or never.",
            "type": "integer",
            "format": "int64",
            "minimum": 1,
            "maximum": 9223372036854775807
          },
          "PublishRequest": {
            "description": "Publishes to one channel.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "data": {"$ref": "#/components/schemas/Data"},
              "b64data": {"$ref": "#/components/schemas/Base64"},
              "tags": {"$ref": "#/components/schemas/Tags"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "key": {"$ref": "#/components/schemas/Key"},
              "score": {
                "description": "On map channels whose score the client gives: where the entry stands.",
                "type": "integer",
                "format": "int64",
                "minimum": -9223372036854775808,
                "maximum": 9223372036854775807
              },
              "skip_history": {
                "description": "Not to be had: true is refused. Publish in a namespace with history_size 0.",
                "const": false
              }
            },
            "anyOf": [{"required": ["data"]}, {"required": ["b64data"]}]
          },
          "BroadcastRequest": {
            "description": "Publishes the same to several channels. idempotency_key counts in each by itself.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channels"],
            "properties": {
              "channels": {
                "description": "At most admin.api.max_commands.",
                "type": "array",
                "minItems": 1,
                "maxItems": 10000,
                "items": {"$ref": "#/components/schemas/ChannelName"}
              },
              "data": {"$ref": "#/components/schemas/Data"},
              "b64data": {"$ref": "#/components/schemas/Base64"},
              "tags": {"$ref": "#/components/schemas/Tags"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "key": {"$ref": "#/components/schemas/Key"},
              "score": {
                "description": "On map channels whose score the client gives: where the entry stands.",
                "type": "integer",
                "format": "int64",
                "minimum": -9223372036854775808,
                "maximum": 9223372036854775807
              },
              "skip_history": {
                "description": "Not to be had: true is refused. Publish in a namespace with history_size 0.",
                "const": false
              }
            },
            "anyOf": [{"required": ["data"]}, {"required": ["b64data"]}]
          },
          "EditRequest": {
            "description": "Replaces what a publication says.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel", "offset"],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "offset": {
                "description": "The publication's offset.",
                "type": "integer",
                "minimum": 1,
                "maximum": 18446744073709551615
              },
              "data": {"$ref": "#/components/schemas/Data"},
              "b64data": {"$ref": "#/components/schemas/Base64"}
            },
            "anyOf": [{"required": ["data"]}, {"required": ["b64data"]}]
          },
          "DeleteRequest": {
            "description": "Takes a publication back.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel", "offset"],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "offset": {
                "description": "The publication's offset.",
                "type": "integer",
                "minimum": 1,
                "maximum": 18446744073709551615
              }
            }
          },
          "ChannelRequest": {
            "description": "A channel, and nothing else.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel"],
            "properties": {"channel": {"$ref": "#/components/schemas/ChannelName"}}
          },
          "HistoryRemoveRequest": {
            "description": "A channel whose history is removed.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "HistoryRequest": {
            "description": "Asks for what a channel keeps.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "limit": {
                "allOf": [{"$ref": "#/components/schemas/Limit"}],
                "description": "As Limit; left out or 0: the position alone."
              },
              "since": {
                "allOf": [{"$ref": "#/components/schemas/StreamPosition"}],
                "description": "The last position that is known already."
              },
              "reverse": {"description": "The newest publication first.", "type": "boolean"}
            }
          },
          "ChannelsRequest": {
            "description": "Asks which channels have subscribers.",
            "type": "object",
            "maxProperties": 64,
            "properties": {
              "pattern": {
                "description": "* stands for any characters or none, ? for one. Empty or left out: every channel. At most 255 bytes of UTF-8.",
                "type": "string",
                "maxLength": 255
              }
            }
          },
          "EmptyRequest": {"description": "Nothing has to be said.", "type": "object", "maxProperties": 64},
          "InspectUserRequest": {
            "description": "A user.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {"user": {"type": "string", "minLength": 1}}
          },
          "InspectClientRequest": {
            "description": "A connection, by the id that presence and publications show.",
            "type": "object",
            "maxProperties": 64,
            "required": ["client"],
            "properties": {"client": {"type": "string", "minLength": 1}}
          },
          "ExplainRequest": {
            "description": "What somebody wants to do with a channel.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user", "action", "channel"],
            "properties": {
              "user": {"description": "Empty: an anonymous client.", "type": "string"},
              "action": {"type": "string", "enum": ["subscribe", "publish", "history", "presence"]},
              "channel": {"$ref": "#/components/schemas/ChannelName"}
            }
          },
          "InspectResult": {
            "description": "For people to read: fields may be added in any version.",
            "type": "object",
            "required": ["broker", "gateways"],
            "properties": {
              "broker": {"description": "What the broker knows.", "type": "object"},
              "gateways": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["uid", "found"],
                  "properties": {
                    "uid": {"description": "The gateway, as in info.", "type": "string"},
                    "found": {"description": "What the gateway knows.", "type": "object"}
                  }
                }
              },
              "unanswered": {"description": "Gateways that did not answer in time.", "type": "integer", "minimum": 1}
            }
          },
          "TopResult": {
            "description": "At most 50 of each, those with most first.",
            "type": "object",
            "required": ["channels", "slowest", "busiest"],
            "properties": {
              "channels": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["channel", "subscribers", "bytes_per_second"],
                  "properties": {
                    "channel": {"type": "string"},
                    "subscribers": {"type": "integer", "minimum": 0},
                    "bytes_per_second": {
                      "description": "To all subscribers together, since somebody looked last.",
                      "type": "integer",
                      "minimum": 0
                    },
                    "offset": {"description": "Of the newest publication.", "type": "integer", "minimum": 0}
                  }
                }
              },
              "slowest": {
                "description": "Those for whom most waits.",
                "type": "array",
                "items": {"$ref": "#/components/schemas/TopClient"}
              },
              "busiest": {
                "description": "Those with most subscriptions.",
                "type": "array",
                "items": {"$ref": "#/components/schemas/TopClient"}
              },
              "unanswered": {"description": "Gateways that did not answer in time.", "type": "integer", "minimum": 1}
            }
          },
          "TopClient": {
            "description": "A connection.",
            "type": "object",
            "required": ["client", "user", "address", "waiting_bytes", "subscriptions"],
            "properties": {
              "client": {"type": "string"},
              "user": {"type": "string"},
              "address": {"type": "string"},
              "waiting_bytes": {"type": "integer", "minimum": 0},
              "subscriptions": {"type": "integer", "minimum": 0}
            }
          },
          "SubscribeRequest": {
            "description": "Subscribes connections to a channel. info and data together have at most 16 KiB.",
            "type": "object",
            "maxProperties": 64,
            "allOf": [{"$ref": "#/components/schemas/Target"}],
            "required": ["channel"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "info": {"description": "Any JSON: the subscriber's chan_info."},
              "data": {"description": "Any JSON: shown to the client with the subscription."},
              "b64info": {"description": "info in base64, in its place.", "type": "string"},
              "b64data": {"description": "data in base64, in its place.", "type": "string"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "recover_since": {
                "allOf": [{"$ref": "#/components/schemas/StreamPosition"}],
                "description": "The clients get what was published since, where the channel keeps it."
              }
            }
          },
          "UnsubscribeRequest": {
            "description": "Ends subscriptions to a channel.",
            "type": "object",
            "maxProperties": 64,
            "allOf": [{"$ref": "#/components/schemas/Target"}],
            "required": ["channel"],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "code": {
                "description": "Clients subscribe again from 2500 on. Left out: 2000.",
                "type": "integer",
                "minimum": 2000,
                "maximum": 2999
              },
              "reason": {"$ref": "#/components/schemas/Reason"}
            }
          },
          "DisconnectRequest": {
            "description": "Ends connections.",
            "type": "object",
            "maxProperties": 64,
            "allOf": [{"$ref": "#/components/schemas/Target"}],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "disconnect": {
                "description": "The code and the reason, as Centrifugo has them. Goes before those outside of it.",
                "type": "object",
                "maxProperties": 64,
                "properties": {
                  "code": {"$ref": "#/components/schemas/DisconnectCode"},
                  "reason": {"$ref": "#/components/schemas/Reason"}
                }
              },
              "code": {"$ref": "#/components/schemas/DisconnectCode"},
              "reason": {"$ref": "#/components/schemas/Reason"}
            }
          },
          "RefreshRequest": {
            "description": "Sets when connections expire.",
            "type": "object",
            "maxProperties": 64,
            "allOf": [{"$ref": "#/components/schemas/Target"}],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "expired": {"description": "They expire now. Goes before expire_at.", "type": "boolean"},
              "expire_at": {
                "description": "Seconds since 1970; what is past is now. 0 or left out: never.",
                "type": "integer",
                "format": "int64",
                "minimum": -9223372036854775808,
                "maximum": 9223372036854775807
              }
            }
          },
          "MapSetRequest": {
            "description": "Writes one key of a map channel.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel", "key"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "key": {"$ref": "#/components/schemas/Key"},
              "score": {
                "description": "On map channels whose score the client gives: where the entry stands.",
                "type": "integer",
                "format": "int64",
                "minimum": -9223372036854775808,
                "maximum": 9223372036854775807
              },
              "data": {"$ref": "#/components/schemas/Data"},
              "b64data": {"$ref": "#/components/schemas/Base64"},
              "tags": {"$ref": "#/components/schemas/Tags"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            },
            "anyOf": [{"required": ["data"]}, {"required": ["b64data"]}]
          },
          "MapRemoveRequest": {
            "description": "Removes one key of a map channel.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel", "key"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "key": {"$ref": "#/components/schemas/Key"},
              "tags": {"$ref": "#/components/schemas/Tags"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "MapGetRequest": {
            "description": "Asks for one key of a map channel.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel", "key"],
            "properties": {"channel": {"$ref": "#/components/schemas/ChannelName"}, "key": {"type": "string"}}
          },
          "MapListRequest": {
            "description": "Asks for the entries of a map channel, page by page.",
            "type": "object",
            "maxProperties": 64,
            "required": ["channel"],
            "properties": {
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "limit": {
                "allOf": [{"$ref": "#/components/schemas/Limit"}],
                "description": "As Limit; left out or 0: as many as are allowed."
              },
              "cursor": {"description": "From the page before; empty or left out: the first page.", "type": "string"}
            }
          },
          "RevokeTokenRequest": {
            "description": "Revokes one token.",
            "type": "object",
            "maxProperties": 64,
            "required": ["uid"],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "uid": {
                "allOf": [{"$ref": "#/components/schemas/RevokedName"}],
                "description": "The token's jti: 1 to 1,024 bytes of UTF-8."
              },
              "expire_at": {"$ref": "#/components/schemas/End"}
            }
          },
          "WebhookGivenUpRequest": {
            "description": "Asks for a page of the events that a webhook has given up.",
            "type": "object",
            "maxProperties": 64,
            "required": ["name"],
            "properties": {
              "name": {"description": "The webhook, as the settings name it.", "type": "string", "minLength": 1},
              "position": {
                "description": "The position after which the page begins; left out: from the oldest.",
                "type": "integer",
                "minimum": 0, "maximum": 18446744073709551615
              },
              "limit": {"$ref": "#/components/schemas/Limit"}
            }
          },
          "WebhookResendRequest": {
            "description": "Puts the oldest given-up events of a webhook back among those that wait: at most 1,000 of them.",
            "type": "object",
            "maxProperties": 64,
            "required": ["name"],
            "properties": {
              "name": {"description": "The webhook, as the settings name it.", "type": "string", "minLength": 1},
              "limit": {"$ref": "#/components/schemas/Limit"}
            }
          },
          "PushDevice": {
            "description": "A device: what a browser's subscription says of itself with kind web, a device token of APNs with kind apns, or a registration token of FCM with kind fcm.",
            "type": "object",
            "required": ["kind"],
            "properties": {
              "kind": {"type": "string", "enum": ["web", "apns", "fcm"]},
              "endpoint": {"description": "Of a browser: the address of its push service.", "type": "string"},
              "keys": {
                "description": "Of a browser, in base64url.",
                "type": "object",
                "required": ["p256dh", "auth"],
                "properties": {"p256dh": {"type": "string"}, "auth": {"type": "string"}}
              },
              "token": {"description": "Of apns and fcm.", "type": "string"},
              "topic": {"description": "Of apns: the app's bundle identifier; left out, the first that is configured.", "type": "string"},
              "environment": {"description": "Of apns.", "type": "string", "enum": ["production", "sandbox"]}
            }
          },
          "PushNotifyRequest": {
            "description": "What people are to be notified of.",
            "type": "object",
            "maxProperties": 64,
            "required": ["users", "title"],
            "properties": {
              "users": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string", "minLength": 1}},
              "title": {"description": "At most 1,024 bytes.", "type": "string", "minLength": 1},
              "body": {"description": "At most 4,096 bytes.", "type": "string"},
              "data": {"description": "For the app: at most 1,536 bytes as JSON.", "type": "object", "maxProperties": 64, "additionalProperties": {"type": "string"}},
              "link": {"description": "An https:// address that a browser opens.", "type": "string"},
              "channel": {"description": "What it is about; later notices about it replace it. With an offset devices acknowledge it with push.delivered.", "type": "string"},
              "offset": {"description": "Of the publication on the channel; left out, it goes out at once.", "type": "integer", "minimum": 0},
              "collapse_key": {"description": "What it is about, where that is no channel.", "type": "string"},
              "topic": {"description": "By which people choose what they want to hear; general where it is left out.", "type": "string"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "PushSendRequest": {
            "description": "One notification for up to 100 devices, of 524,288 bytes at most in all.",
            "type": "object",
            "maxProperties": 64,
            "required": ["devices"],
            "properties": {
              "devices": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"$ref": "#/components/schemas/PushDevice"}},
              "title": {"description": "Needed unless withdraw is true. Shortened where a service has no room for it, as the body is first.", "type": "string"},
              "body": {"type": "string"},
              "data": {"description": "For the app: at most 1,536 bytes as JSON.", "type": "object", "additionalProperties": {"type": "string"}},
              "badge": {"description": "The number on the app's icon; left out, it stays.", "type": "integer", "minimum": 0, "maximum": 1000000},
              "urgency": {"type": "string", "enum": ["very-low", "low", "normal", "high"], "default": "high"},
              "ttl": {"description": "Seconds for which services keep it for a device that is away; more than four weeks is cut.", "type": "integer", "minimum": 0, "default": 86400},
              "collapse_key": {"description": "Of notifications with the same key a device shows the newest only.", "type": "string"},
              "withdraw": {"description": "Takes back what was shown under the collapse_key.", "type": "boolean"},
              "silent": {"description": "Without a sound.", "type": "boolean"},
              "link": {"description": "The https address that a browser opens; left out, push.web.page.", "type": "string", "maxLength": 512},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "PushSendResult": {
            "description": "What became of the notification, in the order of the devices.",
            "type": "object",
            "required": ["devices"],
            "properties": {
              "devices": {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": {
                  "type": "object",
                  "required": ["id", "outcome"],
                  "properties": {
                    "id": {"description": "A digest by which logs name the device.", "type": "string", "minLength": 32, "maxLength": 32},
                    "outcome": {"type": "string", "enum": ["taken", "forget", "later", "too_large", "refused", "failed"]},
                    "reason": {"description": "Why, unless it was taken.", "type": "string"},
                    "after": {"description": "Seconds before which it is not sent again; only with later.", "type": "integer", "minimum": 1, "maximum": 86400},
                    "since": {"description": "Since when the device is gone, in milliseconds since 1970; only with forget.", "type": "integer"}
                  }
                }
              }
            }
          },
          "WebhookStatus": {
            "description": "How a webhook is doing. Times are in milliseconds since 1970; totals count since the broker began.",
            "type": "object",
            "required": ["name", "waiting", "waiting_bytes", "given_up", "sent_total", "failed_total", "given_up_total", "lost_total"],
            "properties": {
              "name": {"type": "string"},
              "waiting": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "waiting_bytes": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "oldest": {"type": "integer", "format": "int64"},
              "failing_since": {"type": "integer", "format": "int64"},
              "last_error": {"type": "string"},
              "given_up": {"description": "Given-up events that are kept.", "type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "sent_total": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "failed_total": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "given_up_total": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "lost_total": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}
            }
          },
          "WebhooksResult": {
            "description": "All webhooks, in the order of the settings.",
            "type": "object",
            "required": ["webhooks"],
            "properties": {"webhooks": {"type": "array", "items": {"$ref": "#/components/schemas/WebhookStatus"}}}
          },
          "WebhookGivenUpResult": {
            "description": "Given-up events, the oldest first, and how many follow.",
            "type": "object",
            "required": ["events", "left"],
            "properties": {
              "events": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["position", "given_up_at", "reason"],
                  "properties": {
                    "position": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
                    "given_up_at": {"description": "Milliseconds since 1970.", "type": "integer", "format": "int64"},
                    "reason": {"type": "string"},
                    "event": {"description": "The event as the receiver was sent it.", "type": "object"}
                  }
                }
              },
              "left": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}
            }
          },
          "WebhookResentResult": {
            "description": "How many events are sent again, and how many are left.",
            "type": "object",
            "required": ["resent", "left"],
            "properties": {"resent": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}, "left": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}}
          },
          "UserRequest": {
            "description": "Names one user.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {"user": {"$ref": "#/components/schemas/RevokedName"}}
          },
          "UserExportRequest": {
            "description": "Asks for a page of a user's export.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "cursor": {"description": "Of the page before; left out: the first page.", "type": "string"}
            }
          },
          "UserDeleteRequest": {
            "description": "Has everything deleted that is kept of a user.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "channels": {
                "description": "Channels that are the user's alone, deleted as a whole; none of Clique or State.",
                "type": "array",
                "maxItems": 64,
                "items": {"type": "string"}
              },
              "ban": {"description": "Keep the user's tokens revoked, which keeps the id.", "type": "boolean"},
              "expire_at": {"description": "The end of the ban, in seconds since 1970.", "type": "integer"}
            }
          },
          "UserPairRequest": {
            "description": "Names two people.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user", "other"],
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "other": {"$ref": "#/components/schemas/RevokedName"}
            }
          },
          "CliqueGroupsRequest": {
            "description": "Names a user, or a group by the id of its conversation, which goes before the user.",
            "type": "object",
            "maxProperties": 64,
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "conversation": {"type": "string"}
            }
          },
          "CallRequest": {
            "description": "Names who calls, and what.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user", "method"],
            "properties": {
              "user": {"description": "In whose name; believed, and need not be connected.", "type": "string", "minLength": 1},
              "method": {"description": "Of an app: clique.profile.set, for example.", "type": "string", "minLength": 1},
              "data": {"description": "What the method takes: a JSON object."},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "CallResult": {
            "description": "Fields are the method's own.",
            "type": "object"
          },
          "CliqueUnblockRequest": {
            "description": "Names who has set the block, and whom it is about.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user", "other"],
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "other": {"$ref": "#/components/schemas/RevokedName"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "UserSuspendRequest": {
            "description": "Names who is suspended, until when and why.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "expire_at": {
                "description": "Seconds since 1970, in the future; left out: until it is lifted.",
                "type": "integer",
                "format": "int64",
                "minimum": 1
              },
              "reason": {"description": "At most 1,000 bytes of UTF-8, for operators.", "type": "string", "maxLength": 1000},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "UserUnsuspendRequest": {
            "description": "Names whose suspension is lifted.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "UserSuspensionsResult": {
            "description": "Who is suspended.",
            "type": "object",
            "required": ["suspensions"],
            "properties": {
              "suspensions": {
                "type": "array",
                "maxItems": 1000,
                "items": {
                  "type": "object",
                  "required": ["user"],
                  "properties": {
                    "user": {"type": "string"},
                    "reason": {"type": "string"},
                    "expire_at": {"type": "integer", "format": "int64"}
                  }
                }
              },
              "more": {"description": "How many more there are.", "type": "integer", "minimum": 1}
            }
          },
          "CliqueReportsRequest": {
            "description": "Names which reports are wanted.",
            "type": "object",
            "maxProperties": 64,
            "properties": {
              "state": {"type": "string", "enum": ["open", "settled", "all"], "default": "open"},
              "user": {"type": "string", "maxLength": 180},
              "limit": {"type": "integer", "minimum": 1, "default": 20},
              "cursor": {"type": "string"}
            }
          },
          "CliqueReportRequest": {
            "description": "Names one report.",
            "type": "object",
            "maxProperties": 64,
            "required": ["report"],
            "properties": {"report": {"type": "integer", "minimum": 1}}
          },
          "CliqueReportPictureRequest": {
            "description": "Names a picture that is kept with a report.",
            "type": "object",
            "maxProperties": 64,
            "required": ["report", "picture"],
            "properties": {
              "report": {"type": "integer", "minimum": 1},
              "picture": {"description": "An id of the pictures that clique_report shows.", "type": "string", "minLength": 1, "maxLength": 64},
              "cursor": {"description": "Of the part before.", "type": "string"}
            }
          },
          "CliqueReportSettleRequest": {
            "description": "Says what was found about one report.",
            "type": "object",
            "maxProperties": 64,
            "required": ["report", "outcome"],
            "properties": {
              "report": {"type": "integer", "minimum": 1},
              "outcome": {"type": "string", "enum": ["dismissed", "warned", "suspended", "other"]},
              "note": {"type": "string", "maxLength": 1000},
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"}
            }
          },
          "CliqueReportResult": {
            "description": "A report of a person, or of a message of theirs. A list leaves the text and the messages out.",
            "type": "object",
            "required": ["report", "user", "reason", "time", "kept", "ends", "state"],
            "properties": {
              "report": {"type": "integer", "minimum": 1},
              "user": {"description": "Who is reported.", "type": "string"},
              "by": {"description": "Who has reported it; left out where that user's data was deleted.", "type": "string"},
              "conversation": {"type": "string"},
              "offset": {"type": "integer", "minimum": 1},
              "reason": {
                "type": "string",
                "enum": ["spam", "harassment", "threat", "nudity", "minor", "impersonation", "other"]
              },
              "time": {"type": "integer", "format": "int64"},
              "kept": {"type": "integer", "minimum": 0},
              "ends": {"type": "integer", "format": "int64"},
              "state": {"type": "string", "enum": ["open", "settled"]},
              "outcome": {"type": "string", "enum": ["dismissed", "warned", "suspended", "other"]},
              "settled": {"type": "integer", "format": "int64"},
              "note": {"type": "string"},
              "text": {"type": "string"},
              "messages": {
                "type": "array",
                "maxItems": 10,
                "items": {
                  "type": "object",
                  "required": ["time", "text"],
                  "properties": {
                    "offset": {"type": "integer", "minimum": 1},
                    "time": {"type": "integer", "format": "int64"},
                    "text": {"type": "string"},
                    "picture": {"description": "The message had a picture.", "const": true}
                  }
                }
              },
              "profile": {
                "description": "Of the user who is reported, as the one who reports saw it then; left out: nothing of it.",
                "type": "object",
                "properties": {
                  "name": {"type": "string"},
                  "fields": {"type": "object", "additionalProperties": {"type": "string"}},
                  "picture": {
                    "type": "object",
                    "required": ["id"],
                    "properties": {"id": {"type": "string"}, "small": {"type": "string"}}
                  }
                }
              },
              "pictures": {
                "description": "Those of the messages and of the profile that are kept with the report.",
                "type": "array",
                "maxItems": 11,
                "items": {
                  "type": "object",
                  "required": ["id", "type", "bytes"],
                  "properties": {
                    "id": {"type": "string"},
                    "type": {"description": "A media type.", "type": "string"},
                    "bytes": {"type": "integer", "minimum": 1},
                    "offset": {"description": "Of the message; left out: it was in the profile.", "type": "integer", "minimum": 1}
                  }
                }
              }
            }
          },
          "CliqueReportPictureResult": {
            "description": "A part of a picture that is kept with a report.",
            "type": "object",
            "required": ["picture"],
            "properties": {
              "picture": {"$ref": "#/components/schemas/PicturePart"},
              "cursor": {"description": "Asks for the next part; missing on the last.", "type": "string"}
            }
          },
          "CliqueReportsResult": {
            "description": "Reports in the order in which they came.",
            "type": "object",
            "required": ["reports", "open"],
            "properties": {
              "reports": {"type": "array", "maxItems": 50, "items": {"$ref": "#/components/schemas/CliqueReportResult"}},
              "open": {"description": "How many reports wait.", "type": "integer", "minimum": 0},
              "cursor": {"type": "string"}
            }
          },
          "CliqueGroupsResult": {
            "description": "Groups of Clique, without contents.",
            "type": "object",
            "required": ["groups"],
            "properties": {
              "groups": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["conversation", "created", "members", "absent", "admins", "links", "blocks"],
                  "properties": {
                    "conversation": {"type": "string"},
                    "founder": {"description": "Missing where that user's data was deleted.", "type": "string"},
                    "created": {"description": "Milliseconds since 1970.", "type": "integer"},
                    "members": {"type": "array", "items": {"type": "string"}},
                    "absent": {
                      "description": "Whom somebody wanted to have in the group whom they block; they know nothing of it.",
                      "type": "array",
                      "items": {"type": "string"}
                    },
                    "admins": {
                      "description": "Those of `members` and `absent` who are administrators.",
                      "type": "array",
                      "items": {"type": "string"}
                    },
                    "links": {"description": "How many links let somebody in.", "type": "integer"},
                    "blocks": {
                      "type": "array",
                      "items": {
                        "type": "object",
                        "required": ["by", "of"],
                        "properties": {"by": {"type": "string"}, "of": {"type": "string"}}
                      }
                    }
                  }
                }
              }
            }
          },
          "UserDataResult": {
            "description": "What is kept of a user.",
            "type": "object",
            "required": ["kept", "present", "revocations"],
            "properties": {
              "kept": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["kind", "count", "bytes"],
                  "properties": {
                    "kind": {
                      "description": "channels, publications, entries (of maps), webhook_events (that wait or were given up), or a kind of an app's records, which begins with the app's name.",
                      "type": "string"
                    },
                    "namespace": {"type": "string"},
                    "count": {"type": "integer", "minimum": 0},
                    "bytes": {"description": "In memory, roughly.", "type": "integer", "minimum": 0}
                  }
                }
              },
              "present": {"description": "Channels on which the user is present.", "type": "integer", "minimum": 0},
              "revocations": {"description": "Revocations that name the user.", "type": "integer", "minimum": 0}
            }
          },
          "UserExportResult": {
            "description": "A page of an export.",
            "type": "object",
            "required": ["items"],
            "properties": {
              "items": {
                "description": "Publications and entries of maps, each with its channel; and at most one part of a picture.",
                "type": "array",
                "items": {
                  "type": "object",
                  "properties": {
                    "channel": {"type": "string"},
                    "picture": {"$ref": "#/components/schemas/PicturePart"}
                  }
                }
              },
              "cursor": {"description": "Asks for the next page; missing on the last.", "type": "string"}
            }
          },
          "PicturePart": {
            "description": "A part of a picture.",
            "type": "object",
            "required": ["id", "type", "bytes", "user"],
            "properties": {
              "id": {"type": "string"},
              "type": {"description": "A media type.", "type": "string"},
              "bytes": {"description": "Of the whole picture.", "type": "integer", "minimum": 1},
              "user": {"description": "Who made it.", "type": "string"},
              "with": {"description": "In exports, the other of the two; missing: it was not sent.", "type": "string"},
              "from": {"description": "Where the part begins in the picture.", "type": "integer", "minimum": 0},
              "b64data": {"description": "The part, in base64: up to 1 MiB.", "type": "string"},
              "lost": {"description": "In place of a part: why nobody can read the picture.", "type": "string"}
            }
          },
          "UserDeletionResult": {
            "description": "How far a deletion is.",
            "type": "object",
            "required": ["state"],
            "properties": {
              "state": {"type": "string", "enum": ["none", "waiting", "deleting", "done"]},
              "since": {"description": "When it was asked for, in milliseconds since 1970.", "type": "integer"},
              "done": {"description": "When it was done, in milliseconds since 1970.", "type": "integer"}
            }
          },
          "UserPairResult": {
            "description": "What stands between two people, without contents.",
            "type": "object",
            "required": ["blocked_by"],
            "properties": {
              "blocked_by": {"type": "array", "items": {"type": "string"}},
              "hidden_from": {
                "description": "Of State: who is not shown what was sent to them, because of a block or of a limit.",
                "type": "array", "items": {"type": "string"}
              }
            }
          },
          "WhyRequest": {
            "description": "A publication and a user.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user", "channel", "offset"],
            "properties": {
              "user": {"type": "string", "minLength": 1},
              "channel": {"$ref": "#/components/schemas/ChannelName"},
              "offset": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 9223372036854775807},
              "epoch": {"description": "Left out: the channel's present epoch.", "type": "string"}
            }
          },
          "InvalidateUserTokensRequest": {
            "description": "Revokes a user's tokens by when they were issued.",
            "type": "object",
            "maxProperties": 64,
            "required": ["user"],
            "properties": {
              "idempotency_key": {"$ref": "#/components/schemas/IdempotencyKey"},
              "user": {"$ref": "#/components/schemas/RevokedName"},
              "issued_before": {
                "description": "Seconds since 1970; left out: all that were issued until now.",
                "type": "integer",
                "format": "int64",
                "minimum": -9223372036854775808,
                "maximum": 9223372036854775807
              },
              "channel": {
                "allOf": [{"$ref": "#/components/schemas/RevokedName"}],
                "description": "Only subscription tokens for this channel: 1 to 1,024 bytes of UTF-8."
              },
              "expire_at": {"$ref": "#/components/schemas/End"}
            }
          },
          "Position": {
            "description": "The channel's position after the call, or that of a publication that was there already.",
            "type": "object",
            "required": ["offset", "epoch"],
            "properties": {
              "offset": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "epoch": {"type": "string"}
            }
          },
          "EmptyResult": {"description": "It is done, and there is nothing to tell.", "type": "object", "maxProperties": 0},
          "ClientInfo": {
            "description": "Who is behind a connection.",
            "type": "object",
            "required": ["user", "client"],
            "properties": {
              "user": {"type": "string"},
              "client": {"type": "string"},
              "conn_info": {"description": "Any JSON: the info of the connection token."},
              "chan_info": {"description": "Any JSON: the info of the subscription."}
            }
          },
          "Publication": {
            "description": "A publication, or an entry of a map. In a namespace whose publication_data_format is binary, data is a string of base64.",
            "type": "object",
            "required": ["data", "time"],
            "properties": {
              "data": {"description": "Any JSON: as it was published; null where it was deleted."},
              "info": {
                "allOf": [{"$ref": "#/components/schemas/ClientInfo"}],
                "description": "The client that published it; left out for backends."
              },
              "offset": {
                "description": "Left out where the channel has none.",
                "type": "integer",
                "minimum": 1,
                "maximum": 18446744073709551615
              },
              "tags": {"type": "object", "additionalProperties": {"type": "string"}},
              "time": {"description": "Milliseconds since 1970.", "type": "integer", "minimum": 1},
              "key": {"description": "On map channels.", "type": "string"},
              "removed": {"description": "The key was removed.", "const": true},
              "score": {"description": "On map channels; left out where it is 0.", "type": "integer"}
            }
          },
          "BroadcastResult": {
            "description": "An answer for each channel, in the order of the channels.",
            "type": "object",
            "required": ["responses"],
            "properties": {
              "responses": {
                "type": "array",
                "items": {
                  "oneOf": [{"$ref": "#/components/schemas/PositionAnswer"}, {"$ref": "#/components/schemas/ErrorAnswer"}]
                }
              }
            }
          },
          "HistoryResult": {
            "description": "A part of what the channel keeps. offset and epoch are the channel's newest position, not that of the last publication here.",
            "type": "object",
            "required": ["publications", "offset", "epoch"],
            "properties": {
              "publications": {"type": "array", "items": {"$ref": "#/components/schemas/Publication"}},
              "offset": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "epoch": {"type": "string"}
            }
          },
          "PresenceResult": {
            "description": "Who is on the channel, by client.",
            "type": "object",
            "required": ["presence"],
            "properties": {
              "presence": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/ClientInfo"}},
              "partial": {"description": "There are more than the 10,000 that are named.", "const": true}
            }
          },
          "PresenceStatsResult": {
            "description": "How many are on the channel.",
            "type": "object",
            "required": ["num_clients", "num_users"],
            "properties": {"num_clients": {"type": "integer", "minimum": 0}, "num_users": {"type": "integer", "minimum": 0}}
          },
          "ChannelsResult": {
            "description": "Channels with subscribers, by name.",
            "type": "object",
            "required": ["channels"],
            "properties": {
              "channels": {
                "type": "object",
                "additionalProperties": {
                  "type": "object",
                  "required": ["num_clients"],
                  "properties": {"num_clients": {"type": "integer", "minimum": 0}}
                }
              },
              "partial": {"description": "There are more, or some gateways did not answer in time.", "const": true}
            }
          },
          "InfoResult": {
            "description": "What each gateway carries.",
            "type": "object",
            "required": ["nodes", "broker"],
            "properties": {
              "nodes": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
              "broker": {
                "type": "object",
                "required": ["version", "uptime", "num_channels", "num_publications"],
                "properties": {
                  "version": {"type": "string"},
                  "uptime": {"type": "integer", "minimum": 0, "description": "Seconds."},
                  "num_channels": {"type": "integer", "minimum": 0, "description": "Channels in memory."},
                  "num_publications": {"type": "integer", "minimum": 0, "description": "Published since it began."}
                }
              },
              "partial": {"description": "Some gateways did not answer in time.", "const": true},
              "unanswered": {"description": "How many they are.", "type": "integer", "minimum": 1}
            }
          },
          "Node": {
            "description": "A gateway.",
            "type": "object",
            "required": ["uid", "name", "version", "num_clients", "num_users", "num_subs", "num_channels", "uptime"],
            "properties": {
              "uid": {"type": "string"},
              "name": {"type": "string"},
              "version": {"type": "string"},
              "num_clients": {"type": "integer", "minimum": 0, "description": "Connections."},
              "num_users": {"type": "integer", "minimum": 0, "description": "Different users."},
              "num_subs": {"type": "integer", "minimum": 0, "description": "Subscriptions."},
              "num_channels": {"type": "integer", "minimum": 0, "description": "Channels with a subscriber."},
              "uptime": {"type": "integer", "minimum": 0, "description": "Seconds."}
            }
          },
          "MapResult": {
            "description": "Entries of a map.",
            "type": "object",
            "required": ["offset", "epoch", "entries"],
            "properties": {
              "offset": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
              "epoch": {"type": "string"},
              "entries": {"type": "array", "items": {"$ref": "#/components/schemas/Publication"}},
              "cursor": {
                "description": "Where the next page begins; left out: there is none.",
                "type": "string",
                "minLength": 1
              }
            }
          },
          "WhyResult": {
            "description": "What became of a publication on its way to a user.",
            "type": "object",
            "required": ["verdict", "sentence", "user", "channel", "offset", "epoch", "subscriptions"],
            "properties": {
              "verdict": {
                "type": "string",
                "enum": [
                  "delivered", "perhaps", "under_way", "not_read", "filtered", "gap", "away", "not_subscribed", "refused",
                  "unknown", "no_such_publication"
                ]
              },
              "sentence": {"type": "string"},
              "user": {"type": "string"},
              "channel": {"type": "string"},
              "offset": {"type": "integer"},
              "epoch": {"type": "string"},
              "published": {"description": "Where it is still kept: when, in UTC.", "type": "string"},
              "sealed": {
                "description": "What it tells of is shown to nobody yet, or never.", "type": "string",
                "enum": ["until_answered", "for_ever"]
              },
              "subscriptions": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["client", "finding", "sentence", "began"],
                  "properties": {
                    "client": {"type": "string"},
                    "finding": {"type": "string"},
                    "sentence": {"type": "string"},
                    "began": {"type": "string"},
                    "from": {"description": "What came after it came live.", "type": "integer"},
                    "asked_since": {"description": "From where the client asked to go on.", "type": "integer"},
                    "filter": {"description": "What the client asked to see, in words.", "type": "string"},
                    "audience": {"description": "What the app lets the user see, in words.", "type": "string"},
                    "written": {"description": "Everything up to it was written to the socket.", "type": "integer"},
                    "ended": {"type": "string"},
                    "cause": {"type": "string"},
                    "code": {"type": "integer"}
                  }
                }
              },
              "notes": {"description": "What limits the answer.", "type": "array", "items": {"type": "string"}}
            }
          },
          "PositionAnswer": {
            "description": "The call was done.",
            "type": "object",
            "required": ["result"],
            "properties": {"result": {"$ref": "#/components/schemas/Position"}}
          },
          "Command": {
            "description": "One call: an object with one member, which is named like the method and holds its parameters.",
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false,
            "properties": {
              "publish": {"$ref": "#/components/schemas/PublishRequest"},
              "broadcast": {"$ref": "#/components/schemas/BroadcastRequest"},
              "edit": {"$ref": "#/components/schemas/EditRequest"},
              "delete": {"$ref": "#/components/schemas/DeleteRequest"},
              "subscribe": {"$ref": "#/components/schemas/SubscribeRequest"},
              "unsubscribe": {"$ref": "#/components/schemas/UnsubscribeRequest"},
              "disconnect": {"$ref": "#/components/schemas/DisconnectRequest"},
              "refresh": {"$ref": "#/components/schemas/RefreshRequest"},
              "presence": {"$ref": "#/components/schemas/ChannelRequest"},
              "presence_stats": {"$ref": "#/components/schemas/ChannelRequest"},
              "history": {"$ref": "#/components/schemas/HistoryRequest"},
              "history_remove": {"$ref": "#/components/schemas/HistoryRemoveRequest"},
              "channels": {"$ref": "#/components/schemas/ChannelsRequest"},
              "info": {"$ref": "#/components/schemas/EmptyRequest"},
              "map_set": {"$ref": "#/components/schemas/MapSetRequest"},
              "map_remove": {"$ref": "#/components/schemas/MapRemoveRequest"},
              "map_get": {"$ref": "#/components/schemas/MapGetRequest"},
              "map_list": {"$ref": "#/components/schemas/MapListRequest"},
              "revoke_token": {"$ref": "#/components/schemas/RevokeTokenRequest"},
              "invalidate_user_tokens": {"$ref": "#/components/schemas/InvalidateUserTokensRequest"},
              "inspect_channel": {"$ref": "#/components/schemas/ChannelRequest"},
              "inspect_user": {"$ref": "#/components/schemas/InspectUserRequest"},
              "inspect_client": {"$ref": "#/components/schemas/InspectClientRequest"},
              "explain": {"$ref": "#/components/schemas/ExplainRequest"},
              "top": {"$ref": "#/components/schemas/EmptyRequest"},
              "webhooks_list": {"$ref": "#/components/schemas/EmptyRequest"},
              "webhook_given_up": {"$ref": "#/components/schemas/WebhookGivenUpRequest"},
              "webhook_resend": {"$ref": "#/components/schemas/WebhookResendRequest"},
              "call": {"$ref": "#/components/schemas/CallRequest"},
              "user_data": {"$ref": "#/components/schemas/UserRequest"},
              "user_export": {"$ref": "#/components/schemas/UserExportRequest"},
              "user_delete": {"$ref": "#/components/schemas/UserDeleteRequest"},
              "user_delete_status": {"$ref": "#/components/schemas/UserRequest"},
              "clique_pair": {"$ref": "#/components/schemas/UserPairRequest"},
              "clique_groups": {"$ref": "#/components/schemas/CliqueGroupsRequest"},
              "clique_unblock": {"$ref": "#/components/schemas/CliqueUnblockRequest"},
              "user_suspend": {"$ref": "#/components/schemas/UserSuspendRequest"},
              "user_unsuspend": {"$ref": "#/components/schemas/UserUnsuspendRequest"},
              "user_suspensions": {"$ref": "#/components/schemas/EmptyRequest"},
              "clique_reports": {"$ref": "#/components/schemas/CliqueReportsRequest"},
              "clique_report": {"$ref": "#/components/schemas/CliqueReportRequest"},
              "clique_report_picture": {"$ref": "#/components/schemas/CliqueReportPictureRequest"},
              "clique_report_settle": {"$ref": "#/components/schemas/CliqueReportSettleRequest"},
              "state_thread": {"$ref": "#/components/schemas/UserPairRequest"},
              "push_send": {"$ref": "#/components/schemas/PushSendRequest"},
              "push_notify": {"$ref": "#/components/schemas/PushNotifyRequest"},
              "why": {"$ref": "#/components/schemas/WhyRequest"}
            }
          },
          "BatchRequest": {
            "description": "Several calls in one.",
            "type": "object",
            "maxProperties": 64,
            "required": ["commands"],
            "properties": {
              "commands": {
                "description": "At most admin.api.max_commands, the channels of broadcasts counted one by one.",
                "type": "array",
                "maxItems": 10000,
                "items": {"$ref": "#/components/schemas/Command"}
              },
              "parallel": {"description": "Do not wait for one command before the next begins.", "type": "boolean"}
            }
          },
          "Reply": {
            "description": "What came of one command: an object with one member, error or the method with its result.",
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false,
            "properties": {
              "publish": {"$ref": "#/components/schemas/Position"},
              "broadcast": {"$ref": "#/components/schemas/BroadcastResult"},
              "edit": {"$ref": "#/components/schemas/Position"},
              "delete": {"$ref": "#/components/schemas/Position"},
              "subscribe": {"$ref": "#/components/schemas/EmptyResult"},
              "unsubscribe": {"$ref": "#/components/schemas/EmptyResult"},
              "disconnect": {"$ref": "#/components/schemas/EmptyResult"},
              "refresh": {"$ref": "#/components/schemas/EmptyResult"},
              "presence": {"$ref": "#/components/schemas/PresenceResult"},
              "presence_stats": {"$ref": "#/components/schemas/PresenceStatsResult"},
              "history": {"$ref": "#/components/schemas/HistoryResult"},
              "history_remove": {"$ref": "#/components/schemas/EmptyResult"},
              "channels": {"$ref": "#/components/schemas/ChannelsResult"},
              "info": {"$ref": "#/components/schemas/InfoResult"},
              "map_set": {"$ref": "#/components/schemas/Position"},
              "map_remove": {"$ref": "#/components/schemas/Position"},
              "map_get": {"$ref": "#/components/schemas/MapResult"},
              "map_list": {"$ref": "#/components/schemas/MapResult"},
              "revoke_token": {"$ref": "#/components/schemas/EmptyResult"},
              "invalidate_user_tokens": {"$ref": "#/components/schemas/EmptyResult"},
              "push_send": {"$ref": "#/components/schemas/PushSendResult"},
              "push_notify": {"$ref": "#/components/schemas/EmptyResult"},
              "why": {"$ref": "#/components/schemas/WhyResult"},
              "inspect_channel": {"$ref": "#/components/schemas/InspectResult"},
              "inspect_user": {"$ref": "#/components/schemas/InspectResult"},
              "inspect_client": {"$ref": "#/components/schemas/InspectResult"},
              "explain": {"$ref": "#/components/schemas/InspectResult"},
              "top": {"$ref": "#/components/schemas/TopResult"},
              "webhooks_list": {"$ref": "#/components/schemas/WebhooksResult"},
              "webhook_given_up": {"$ref": "#/components/schemas/WebhookGivenUpResult"},
              "webhook_resend": {"$ref": "#/components/schemas/WebhookResentResult"},
              "call": {"$ref": "#/components/schemas/CallResult"},
              "user_data": {"$ref": "#/components/schemas/UserDataResult"},
              "user_export": {"$ref": "#/components/schemas/UserExportResult"},
              "user_delete": {"$ref": "#/components/schemas/UserDeletionResult"},
              "user_delete_status": {"$ref": "#/components/schemas/UserDeletionResult"},
              "clique_pair": {"$ref": "#/components/schemas/UserPairResult"},
              "clique_groups": {"$ref": "#/components/schemas/CliqueGroupsResult"},
              "clique_unblock": {"$ref": "#/components/schemas/EmptyResult"},
              "user_suspend": {"$ref": "#/components/schemas/EmptyResult"},
              "user_unsuspend": {"$ref": "#/components/schemas/EmptyResult"},
              "user_suspensions": {"$ref": "#/components/schemas/UserSuspensionsResult"},
              "clique_reports": {"$ref": "#/components/schemas/CliqueReportsResult"},
              "clique_report": {"$ref": "#/components/schemas/CliqueReportResult"},
              "clique_report_picture": {"$ref": "#/components/schemas/CliqueReportPictureResult"},
              "clique_report_settle": {"$ref": "#/components/schemas/EmptyResult"},
              "state_thread": {"$ref": "#/components/schemas/UserPairResult"},
              "error": {"$ref": "#/components/schemas/Error"}
            }
          }
        }
      }
    }

    """#
}
