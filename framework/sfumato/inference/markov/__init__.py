"""What the outputs of a channel tell about a Markov chain."""
