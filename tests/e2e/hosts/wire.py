"""The wire between two hosts (network.py): limited rate, delay, connections that break, and silence. Each host's kernel limits
the rate of what the host sends (tc tbf) and redirects each TCP connection from the other host to this process (iptables
REDIRECT), which forwards its bytes after the delay. The hosts' programs do not notice this process. Needs iptables and tc."""

import asyncio
import ctypes
import dataclasses
import shutil
import socket
import struct
import threading

import network

CLONE_NEWNET = 0x40000000
SO_ORIGINAL_DST = 80
RECEIVE_BYTES = 1 << 16
# Limits what one direction of a connection holds back, in pieces of at most RECEIVE_BYTES.
HELD_PIECES_MAX = 64

# Kinds of connections.
COORDINATOR = "coordinator"
GRADIENTS = "gradients"
# A `kind` of Cut that breaks no connection: instead, all connections stop delivering.
SILENCE = "silence"


@dataclasses.dataclass(frozen=True, order=True)
class Cut:
    """Breaks every connection of this kind once the ranks have sent each other `after_bytes` bytes."""
    after_bytes: int
    kind: str


@dataclasses.dataclass(frozen=True, eq=False)
class Passage:
    """A forwarded connection: its two sockets here, and the task that forwards its bytes."""
    kind: str
    ends: tuple
    task: asyncio.Task

    def reset(self):
        """When the sockets are closed, both hosts see a reset, as from a router that has forgotten the connection."""
        for end in self.ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Wire:
    """A context manager; leaving it stops the forwarding."""

    def __init__(self, hosts, coordinator_port, rate_mbit, delay_seconds, cuts=()):
        for program in ("iptables", "tc"):
            if shutil.which(program) is None:
                network.skip(f"there is no {program}: it is in Debian's packages iptables and iproute2")
        self.gradient_bytes = 0  # sent by ranks, both directions
        self.done = []  # the cuts made so far, in order
        self.greetings = set()  # the first bytes sent by ranks that opened a connection
        self._rate_mbit = rate_mbit
        self._delay_seconds = delay_seconds
        self._hosts = hosts
        self._coordinator_port = coordinator_port
        self._due = sorted(cuts)
        self._passages = set()
        self._servers = []
        self._sound = asyncio.Event()
        self._sound.set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self):
        self._thread.start()
        for host in self._hosts:
            port = self._ask(self._listen(host))
            self._in(host, f"tc qdisc replace dev eth0 root tbf rate {self._rate_mbit}mbit burst 64kb latency 50ms")
            self._in(host, f"iptables -t nat -A PREROUTING -i eth0 -p tcp -j REDIRECT --to-ports {port}")
        return self

    def __exit__(self, *_):
        self._ask(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def is_silent(self):
        return not self._sound.is_set()

    def end_silence(self):
        """Delivers what was held back."""
        self._loop.call_soon_threadsafe(self._sound.set)

    def _ask(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    @staticmethod
    def _in(host, command):
        done = network.ip("netns", "exec", host.namespace, *command.split())
        if done.returncode != 0:
            network.skip(f"{command}: {done.stderr.strip()}")

    @staticmethod
    def _socket_of(host):
        """Makes a socket in the host's namespace; it stays there when this thread returns to its own."""
        with open("/proc/thread-self/ns/net", "rb") as own, open(f"/run/netns/{host.namespace}", "rb") as other:
            _enter(other.fileno())
            try:
                made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            finally:
                _enter(own.fileno())
        made.setblocking(False)
        return made

    async def _listen(self, host):
        listener = self._socket_of(host)
        listener.bind(("", 0))
        listener.listen()
        self._servers.append(asyncio.create_task(self._accept(host, listener)))
        return listener.getsockname()[1]

    async def _accept(self, host, listener):
        with listener:
            while True:
                near, _ = await self._loop.sock_accept(listener)
                near.setblocking(False)
                asyncio.create_task(self._carry(host, near))

    async def _carry(self, host, near):
        """Forwards one connection until it ends."""
        port, address = struct.unpack("!2xH4s8x", near.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16))
        far = self._socket_of(host)
        kind = COORDINATOR if port == self._coordinator_port else GRADIENTS
        passage = Passage(kind, (near, far), asyncio.current_task())
        self._passages.add(passage)
        try:
            await self._sound.wait()
            await self._loop.sock_connect(far, (socket.inet_ntoa(address), port))
            async with asyncio.TaskGroup() as both:
                for source, sink in ((near, far), (far, near)):
                    sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    held = asyncio.Queue(HELD_PIECES_MAX)
                    both.create_task(self._receive(kind, source, held, begins=source is near))
                    both.create_task(self._send(held, sink))
        except* OSError:
            passage.reset()
        finally:
            self._passages.discard(passage)
            near.close()
            far.close()

    async def _receive(self, kind, source, held, begins):
        piece = b"-"
        while piece:
            piece = await self._loop.sock_recv(source, RECEIVE_BYTES)
            if kind == GRADIENTS:
                if begins:
                    self.greetings.add(piece[:4])
                begins = False
                self.gradient_bytes += len(piece)
                self._cut_what_is_due()
            await held.put((self._loop.time() + self._delay_seconds, piece))

    async def _send(self, held, sink):
        piece = b"-"
        while piece:
            due, piece = await held.get()
            await asyncio.sleep(due - self._loop.time())
            await self._sound.wait()
            await self._loop.sock_sendall(sink, piece)
        sink.shutdown(socket.SHUT_WR)

    def _cut_what_is_due(self):
        for cut in [cut for cut in self._due if cut.after_bytes <= self.gradient_bytes]:
            if cut.kind == SILENCE:
                self._sound.clear()
            elif not self._break(cut.kind):
                continue  # no rank is connected: cut the next connection instead
            self._due.remove(cut)
            self.done.append(cut)

    def _break(self, kind):
        hit = [passage for passage in self._passages if passage.kind == kind]
        for passage in hit:
            passage.reset()
            passage.task.cancel()
        return hit

    async def _close(self):
        """Stops listening and forwarding."""
        ending = self._servers + [passage.task for passage in self._passages]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
