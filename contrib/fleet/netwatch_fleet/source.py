"""Where messages come from: a stream of nats-server, or any MQTT broker."""
from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Callable
from urllib.parse import urlsplit

# identity, kind, payload, time of the engine, whether it came just now
Take = Callable[[str, str, bytes, float, bool], None]

# nats-server acknowledges a message of MQTT when this stream has it. One of another name gets it too, but nobody waits for that: while such
# a stream of a cluster elects its leader, it misses what machines then take for delivered.
STREAM = "$MQTT_msgs"
PREFIX = "$MQTT.msgs."
SIGNS = "NETWATCH_SIGNS"
# The bytes of a stream: the most for which the engine has room. A sign of life has some 200.
SIZES = {SIGNS: [32 << 20], STREAM: [size << 20 for size in (8_192, 2_048, 512, 128, 32)]}
# How many seconds nats-server has for an answer. A cluster that has just lost a server gives some questions to that one.
TIMEOUT = 8
# How many seconds each address of the engine has.
ADDRESS_TIMEOUT = 5
# nats-server says so if its store or that of an account is too small, or no server of a cluster has room.
NO_ROOM = (10005, 10023, 10047)


class UsageError(Exception):
    """A mistake of the user, in one sentence that says what to do."""


class Refused(Exception):
    """The engine has answered, and does not want this client."""


class Ended(Exception):
    """What was read cannot be read on; reading begins anew where it was."""


@dataclass
class Place:
    """How far a stream was read, and which one it was."""
    created: datetime | None
    number: int


@dataclass
class Settings:
    url: str
    user: str | None = None
    password: str | None = None
    authorities: str | None = None
    # How many seconds back the history begins.
    history: float = 86_400.0
    # How many servers of a cluster keep each message, if the streams have to be made.
    replicas: int = 1
    # How many seconds the first connection may take; None if it is tried until it is there.
    patience: float | None = None


def context(settings: Settings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=settings.authorities)
    except OSError as error:
        reason = "it has no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(f"The authorities in {settings.authorities} cannot be used: {reason}.") from None


async def read(
        settings: Settings, take: Take, caught_up: Callable[[], None], trouble: Callable[[str | None], None],
        clock: Callable[[float], None] = lambda _time: None, forget: Callable[[], None] = lambda: None) -> None:
    """Passes on what there is, says that this is all, and then passes on what comes. Does not return.

    clock: gets the time of the engine. forget: the engine has less than it had, and what was passed on comes again.
    """
    try:
        url = urlsplit(settings.url)
        scheme, _ = url.scheme, url.port
    except ValueError:
        scheme = ""
    if scheme in ("nats", "tls"):
        end = None if settings.patience is None else time.monotonic() + settings.patience
        places: dict[str, Place] = {}
        while True:
            try:
                await read_nats(settings, take, caught_up, trouble, clock, forget, places)
            except Exception as error:
                # Every error of nats-py is one of the engine: it has no leader yet, or not the rights.
                is_engines = type(error).__module__.startswith("nats") or isinstance(error, (OSError, asyncio.TimeoutError, Ended))
                if not is_engines:
                    raise
                if end is not None and time.monotonic() > end:
                    raise Refused(words(error)) from error
                trouble(words(error))
                await asyncio.sleep(1)
    elif scheme in ("mqtt", "mqtts"):
        await read_mqtt(settings, take, caught_up, trouble)
    else:
        raise UsageError("Write the engine as nats://HOST, tls://HOST, mqtts://HOST or mqtt://HOST.")


