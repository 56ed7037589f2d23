"""Former location of the safety ensemble: its public names, for code and configurations of earlier versions."""
