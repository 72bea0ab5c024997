"""Single values in an asyncio program, gathered so that they go side by side.

``queue = millstream.Queue(key)``, then ``sealed = await queue.seal(value, aad)`` in any number of tasks. What tasks ask for in one turn of the
event loop is one call of the engines.
"""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import Aead, AuthenticationError, Hmac, Isolated, Keyset, Siv
from . import open as aead_open
from . import seal as aead_seal
from . import siv_open, siv_seal

__all__ = ["Queue"]

INLINE_BYTES = 1 << 16
"""Fewer bytes under a key of this process are done in the loop's own thread: to hand them to another takes longer."""

_Waiting = List[Tuple[bytes, bytes, "asyncio.Future[bytes]"]]


class Queue:
    """A key for single values of many tasks: an :class:`Aead`, :class:`Siv`, :class:`Keyset`, :class:`Hmac` or :class:`Isolated`.

    Use it in one event loop. ``most`` bounds the values of one call. Long calls, and all under an ``Isolated`` key, run in a thread of the
    loop's executor, so that the loop does not wait; a task that is cancelled is given nothing, and disturbs no other.

    >>> import asyncio
    >>> async def both():
    ...     queue = Queue(Aead(bytes(32)))
    ...     return await queue.open(await queue.seal(b"a value", b"row 7"), b"row 7")
    >>> asyncio.run(both())
    b'a value'
    """

    def __init__(self, key: Any, *, most: int = 4096) -> None:
        if not isinstance(key, (Aead, Siv, Keyset, Hmac, Isolated)):
            raise TypeError(f"{type(key).__name__} is no key for a queue: give Aead, Siv, Keyset, Hmac or Isolated of millstream")
        if most < 1:
            raise ValueError("most is the number of values of one call: give 1 or more")
        self._key = key
        self._most = most
        self._waiting: Dict[str, _Waiting] = {}

    async def seal(self, data: bytes, aad: bytes = b"") -> bytes:
        """Return a value sealed; under a deterministic key equal values become equal. Raise ``TypeError`` for a key of HMAC."""
        return await self._put("seal", data, aad)

    async def open(self, data: bytes, aad: bytes = b"") -> bytes:
        """Return a value opened. Raise :class:`AuthenticationError` if it was not sealed so."""
        return await self._put("open", data, aad)

    async def sign(self, data: bytes) -> bytes:
        """Return the HMAC of a value."""
        return await self._put("sign", data, b"")

    def _put(self, what: str, data: bytes, aad: bytes) -> "asyncio.Future[bytes]":
        if (what == "sign") != hasattr(self._key, "sign") and not isinstance(self._key, Isolated):
            raise TypeError(f"{what} is not for a key of the class {type(self._key).__name__}")
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[bytes]" = loop.create_future()
        waiting = self._waiting.setdefault(what, [])
        if not waiting:
            loop.call_soon(self._begin, loop, what)
        waiting.append((bytes(data), bytes(aad), future))
        return future

    def _begin(self, loop: asyncio.AbstractEventLoop, what: str) -> None:
        waiting = self._waiting.pop(what)
        for begin in range(0, len(waiting), self._most):
            part = waiting[begin : begin + self._most]
            values, aads = [value for value, _, _ in part], [aad for _, aad, _ in part]
            if not isinstance(self._key, Isolated) and sum(map(len, values)) < INLINE_BYTES:
                _settle(part, lambda: self._done(what, values, aads))
                continue
            done = loop.run_in_executor(None, self._done, what, values, aads)
            done.add_done_callback(lambda done, part=part: _settle(part, done.result))

    def _done(self, what: str, values: List[bytes], aads: List[bytes]) -> List[Optional[bytes]]:
        """Return the results; that of a value which does not open is none."""
        key = self._key
        if what == "sign":
            return key.sign(values).to_list()
        deterministic = isinstance(key, Siv) or getattr(key, "deterministic", False)
        if what == "seal":
            return (siv_seal if deterministic else aead_seal)(values, key, aad=aads).to_list()
        return (siv_open if deterministic else aead_open)(values, key, aad=aads, on_error="null").to_list()


def _settle(part: _Waiting, results: Callable[[], List[Optional[bytes]]]) -> None:
    """Give each task that still waits its result."""
    try:
        found = results()
    except Exception as error:
        for _, _, future in part:
            if not future.done():
                future.set_exception(error)
        return
    for (_, _, future), result in zip(part, found):
        if future.done():
            continue
        if result is None:
            future.set_exception(AuthenticationError("authentication failed: wrong key or nonce, or the data was changed"))
        else:
            future.set_result(result)
