//! The stream processing unit beside each core: the control word queue and the modular arithmetic unit.
