"""Former location of the safety ensemble, kept for code and configurations of earlier versions."""
