"""Real tools: each step is a tool of a LangGraph graph, and the gate sits where calls are dispatched (§5.4)."""
