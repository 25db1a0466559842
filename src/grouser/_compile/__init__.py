"""How kernels are compiled and kept: decorators, structs, and the store of machine code."""
