"""What several parsers share: lines with their source, JSON, XML, YAML, shell words."""
