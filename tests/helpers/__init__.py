"""What tests share: data, reference implementations, and ways to compare models."""
