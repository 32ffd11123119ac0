"""Why does it work there and fail here: what differs between two machines, and which difference matters."""
