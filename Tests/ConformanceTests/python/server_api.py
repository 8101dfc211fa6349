"""The server API, as Centrifugo's own client for it calls it: every method, with its answers read by that client."""

import os
import time

from cent import (
    BatchRequest,
    BroadcastRequest,
    CentApiResponseError,
    CentUnauthorizedError,
    ChannelsRequest,
    Client as ServerAPI,
    Disconnect,
    DisconnectRequest,
    HistoryRemoveRequest,
    HistoryRequest,
    InfoRequest,
    InvalidateUserTokensRequest,
    PresenceRequest,
    PresenceStatsRequest,
    PublishRequest,
    RefreshRequest,
    RevokeTokenRequest,
    StreamPosition,
    SubscribeRequest,
    UnsubscribeRequest,
)

from support import CheckFailed, connect, expect, passed, run, subscribe, until

KEY = os.environ["API_KEY"]
api = ServerAPI(os.environ["ADMIN_URL"] + "/api", api_key=KEY, timeout=60)


def refusal(request, call):
    """The code with which a call is refused."""
    try:
        call(request)
    except CentApiResponseError as error:
        return error.code
    return None


async def publications():
    result = api.publish(PublishRequest(channel="room", data={"n": 1}, tags={"kind": "test"}))
    expect((result.offset, bool(result.epoch)), (1, True), "publish answers with the position")
    again = [api.publish(PublishRequest(channel="room", data=n, idempotency_key="k")).offset for n in (2, 2)]
    expect(again, [2, 2], "an idempotency key publishes once")
    sent = api.broadcast(BroadcastRequest(channels=["room", "hall", "none:x"], data=[3]))
    codes = [answer.error.code if answer.error else answer.result.offset for answer in sent.responses]
    expect(codes, [3, 1, 102], "broadcast answers for each channel")
    page = api.history(HistoryRequest(channel="room", limit=10))
    expect([p.data for p in page.publications], [{"n": 1}, 2, [3]], "history is what was published")
    expect(page.publications[0].tags, {"kind": "test"}, "with its tags")
    since = StreamPosition(offset=1, epoch=page.epoch)
    rest = api.history(HistoryRequest(channel="room", limit=1, since=since)).publications
    expect([p.offset for p in rest], [2], "history goes on after a position")
    newest = api.history(HistoryRequest(channel="room", limit=1, reverse=True)).publications
    expect([p.offset for p in newest], [3], "and backwards")
    expect(api.history(HistoryRequest(channel="room")).publications, [], "without a limit it is the position alone")
    api.history_remove(HistoryRemoveRequest(channel="room"))
    expect(api.history(HistoryRequest(channel="room", limit=10)).publications, [], "a history can be removed")
    expect(refusal(PublishRequest(channel="none:x", data=1), api.publish), 102, "an unknown channel is error 102")
    expect(refusal(PublishRequest(channel="", data=1), api.publish), 107, "no channel is error 107")
    passed("publish, broadcast, history and history_remove")


async def connections():
    client = await connect("ada")
    room = await subscribe(client, "room")
    members = api.presence(PresenceRequest(channel="room")).presence
    expect([m.user for m in members.values()], ["ada"], "presence has the client")
    stats = api.presence_stats(PresenceStatsRequest(channel="room"))
    expect((stats.num_clients, stats.num_users), (1, 1), "presence_stats counts it")
    channels = api.channels(ChannelsRequest(pattern="ro*")).channels
    expect({name: found.num_clients for name, found in channels.items()}, {"room": 1}, "channels counts its clients")
    node = api.info(InfoRequest()).nodes[0]
    expect((node.num_clients, node.num_users, node.num_subs), (1, 1, 1), "info counts it")
    api.subscribe(SubscribeRequest(user="ada", channel="hall"))
    await until(lambda: "hall" in client.events.server_subscribed, "the server subscribes it")
    api.publish(PublishRequest(channel="hall", data="to the hall"))
    await until(lambda: ("hall", "to the hall") in client.events.server_publications, "it gets what is published")
    api.unsubscribe(UnsubscribeRequest(user="ada", channel="room"))
    await until(lambda: room.events.unsubscribed, "the server unsubscribes it")
    api.refresh(RefreshRequest(user="ada", expire_at=int(time.time()) + 3600))
    api.disconnect(DisconnectRequest(user="ada", disconnect=Disconnect(code=4500, reason="out")))
    await until(lambda: client.events.disconnected, "the server disconnects it")
    ending = client.events.disconnected[-1]
    expect((ending.code, ending.reason), (4500, "out"), "with the code and reason of the call")
    passed("presence, presence_stats, channels, info, subscribe, unsubscribe, refresh and disconnect")


async def batches():
    requests = [PublishRequest(channel="batch", data=n) for n in range(3)] + [HistoryRequest(channel="batch", limit=9)]
    for parallel in (False, True):
        replies = api.batch(BatchRequest(requests=requests[:3], parallel=parallel)).replies
        expect([r.offset for r in replies], [4, 5, 6] if parallel else [1, 2, 3], "a batch is done in its order")
    replies = api.batch(BatchRequest(requests=requests)).replies
    expect(len(replies[3].publications), 9, "what is read in a batch is what was written before it")
    api.revoke_token(RevokeTokenRequest(uid="nobody's"))
    api.invalidate_user_tokens(InvalidateUserTokensRequest(user="nobody"))
    passed("batch, revoke_token and invalidate_user_tokens")


async def keys():
    try:
        ServerAPI(os.environ["ADMIN_URL"] + "/api", api_key="wrong").info(InfoRequest())
        raise CheckFailed("a wrong key is refused")
    except CentUnauthorizedError:
        passed("a wrong key is refused with status 401")


async def main():
    await publications()
    await batches()
    await keys()
    await connections()


run(main)
