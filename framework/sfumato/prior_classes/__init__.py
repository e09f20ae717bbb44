"""Classes of priors: sets of parameters, families, combinations, and suprema over them."""
