"""The live page: follows ledgers and shows them to browsers on this machine. Reads only; needs no torch."""
