"""Tables, plots and pages of comparisons."""
