"""The paper's theorems as functions: bounds, existence, certificates, the choice of α."""
