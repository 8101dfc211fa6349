"""Two requests for somebody with a phone: one is acknowledged by a device in time, the other by none.

Prints the conversation of the second.
"""

import json
import os

from support import call, connect, expect, passed, run


async def main():
    bob = await connect("bob")
    registered = await call(bob, "push.register", device=json.loads(os.environ["DEVICE"]), language="en")
    told = await call(bob, "push.devices")
    expect([one["device"] for one in told["devices"]], [registered["device"]], "bob's devices")
    expect("token" in json.dumps(told), False, "whether the answer holds the token")
    passed("a phone is registered")
    known = await call(await connect("ada"), "clique.send", to="bob", text="hello", key="k1")
    await call(bob, "clique.delivered", conversation=known["conversation"], offset=1)
    unknown = await call(await connect("eve"), "clique.send", to="bob", text="a secret", key="k1")
    print("conversation", unknown["conversation"])


run(main)
