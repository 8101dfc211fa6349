"""Push services for browsers, APNs and FCM on one port of this machine, over HTTP/2, stricter than the real ones.

Each request is checked whole: tokens with their signatures and times, headers, sizes, and what is in the payload. A
request that breaks a rule is answered with the error that the service documents, and noted with the rule. A request
whose device has an answer in the configuration gets that answer, once it was found to be right. One that is right is
noted with a number for the process that has sent it (`life`), each with the time in milliseconds (`at`).

Arguments: a file with the configuration in JSON, and the file in which each request is noted as a line of JSON. The
port is the first line of standard output.
"""

import base64
import json
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02

with open(sys.argv[1], encoding="utf-8") as file:
    CONFIG = json.load(file)
ANSWERS = CONFIG["answers"]
# A subscription whose endpoint names the browser's private key and its secret.
OWN_KEYS = re.compile(r"/push/[^/]+/([A-Za-z0-9_-]{43})/([A-Za-z0-9_-]{22})")
TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Broken(Exception):
    """A rule was broken: the answer that the service gives, and the rule."""

    def __init__(self, status, body, rule):
        super().__init__(rule)
        self.status, self.body, self.rule = status, body, rule


class State:
    """What the services remember. One lock guards all of it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.log = open(sys.argv[2], "a", encoding="utf-8")
        self.apns_tokens = []  # Each token that was seen, with its iat.
        self.access_tokens = {}  # Each that was given out, and whether it still counts.
        self.topics = {}
        self.given = {}  # How often each device got its answer of the configuration.
        self.orders = {}  # Each token of a sender, and how many were known before it.

    def note(self, line):
        line["at"] = int(time.monotonic() * 1000)
        with self.lock:
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()

    def life(self, token, made=0):
        """The number of the process that has a token: each makes its own, and a later one has a higher number.

        What a process that was killed has sent may be read late, so the time in a token comes before the order in which
        tokens are heard of. `made` is in seconds.
        """
        with self.lock:
            return made << 20 | self.orders.setdefault(token, len(self.orders))


STATE = State()


def unbase64(text):
    if "=" in text or not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("not base64url without padding")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def require(holds, status, body, rule):
    if not holds:
        raise Broken(status, body, rule)


def number(text):
    return text is not None and re.fullmatch(r"0|[1-9][0-9]*", text) is not None


# Browsers' push services: RFC 8030, 8188, 8291, 8292.


def web_push(path, headers, body):
    def rule(holds, status, text):
        require(holds, status, text, text)

    ttl, urgency, topic = headers.get("ttl"), headers.get("urgency"), headers.get("topic")
    rule(number(ttl) and int(ttl) <= 28 * 86400, 400, "TTL is missing or no number of seconds")
    rule(urgency in (None, "very-low", "low", "normal", "high"), 400, "Urgency is none")
    rule(topic is None or TOPIC.fullmatch(topic), 400, "Topic is not 32 characters of base64url")
    rule(headers.get("content-encoding") == "aes128gcm", 415, "the encoding is not aes128gcm")
    rule(len(body) <= 4096, 413, "the body has more than 4096 bytes")
    life = vapid(headers.get("authorization", ""), rule)
    own = OWN_KEYS.fullmatch(path)
    private_key, auth = own.groups() if own else (CONFIG["browser"]["private_key"], CONFIG["browser"]["auth"])
    key = ec.derive_private_key(int.from_bytes(unbase64(private_key), "big"), ec.SECP256R1())
    try:
        text = http_ece.decrypt(body, private_key=key, auth_secret=unbase64(auth), version="aes128gcm")
    except Exception as error:
        raise Broken(400, "cannot be decrypted", f"the browser cannot read it: {error}") from error
    payload = json.loads(text)
    if "web_push" in payload:
        shown = payload["notification"]
        rule(payload["web_push"] == 8030 and shown["title"] and shown["navigate"], 400, "is not declarative")
    noted = {"text": payload, "size": len(body), "life": life}
    return noted, (201, {"location": f"{CONFIG['origin']}/message{path}"}, b"")


def vapid(authorization, rule):
    found = re.fullmatch(r"vapid t=([\w-]+\.[\w-]+\.[\w-]+), ?k=([\w-]+)", authorization)
    rule(found, 401, "there is no vapid token")
    token, key = found.groups()
    rule(key == CONFIG["vapid_public_key"], 403, "VapidPkHashMismatch")
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unbase64(key))
    try:
        required = {"require": ["exp"]}
        claims = jwt.decode(token, public, algorithms=["ES256"], audience=CONFIG["origin"], options=required)
    except jwt.InvalidTokenError as error:
        raise Broken(403, "the token does not count", f"the token does not count: {error}") from error
    # A second reader, by other people.
    rule(Vapid02.verify(authorization.replace(", ", ",")), 403, "py_vapid does not take the token")
    rule(time.time() < claims["exp"] <= time.time() + 86400, 403, "the token holds for more than a day")
    rule(re.match(r"mailto:.+@|https://", claims.get("sub", "")), 403, "the token has no subject")
    return STATE.life(token, claims["exp"])


# APNs.


def apns(path, headers, body, tokens):
    def rule(holds, status, reason, text):
        require(holds, status, json.dumps({"reason": reason}), text)

    token = path.removeprefix("/3/device/")
    rule(re.fullmatch(r"[0-9a-f]{32,}", token), 400, "BadDeviceToken", "the device token is not hexadecimal")
    rule(body, 400, "PayloadEmpty", "there is no payload")
    rule(len(body) <= 4096, 413, "PayloadTooLarge", "the payload has more than 4096 bytes")
    rule(UUID.fullmatch(headers.get("apns-id", "")), 400, "BadMessageId", "apns-id is no UUID")
    rule(headers.get("apns-topic") in CONFIG["apns"]["topics"], 400, "BadTopic", "the topic is unknown")
    rule(number(headers.get("apns-expiration")), 400, "BadExpirationDate", "apns-expiration is no number")
    collapse = headers.get("apns-collapse-id")
    rule(collapse is None or 1 <= len(collapse) <= 64, 400, "BadCollapseId", "apns-collapse-id has more than 64 bytes")
    payload = json.loads(body)
    kind, priority = headers.get("apns-push-type"), headers.get("apns-priority")
    rule(priority in ("10", "5", "1"), 400, "BadPriority", "apns-priority is none")
    if kind == "background":
        rule(payload["aps"] == {"content-available": 1}, 400, "InvalidPushType", "a background push shows something")
        rule(priority == "5", 400, "BadPriority", "a background push has another priority than 5")
    else:
        rule(kind == "alert", 400, "InvalidPushType", "apns-push-type is neither alert nor background")
        rule(payload["aps"]["alert"]["title"], 400, "InvalidPushType", "an alert shows nothing")
    life = provider(headers.get("authorization", ""), rule, tokens)
    noted = {"text": payload, "size": len(body), "life": life}
    return noted, (200, {"apns-id": headers["apns-id"]}, b"")


def provider(authorization, rule, tokens):
    """Checks a provider's token, and that it is not made anew too often: `tokens` are those that count for that."""
    rule(authorization.startswith("bearer "), 403, "MissingProviderToken", "there is no token")
    token = authorization.removeprefix("bearer ")
    try:
        header = jwt.get_unverified_header(token)
        claims = jwt.decode(token, CONFIG["apns"]["public_key"], algorithms=["ES256"], options={"verify_iat": False})
    except jwt.InvalidTokenError as error:
        rule(False, 403, "InvalidProviderToken", f"the token does not count: {error}")
    rule(header.get("kid") == CONFIG["apns"]["key_id"], 403, "InvalidProviderToken", "kid is another")
    rule(claims.get("iss") == CONFIG["apns"]["team_id"], 403, "InvalidProviderToken", "iss is another")
    made = claims.get("iat")
    rule(isinstance(made, int) and made <= time.time() + 60, 403, "InvalidProviderToken", "iat is in the future")
    rule(made > time.time() - 3600, 403, "ExpiredProviderToken", "the token is older than an hour")
    with STATE.lock:
        is_new = token not in [known for known, _ in tokens]
        since = made - max((time for _, time in tokens), default=0)
        if is_new:
            tokens.append((token, made))
    rule(since >= 1200 or not is_new, 429, "TooManyProviderTokenUpdates", "a second token came before 20 minutes")
    return STATE.life(token, made)


