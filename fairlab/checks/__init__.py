"""What is checked of whatever comes from outside, and what is done to what goes out, before anybody relies on it."""
