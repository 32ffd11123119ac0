"""What the doctor knows: typed tables with sources, and the questions that rules ask of them."""
