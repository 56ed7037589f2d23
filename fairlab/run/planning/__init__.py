"""What a run would take, said before it is started: downloads, memory, FLOPs, hours, calls; nothing is loaded."""