def words(error: Exception) -> str:
    """An error of the engine in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the engine's certificate is not trusted: {error.verify_message}; is its authority in --ca, and its name in it?"
    if isinstance(error, asyncio.TimeoutError):
        return "the engine does not answer"
    if isinstance(error, socket.gaierror):
        return "the name of the engine is not known"
    if "unexpected EOF" in str(error):
        return "the connection to the engine is lost"
    if "authorization violation" in str(error).lower():
        return "the engine refuses the login; is it in the file that netwatch-fleet-login writes, and has the engine read it?"
    if isinstance(error, OSError) and error.errno:
        return f"the engine cannot be reached: {os.strerror(error.errno)}"
    return str(getattr(error, "description", None) or error or type(error).__name__)


# NATS


async def connect(settings: Settings):
    """Connects to the first address that answers. Returns the connection, and a future that fails when it is over."""
    url = urlsplit(settings.url)
    found = await asyncio.get_running_loop().getaddrinfo(url.hostname or "localhost", url.port or 4222, type=socket.SOCK_STREAM)
    for number, (family, _, _, _, address) in enumerate(found, 1):
        host = f"[{address[0]}]" if family == socket.AF_INET6 else address[0]
        try:
            return await connect_to(f"{url.scheme}://{host}:{address[1]}", url.hostname, settings)
        except (OSError, asyncio.TimeoutError):
            if number == len(found):
                raise


async def connect_to(address: str, name: str | None, settings: Settings):
    try:
        import nats
    except ImportError:
        raise UsageError("nats-py is missing; install it with: pip install nats-py") from None

    over = asyncio.get_running_loop().create_future()
    # Nobody may be left who asks.
    over.add_done_callback(lambda future: future.exception())

    async def failed(error: Exception) -> None:
        if "slow consumer" not in str(error) and not over.done():
            over.set_exception(error)

    async def closed() -> None:
        await failed(Ended("the connection to the engine is lost"))

    connection = nats.NATS()
    # nats-py connects again to where it was, and goes on after the last number that it saw, which may be of another stream.
    opening = asyncio.ensure_future(connection.connect(
        address, user=settings.user, password=settings.password, tls=context(settings) if address.startswith("tls") else None,
        tls_hostname=name if address.startswith("tls") else None, allow_reconnect=False, closed_cb=closed, error_cb=failed,
        name="netwatch-fleet", pending_size=16 * 1024 * 1024))
    await asyncio.wait({opening, over}, timeout=ADDRESS_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
    error: BaseException | None = asyncio.TimeoutError()
    if opening.done():
        error = opening.exception()
    elif over.done():
        error = over.exception()
    if error is None:
        return connection, over
    opening.cancel()
    # Whoever asks once does not wait until somebody makes a login.
    if settings.patience is not None and not isinstance(error, (OSError, asyncio.TimeoutError, Ended)):
        raise Refused(words(error))
    raise error


async def make_streams(engine, replicas: int) -> None:
    """Makes the streams that are missing. Existing ones stay as the operator has made them."""
    from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
    from nats.js.errors import NotFoundError

    wanted = [
        # Of signs of life, only the last one says anything.
        StreamConfig(
            name=SIGNS, subjects=["netwatch.1.*.alive"], storage=StorageType.FILE, discard=DiscardPolicy.OLD,
            max_age=30 * 86_400, max_msgs_per_subject=1, max_msg_size=4_096, num_replicas=replicas),
        # Thirty days, and of each machine the last 10,000. What has no room pushes out the oldest of all, instead of being refused.
        StreamConfig(
            name=STREAM, subjects=[f"{PREFIX}>"], storage=StorageType.FILE, discard=DiscardPolicy.OLD, max_age=30 * 86_400,
            max_msgs_per_subject=10_000, max_msg_size=131_072, num_replicas=replicas),
    ]
    for config in wanted:
        try:
            info = await engine.stream_info(config.name)
        except NotFoundError:
            await add_stream(engine, config)
        else:
            # A machine came first, and nats-server has made the stream for those who wait: with the logins of netwatch-fleet-login,
            # that is nobody.
            if info.config.retention == RetentionPolicy.INTEREST:
                await engine.delete_stream(config.name)
                await add_stream(engine, config)


async def add_stream(engine, config) -> None:
    """Makes a stream, of as many bytes as the engine has room for."""
    from nats.js.errors import APIError

    for config.max_bytes in SIZES[config.name]:
        try:
            return await engine.add_stream(config)
        except APIError as error:
            if config.max_bytes == SIZES[config.name][-1] or error.err_code not in NO_ROOM:
                raise


def pass_on(message, take: Take) -> None:
    levels = message.subject.removeprefix(PREFIX).split(".")
    if len(levels) == 4:
        take(levels[2], levels[3], message.data, message.metadata.timestamp.timestamp(), True)


async def last_words(engine, take: Take) -> None:
    """Passes on the last line and the last presence of each machine."""
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

    subscription = await engine.subscribe(
        f"{PREFIX}netwatch.1.>", stream=STREAM, ordered_consumer=True, pending_msgs_limit=-1, pending_bytes_limit=-1,
        config=ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.LAST_PER_SUBJECT))
    info = await subscription.consumer_info()
    left = info.num_pending + info.delivered.consumer_seq
    while left > 0:
        message = await subscription.next_msg(timeout=30)
        pass_on(message, take)
        left = message.metadata.num_pending
    await subscription.unsubscribe()


async def first_since(engine, begin: float) -> int:
    """The number of the first message since a time. An ordered consumer can be made again from a number, and not from a time."""
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

    # What comes from here on is read in any case.
    last = (await engine.stream_info(STREAM)).state.last_seq
    subscription = await engine.subscribe(
        f"{PREFIX}netwatch.1.>", stream=STREAM, config=ConsumerConfig(
            ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.BY_START_TIME, headers_only=True, rate_limit_bps=8_192,
            opt_start_time=datetime.fromtimestamp(begin, timezone.utc)))
    info = await subscription.consumer_info()
    if info.num_pending + info.delivered.consumer_seq == 0:
        number = last + 1
    else:
        number = (await subscription.next_msg(timeout=30)).metadata.sequence.stream
    await subscription.unsubscribe()
    return number


async def read_nats(settings: Settings, take: Take, caught_up, trouble, clock, forget, places: dict[str, Place]) -> None:
    connection, over = await connect(settings)
    engine = connection.jetstream(timeout=TIMEOUT)
    following = asyncio.ensure_future(follow_streams(engine, settings, take, clock, forget, places, over))
    following.add_done_callback(lambda task: task.cancelled() or task.exception())
    try:
        await asyncio.wait({following, over}, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
            caught_up()
            trouble(None)
        await over
    finally:
        following.cancel()
        # nats-py may wait for an engine that does not answer.
        await asyncio.wait({asyncio.ensure_future(connection.close())}, timeout=2)


async def follow_streams(engine, settings: Settings, take: Take, clock, forget, places: dict[str, Place], over) -> None:
    """Passes on what is in the streams, and comes back; what comes later is passed on as it comes."""
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

    await make_streams(engine, settings.replicas)
    place = places.get(STREAM)
    for _ in range(5):
        info = await engine.stream_info(STREAM)
        if place is None or place.number <= info.state.last_seq:
            break
        # The new leader of a cluster may not have come so far yet.
        await asyncio.sleep(2)
    if place is None or place.created != info.created or place.number > info.state.last_seq:
        if place is not None:
            forget()
        begin = time.time() - settings.history
        # What was said last before the history begins.
        await last_words(engine, lambda *message: take(*message) if message[3] < begin else None)
        place = places[STREAM] = Place(info.created, await first_since(engine, begin) - 1)

    async def follow(stream: str, prefix: str, place: Place, **config) -> None:
        is_read = asyncio.Event()
        # The number of the next message of the consumer. nats-py makes one again that a server has lost, which begins with 1.
        expected = 1

        async def deliver(message) -> None:
            nonlocal expected
            numbers = message.metadata.sequence
            if numbers.stream <= place.number or numbers.consumer not in (expected, 1):
                if not over.done():
                    over.set_exception(Ended("the engine has not sent everything"))
                return
            expected, place.number = numbers.consumer + 1, numbers.stream
            pass_on(message, take)
            if message.metadata.num_pending == 0:
                is_read.set()

        subscription = await engine.subscribe(
            f"{prefix}netwatch.1.>", stream=stream, ordered_consumer=True, cb=deliver, pending_msgs_limit=-1,
            pending_bytes_limit=-1, config=ConsumerConfig(ack_policy=AckPolicy.NONE, **config))
        info = await subscription.consumer_info()
        if isinstance(info.created, datetime):
            # It was made just now.
            clock(info.created.timestamp())
        if info.num_pending == 0 and info.delivered.consumer_seq == 0:
            is_read.set()
        await is_read.wait()

    await follow(STREAM, PREFIX, place, deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=place.number + 1)
    # A sign of life says how a machine is now, so it comes after what was.
    await follow(SIGNS, "", Place(None, 0), deliver_policy=DeliverPolicy.LAST_PER_SUBJECT)


# MQTT


async def read_mqtt(settings: Settings, take: Take, caught_up, trouble) -> None:
    """Reads what the broker retains, and then what comes. There is no history."""
    try:
        import paho.mqtt.client as mqtt
    except ImportError:
        raise UsageError("paho-mqtt is missing; install it with: pip install paho-mqtt") from None

    url = urlsplit(settings.url)
    loop = asyncio.get_running_loop()
    is_there = asyncio.Event()
    # The interface of paho-mqtt 2 takes that of version 1 too.
    extra = {"callback_api_version": mqtt.CallbackAPIVersion.VERSION1} if hasattr(mqtt, "CallbackAPIVersion") else {}
    client = mqtt.Client(client_id="", clean_session=True, **extra)
    if settings.user:
        client.username_pw_set(settings.user, settings.password)
    if url.scheme == "mqtts":
        client.tls_set_context(context(settings))

    def connected(_client, _data, _flags, code) -> None:
        if code:
            loop.call_soon_threadsafe(trouble, f"the broker refuses: {mqtt.connack_string(code)}")
            return
        loop.call_soon_threadsafe(is_there.set)
        client.subscribe([(f"netwatch/1/+/{kind}", 1) for kind in ("presence", "line", "alive")])
        loop.call_soon_threadsafe(trouble, None)

    def disconnected(_client, _data, _code) -> None:
        loop.call_soon_threadsafe(trouble, "the connection to the broker is lost")

    def received(_client, _data, message) -> None:
        levels = message.topic.split("/")
        if len(levels) == 4:
            loop.call_soon_threadsafe(take, levels[2], levels[3], message.payload, time.time(), not message.retain)

    def subscribed(*_args) -> None:
        # What the broker retains comes next.
        loop.call_soon_threadsafe(loop.call_later, 1.0, caught_up)

    client.on_connect, client.on_disconnect = connected, disconnected
    client.on_message, client.on_subscribe = received, subscribed
    client.reconnect_delay_set(1, 30)
    client.connect_async(url.hostname or "localhost", url.port or (8_883 if url.scheme == "mqtts" else 1_883), 30)
    client.loop_start()
    await asyncio.wait_for(is_there.wait(), settings.patience)
    await asyncio.Event().wait()
