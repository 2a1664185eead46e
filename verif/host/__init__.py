"""What a host does to run an operation on an engine: memory images, instruction words, where results lie."""
