"""Who answers: a chat model by name or URL, its weights by content hash, and servers for outside clients."""

from artifact.models.base import ChatModel, Reply
from artifact.models.open import open_model

__all__ = ["ChatModel", "Reply", "open_model"]
