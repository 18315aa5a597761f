"""The tiers of paged context: working context, queue, recall storage, archival storage (Packer et al., 2023).

Invariant: nothing that was said is lost. What was said is the queue and, before it, recall storage; eviction only
moves the border between them.
"""

from collections.abc import Sequence

from artifact.arms.memory.exchanges import best, cosines
from artifact.arms.memory.functions import Function, Refused
from artifact.log.records import Message
from artifact.models.embedder import Embedder

PAGE = 3                    # results a page
CHARACTERS_A_TOKEN = 3      # about what is seen with these messages; it decides when to evict, nothing else


def tokens(text: str) -> int:
    """About how many tokens a text takes."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


class Storage:
    """All tiers of one conversation.

    Parameters
    ----------
    embedder : Embedder
        For archival search.
    characters : int
        The fixed size of the working context.
    """

    def __init__(self, embedder: Embedder, characters: int) -> None:
        self._embedder, self._characters = embedder, characters
        self.said: list[Message] = []
        self.evicted = 0
        self.working = ""
        self.archive: list[str] = []
        self.summary = ""

    @property
    def queue(self) -> Sequence[Message]:
        """What is still in the window, first in first."""
        return self.said[self.evicted:]

    @property
    def recall(self) -> Sequence[Message]:
        """What has left the window."""
        return self.said[:self.evicted]

    @property
    def functions(self) -> dict[str, Function]:
        """What the model may call."""
        return {
            "working_append": Function(self._append, {"text": str}, {}),
            "working_replace": Function(self._replace, {"old": str, "new": str}, {}),
            "recall_search": Function(self._search_recall, {"query": str}, {"page": int}),
            "archival_insert": Function(self._insert, {"text": str}, {}),
            "archival_search": Function(self._search_archive, {"query": str}, {"page": int}),
        }

    def half(self) -> int:
        """How many messages have left once half of the queue, by size, has."""
        whole = sum(tokens(message.content) for message in self.queue)
        gone, at = 0, self.evicted
        while 2 * gone < whole:
            gone += tokens(self.said[at].content)
            at += 1
        return self.opening(at)

    def opening(self, at: int) -> int:
        """The first message from `at` on that can open what is left: one of the user's side."""
        return next((later for later in range(at, len(self.said)) if self.said[later].role == "user"), len(self.said))

    def _append(self, text: str) -> str:
        return self._rewrite(f"{self.working}\n{text}".strip())

    def _replace(self, old: str, new: str) -> str:
        if not old or old not in self.working:
            raise Refused(f"{old!r} doesn't stand in the working context")
        return self._rewrite(self.working.replace(old, new, 1))

    def _rewrite(self, text: str) -> str:
        if len(text) > self._characters:
            raise Refused(f"the working context would have {len(text)} characters and holds {self._characters}; "
                          "shorten it with working_replace")
        self.working = text
        return "the working context is changed"

    def _insert(self, text: str) -> str:
        self.archive.append(text)
        return f"stored as text {len(self.archive)} of archival storage"

    def _search_recall(self, query: str, page: int = 1) -> str:
        found = [f"{message.role}: {message.content}" for message in self.recall
                 if query.casefold() in message.content.casefold()]
        return _page(found, page, f"messages in recall storage contain {query!r}")

    def _search_archive(self, query: str, page: int = 1) -> str:
        if not self.archive:
            return "archival storage is empty"
        vectors = self._embedder.vectors([*self.archive, query])
        order = best(cosines(vectors[:-1], vectors[-1]), len(self.archive))
        return _page([self.archive[at] for at in order], page, "texts in archival storage, the most similar first")


def _page(found: Sequence[str], page: int, what: str) -> str:
    pages = max(1, -(-len(found) // PAGE))
    if not 1 <= page <= pages:
        raise Refused(f"there is no page {page}; the last one is {pages}")
    return "\n".join([f"{len(found)} {what} (page {page} of {pages})", *found[(page - 1) * PAGE:page * PAGE]])
