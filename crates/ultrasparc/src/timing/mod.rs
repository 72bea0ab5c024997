//! What operations took on the machines: the timing model.
