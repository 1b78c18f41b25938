"""Claude Code: ``claude -p`` with stream-json, and a dialogue where people can be asked."""

from core.engines.claude.engine import Claude, disarm, mcp_config

ENGINE = Claude

__all__ = ["ENGINE", "Claude", "disarm", "mcp_config"]
