"""Compiled states, made once and shared by the gate arms of a cell (Appendix B.3)."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import ValidationError

from artifact.errors import RequestError
from artifact.log.records import RECORD_TYPES, CompileRecord


class CompileCache:
    """A folder of compile records by key.

    Parameters
    ----------
    folder : Path
        Made with the first record.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(self, key: str, make: Callable[[], Awaitable[CompileRecord]]) -> CompileRecord:
        """The record of `key`, read or else made; two that ask at once wait for one compile."""
        async with self._locks[key]:
            path = self._folder / f"{key}.json"
            if path.is_file():
                try:
                    record: CompileRecord = RECORD_TYPES["compile"].validate_json(path.read_bytes())
                except ValidationError:
                    raise RequestError(f"{path} is damaged; delete it to compile anew") from None
                return record
            record = await make()
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".part")
            partial.write_bytes(RECORD_TYPES["compile"].dump_json(record))
            os.replace(partial, path)
            return record
