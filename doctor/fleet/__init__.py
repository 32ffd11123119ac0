"""Many nodes: reports of any number of machines in one verdict, and the ways to gather them with engines that exist."""
