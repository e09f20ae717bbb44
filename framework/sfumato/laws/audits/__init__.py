"""Laws that trust no formula: sampled releases against claimed losses."""
