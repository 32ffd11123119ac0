"""What newer releases there are than the catalogue knows: one module for each source. `./dev refresh` asks them all."""
