"""Ask the System, hand text to readers, fill a sheet. One file an area; found by walking this folder."""
