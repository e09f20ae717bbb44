"""What a Gaussian release tells, by linear algebra."""
