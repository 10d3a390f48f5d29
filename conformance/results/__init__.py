"""Records of cases, and the files that hold them."""
