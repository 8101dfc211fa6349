"""A backend service that publishes over ZeroMQ and listens to a channel, in any language that has ZeroMQ.

Command: [id][method][parameters as JSON][payload], answered by [id]["ok" or "error"][result as JSON].
Tap: [channel and a zero byte][description as JSON][payload]. The zero byte ends the name: ZeroMQ compares only the
beginning of a topic, and without it "news" would bring "newsroom" too.
"""

import json
import os
import sys

import zmq

context = zmq.Context()
commands, tap = context.socket(zmq.REQ), context.socket(zmq.SUB)
commands.connect(os.environ.get("COMMANDS", "ipc://data/services/commands.ipc"))
tap.connect(os.environ.get("TAP", "ipc://data/services/tap.ipc"))
tap.subscribe(b"news\x00")


def publish(channel, data):
    commands.send_multipart([b"1", b"publish", json.dumps({"channel": channel}).encode(), json.dumps(data).encode()])
    return commands.recv_multipart()


# A check of the above, which a service does not need.
def expect(holds, sentence):
    print(("ok: " if holds else "failed: ") + sentence, flush=True)
    if not holds:
        context.destroy(linger=0)
        sys.exit(1)


for socket in (commands, tap):
    socket.setsockopt(zmq.RCVTIMEO, 60_000)
reply = publish("newsroom", {"n": 0})
expect(reply[:2] == [b"1", b"ok"], f"a publication is acknowledged with its id: {reply}")
result = json.loads(reply[2])
expect(result.get("offset") == 1 and result.get("epoch"), f"the result is its position: {result}")

# The tap may not have heard of our subscription yet: publish until it has.
numbers = 0
while not tap.poll(100):
    numbers += 1
    publish("newsroom", {"n": numbers})
    publish("news", {"n": numbers})
    if numbers == 1_000:
        expect(False, "the tap brings a publication")
topic, description, payload = tap.recv_multipart()
expect(topic == b"news\x00", f"the tap brings the channel asked for and no other: {topic}")
expect(1 <= json.loads(payload)["n"] <= numbers, f"the payload is what was published: {payload}")
expect(json.loads(description)["offset"] >= 1, f"the description has the offset: {description}")

commands.send_multipart([b"2", b"nosuchmethod", b"{}", b""])
reply = commands.recv_multipart()
expect(reply[:2] == [b"2", b"error"], f"an unknown method is an error: {reply}")
expect(json.loads(reply[2]).get("code") == 104, f"its code is 104: {reply[2]}")
context.destroy(linger=0)
