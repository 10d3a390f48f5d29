"""What people see, as text."""
