"""Problem files and case files: reading them strictly, and telling what is wrong with them."""
