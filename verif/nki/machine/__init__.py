"""What the machine below the kernels refuses, keeps, warns of and counts, by kernels of one instruction."""
