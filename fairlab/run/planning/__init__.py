"""Requirements of a run, estimated before its start: downloads, memory, FLOPs, hours, calls; no model is loaded."""
