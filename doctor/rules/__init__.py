"""One rule a file: metadata, documentation and check, in that order. Found by walking this folder."""