# FCM.

FCM_FIELDS = {
    "": {"message"},
    "message": {"token", "notification", "data", "android", "apns", "webpush"},
    "message.notification": {"title", "body"},
    "message.android": {"priority", "ttl", "collapse_key", "notification"},
    "message.android.notification": {"tag", "notification_count", "default_sound"},
    "message.apns": {"headers", "payload"},
    "message.webpush": {"headers", "notification", "fcm_options"},
    "message.webpush.fcm_options": {"link"},
}


def fcm_error(status, name, code=None, message="words"):
    details = [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}] if code else []
    return json.dumps({"error": {"code": status, "status": name, "message": message, "details": details}})


def fcm(path, headers, body):
    def rule(holds, text):
        require(holds, 400, fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", text), text)

    project = CONFIG["fcm"]["project"]
    require(path == f"/v1/projects/{project}/messages:send", 404, fcm_error(404, "NOT_FOUND"), "another project")
    access = headers.get("authorization", "").removeprefix("Bearer ")
    with STATE.lock:
        counts = STATE.access_tokens.get(access)
    require(counts, 401, fcm_error(401, "UNAUTHENTICATED"), "the access token does not count")
    rule(headers.get("content-type") == "application/json", "the body is not JSON")
    payload = json.loads(body)
    for place, fields in FCM_FIELDS.items():
        inner = payload
        for name in place.split(".") if place else []:
            inner = inner.get(name, {})
        rule(set(inner) <= fields, f"{place} has unknown fields: {set(inner) - fields}")
    message = payload["message"]
    rule(all(isinstance(value, str) for value in message.get("data", {}).values()), "data has something but strings")
    for reserved in ("from", "message_type", "collapse_key"):
        rule(reserved not in message.get("data", {}), f"data has the reserved name {reserved}")
    rule(len(body) - len(message["token"]) <= 4096, "Android message is too big")
    rule(message["android"]["priority"] in ("HIGH", "NORMAL"), "priority is none")
    rule(re.fullmatch(r"[0-9]+s", message["android"]["ttl"]), "ttl is no duration")
    texts = message["apns"]["headers"] | message["webpush"]["headers"]
    rule(all(isinstance(value, str) for value in texts.values()), "a header is no string")
    if "notification" in message:
        rule(message["notification"]["title"], "a notification has no title")
    name = json.dumps({"name": f"projects/{project}/messages/0:1"})
    noted = {"text": payload, "size": len(body), "life": STATE.life(access)}
    return noted, (200, {}, name.encode())


def access_token(headers, body):
    def rule(holds, text):
        require(holds, 400, json.dumps({"error": "invalid_grant", "error_description": text}), text)

    account = CONFIG["fcm"]
    form = urllib.parse.parse_qs(body.decode("ascii"), strict_parsing=True)
    rule(headers.get("content-type") == "application/x-www-form-urlencoded", "the body is no form")
    rule(form.get("grant_type") == ["urn:ietf:params:oauth:grant-type:jwt-bearer"], "the grant is another")
    (assertion,) = form["assertion"]
    try:
        header = jwt.get_unverified_header(assertion)
        claims = jwt.decode(
            assertion, account["public_key"], algorithms=["RS256"], audience=f"{CONFIG['origin']}/token",
            options={"require": ["exp", "iat", "iss"]})
    except jwt.InvalidTokenError as error:
        rule(False, f"the assertion does not count: {error}")
    rule(header.get("kid") == account["key_id"], "kid is another")
    rule(claims["iss"] == account["email"], "iss is another")
    rule(claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging", "the scope is another")
    rule(0 < claims["exp"] - claims["iat"] <= 3600, "the assertion holds for more than an hour")
    with STATE.lock:
        token = f"ya29.{len(STATE.access_tokens)}"
        STATE.access_tokens[token] = True
    # Known in the order in which they are given out, which is that of the processes.
    STATE.life(token)
    answer = {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}
    return {"token": token}, (200, {"content-type": "application/json"}, json.dumps(answer).encode())


# What they share.


def service(path, headers, body, tokens):
    """The name of the service, the device, what is noted of a request that is right, and its answer."""
    if path == "/token":
        return "token", "token", *access_token(headers, body)
    if path.startswith("/3/device/"):
        return "apns", path.removeprefix("/3/device/"), *apns(path, headers, body, tokens)
    if path.startswith("/v1/"):
        noted, answer = fcm(path, headers, body)
        return "fcm", noted["text"]["message"]["token"], noted, answer
    return "web", path, *web_push(path, headers, body)


def given_to(device):
    """The answer that the configuration has for a device, as often as it says; None: the usual one."""
    given = ANSWERS.get(device)
    if given is None:
        return None
    with STATE.lock:
        count = STATE.given[device] = STATE.given.get(device, 0) + 1
    return given if count <= (given.get("only") or count) else None


def answer(method, path, headers, body, tokens):
    """Status, headers and body; None: the request is noted and not answered.

    `tokens` are those of APNs that were seen before. Ends the connection, where that is the answer, by an exception.
    """
    given = None
    line = {"path": path, "headers": headers, "at": time.time()}
    try:
        require(method == "POST", 405, json.dumps({"reason": "MethodNotAllowed"}), "the method is not POST")
        name, device, noted, reply = service(path, headers, body, tokens)
        line |= {"service": name, "device": device} | noted
        if (given := given_to(device)) is not None:
            if given.get("revoke"):
                with STATE.lock:
                    STATE.access_tokens = dict.fromkeys(STATE.access_tokens, False)
            text = given.get("body", "")
            reply = (given["status"], given.get("headers", {}), text.encode() * given.get("times", 1))
            reply = None if given.get("hang") else reply
    except Broken as broken:
        line["broken"] = broken.rule
        reply = (broken.status, {}, broken.body.encode())
    except Exception as error:  # A request that no check foresaw.
        line["broken"] = f"{type(error).__name__}: {error}"
        reply = (500, {}, b"")
    STATE.note(line)
    if given is not None and given.get("cut"):
        raise ConnectionAbortedError(f"cut by the answer to {device}")
    return reply


class Line:
    """One connection in HTTP/2."""

    def __init__(self, stream):
        self.stream = stream
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests = {}
        self.waiting = {}
        # Apple's documentation does not say whether it is a key or a connection whose token may change every 20 minutes
        # at the most. Here it is the key, which is stricter. With `restarts` it is the connection, as senders have found
        # (Pr0Ger/PyAPNs2#76): one that was killed begins with a token and a connection of its own.
        self.provider_tokens = [] if CONFIG["apns"].get("restarts") else STATE.apns_tokens

    def serve(self):
        self.h2.initiate_connection()
        self.flush()
        while data := self.stream.recv(65536):
            for event in self.h2.receive_data(data):
                self.handle(event)
            self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.requests[event.stream_id] = (dict(event.headers), bytearray())
        elif isinstance(event, h2.events.DataReceived):
            self.requests[event.stream_id][1].extend(event.data)
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            headers, body = self.requests.pop(event.stream_id)
            method, path = headers.pop(":method"), headers.pop(":path")
            if (reply := answer(method, path, headers, bytes(body), self.provider_tokens)) is not None:
                self.reply(event.stream_id, *reply)
        elif isinstance(event, h2.events.StreamReset):
            self.requests.pop(event.stream_id, None)
            self.waiting.pop(event.stream_id, None)
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            for stream in list(self.waiting):
                self.send(stream)

    def reply(self, stream, status, headers, body):
        self.h2.send_headers(stream, [(":status", str(status)), *headers.items()], end_stream=not body)
        if body:
            self.waiting[stream] = body
            self.send(stream)

    def send(self, stream):
        """Sends as much of a body as the other side lets through; the rest waits."""
        body = self.waiting[stream]
        while body and (room := min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)) > 0:
            part, body = body[:room], body[room:]
            self.h2.send_data(stream, part, end_stream=not body)
        if body:
            self.waiting[stream] = body
        else:
            del self.waiting[stream]

    def flush(self):
        self.stream.sendall(self.h2.data_to_send())


def serve(client, context):
    try:
        with context.wrap_socket(client, server_side=True) as stream:
            if stream.selected_alpn_protocol() == "h2":
                Line(stream).serve()
            else:
                STATE.note({"broken": "the connection is not HTTP/2"})
    except (OSError, h2.exceptions.ProtocolError) as error:
        # Clients go whenever they like; a certificate that they do not trust ends here too.
        print(f"a connection ended: {error}", file=sys.stderr, flush=True)


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CONFIG["certificate"], CONFIG["key"])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    CONFIG["origin"] = f"https://localhost:{port}"
    print(port, flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, context), daemon=True).start()


main()
