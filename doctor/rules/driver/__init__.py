"""The kernel drivers of both vendors: loaded, of the right version and flavour, and well."""
