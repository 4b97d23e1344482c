"""The command that plays packetdrill scripts to the simulator's TCP."""
