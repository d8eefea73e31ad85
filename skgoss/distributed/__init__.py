"""What the processes of a fit tell each other whose rows are spread over them."""
