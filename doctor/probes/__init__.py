"""Ask the System, hand text to parsers, fill a sheet. One folder an area, one file a probe; found by walking them."""
