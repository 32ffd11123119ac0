"""A machine's recording, what support asks for beside it, and the report, redacted, in one archive (docs/bundle.md)."""
