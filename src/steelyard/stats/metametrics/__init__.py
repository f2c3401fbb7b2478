"""What a metric is weighed by, and how two metrics are told apart."""
