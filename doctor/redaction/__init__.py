"""What is a secret, what is a name, and what stands in their place. Works on text and on plain data."""

from doctor.redaction.redactor import Redactor

__all__ = ["Redactor"]
