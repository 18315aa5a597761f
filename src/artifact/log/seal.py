"""What makes a changed byte show: each line of a log ends with a checksum of everything before it.

Invariant: of a sealed log a reader gets what was written, or an error; never something else in silence. The checksum
is 64 bits of SHA-256 over all bytes of the log up to it, so it stands for the lines before as well as for its own. It
guards against damage, not against someone who computes it anew; released logs have SHA256SUMS on top.

Logs of earlier versions have no checksums and are read all the same. Once a line has one, every later line must.
"""

import hashlib

_MARK = b',"sum":"'
_DIGITS = 16
_END = b'"}'
_TAIL = len(_MARK) + _DIGITS + len(_END)


class BrokenSeal(ValueError):
    """A line that isn't, or isn't where, it was when it was written."""


class Seal:
    """The running checksum over the lines of one log, in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._sealed = False

    def copy(self) -> "Seal":
        """The same, to go on from here twice."""
        twin = Seal()
        twin._digest, twin._sealed = self._digest.copy(), self._sealed
        return twin

    def close(self, record: bytes) -> bytes:
        """The line of a record with its checksum and its line end, taken in."""
        body = record.removesuffix(b"}")
        self._digest.update(body)
        rest = _MARK + self._digest.hexdigest()[:_DIGITS].encode() + _END + b"\n"
        self._digest.update(rest)
        self._sealed = True
        return body + rest

    def take(self, line: bytes) -> None:
        """Take in a line without its line end.

        Raises
        ------
        BrokenSeal
            Its checksum doesn't agree with it and the lines before it, or is missing where it must stand.
        """
        tail = line[-_TAIL:]
        if not (tail.startswith(_MARK) and tail.endswith(_END)):
            if self._sealed:
                raise BrokenSeal("it has no checksum")
            self._digest.update(line + b"\n")
            return
        self._digest.update(line[:-_TAIL])
        if self._digest.hexdigest()[:_DIGITS].encode() != tail[len(_MARK):-len(_END)]:
            raise BrokenSeal("its checksum doesn't agree with it and the lines before it")
        self._digest.update(tail + b"\n")
        self._sealed = True

    @property
    def is_sealed(self) -> bool:
        """Whether the lines so far had checksums."""
        return self._sealed
